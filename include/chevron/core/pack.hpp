// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef CHEVRON_CORE_PACK_HPP
#define CHEVRON_CORE_PACK_HPP

//! @file
//! Packs: the vector of elements that one thread moves and reduces at a time.

#include <chevron/core/config.hpp>
#include <chevron/core/element.hpp>
#include <chevron/core/op.hpp>
#include <chevron/core/rank.hpp>

#include <cstddef>
#include <type_traits>

namespace chevron {

//! @brief `Size` neighbouring elements, held in registers.
template <class T, int Size>
struct Pack {
  T v[Size];
};

//! How a lane stores results: through the caches, or past them (which saves reading the lines first, and pays
//! once the buffers outgrow the last-level cache).
enum class Stores : unsigned char { temporal, non_temporal };

//! @brief Where a pack lies: elements [index, index + size) of a buffer. The size and the kind of store are
//! part of the type, so that a body written once compiles to a loop over whole packs and one over the
//! elements left.
template <int Size, Stores Kind = Stores::temporal>
struct At {
  static constexpr int size = Size;
  static constexpr Stores stores = Kind;
  std::size_t index;
};

// Element by element, not by memcpy: g++ keeps what it copies so in vector registers, and what memcpy fills on the stack,
// which halves the speed of the loops.

//! @brief The pack of a buffer at a place; any alignment of the buffer down to that of its elements.
template <class T, int Size, Stores Kind>
CHEVRON_INLINE Pack<T, Size> load_pack(T const* buffer, At<Size, Kind> at) {
  Pack<T, Size> pack;
  for (int k = 0; k < Size; ++k) pack.v[k] = buffer[at.index + static_cast<std::size_t>(k)];
  return pack;
}

//! @brief The same for one pack of an array. g++ takes what a function returns there over the stack, which costs a loop over
//! 16-bit floats an eighth to a third of its time; clang's loops over them are slower without that.
template <class T, int Size, Stores Kind>
CHEVRON_INLINE void load_pack_into(Pack<T, Size>& pack, T const* buffer, At<Size, Kind> at) {
#if !defined(__clang__)
  if constexpr (sizeof(T) == 2) {
    for (int k = 0; k < Size; ++k) pack.v[k] = buffer[at.index + static_cast<std::size_t>(k)];
    return;
  }
#endif
  pack = load_pack(buffer, at);
}

//! @brief Stores a pack at a place of a buffer, through the caches.
template <class T, int Size, Stores Kind>
CHEVRON_INLINE void store_pack(T* buffer, At<Size, Kind> at, Pack<T, Size> const& pack) {
  for (int k = 0; k < Size; ++k) buffer[at.index + static_cast<std::size_t>(k)] = pack.v[k];
}

//! @brief The reference of contract C1, for a pack: `((a0 op a1) op a2) ... op aN-1` in rank order, in the
//! accumulator type, with the operation's finish applied and nothing rounded yet.
template <class Op, class T, int Size, int NRanks>
CHEVRON_INLINE Pack<accumulator_t<T>, Size> reduce_in_rank_order(PerRank<Pack<T, Size>, NRanks> const& all) {
  Pack<accumulator_t<T>, Size> sum;
  for (int k = 0; k < Size; ++k) sum.v[k] = ElementTraits<T>::widen(all.of[0].v[k]);
  for (int rank = 1; rank < NRanks; ++rank) {
    for (int k = 0; k < Size; ++k) {
      sum.v[k] = Op::combine(sum.v[k], ElementTraits<T>::widen(all.of[rank].v[k]));
    }
  }
  for (int k = 0; k < Size; ++k) sum.v[k] = detail::finish<Op>(sum.v[k], NRanks);
  return sum;
}

//! @brief Whether an epilogue says of itself, by `static constexpr bool ignores_index = true`, that it looks at the value
//! alone.
template <class Epilogue>
inline constexpr bool ignores_index = requires {
  requires Epilogue::ignores_index;
};

namespace detail {

//! @brief The same value, whose computation is not fused with what follows: nvcc would make one multiply-add, rounded once, of
//! an average's division and an epilogue's addition, where the reference rounds twice.
template <class A>
CHEVRON_INLINE A unfused(A value) {
#if defined(__CUDA_ARCH__)
  if constexpr (std::is_same_v<A, float>) asm("" : "+f"(value));
  if constexpr (std::is_same_v<A, double>) asm("" : "+d"(value));
#endif
  return value;
}

}  // namespace detail

//! @brief Applies an element-scoped epilogue to a reduced pack and rounds it, once, to the element type.
//! @param first  the index of the pack's first element within the call
//! @param valid  elements that are there: the epilogue is not asked about others
template <class T, class Epilogue, class Acc, int Size>
CHEVRON_INLINE Pack<T, Size> finish_pack(Epilogue const& epilogue, Pack<Acc, Size> const& sum,
                                         std::size_t first, int valid = Size) {
  Pack<T, Size> pack;
  // A call that ignores the index may as well be made for elements that are not there.
  if (ignores_index<Epilogue> || valid == Size) {
    for (int k = 0; k < Size; ++k) {
      pack.v[k] =
          ElementTraits<T>::narrow(epilogue(detail::unfused(sum.v[k]), first + static_cast<std::size_t>(k)));
    }
  } else {
    pack = {};
    for (int k = 0; k < valid; ++k) {
      pack.v[k] =
          ElementTraits<T>::narrow(epilogue(detail::unfused(sum.v[k]), first + static_cast<std::size_t>(k)));
    }
  }
  return pack;
}

}  // namespace chevron

#endif
