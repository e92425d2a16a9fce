// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef CHEVRON_TRANSPORT_CUDA_PACKS_CUH
#define CHEVRON_TRANSPORT_CUDA_PACKS_CUH

//! @file
//! How the threads of a device lane move elements: 16 bytes at a time where buffers are aligned, one by one elsewhere.

#include <chevron/core/bits.hpp>
#include <chevron/core/pack.hpp>
#include <chevron/core/rank.hpp>
#include <chevron/transport/cuda_access.cuh>

#include <cstddef>
#include <cstdint>

namespace chevron {

namespace detail {

template <std::size_t SizeBytes>
struct BitsOf;
template <>
struct BitsOf<1> {
  using type = std::uint8_t;
};
template <>
struct BitsOf<2> {
  using type = std::uint16_t;
};
template <>
struct BitsOf<4> {
  using type = std::uint32_t;
};
template <>
struct BitsOf<8> {
  using type = std::uint64_t;
};
//! @brief The word that holds an element.
template <std::size_t SizeBytes>
using bits_of = typename BitsOf<SizeBytes>::type;

}  // namespace detail

//! @brief Loads and stores of packs.
//! @tparam Access  how memory is read that a peer writes
template <class Access>
struct CudaPacks {
  static constexpr std::size_t pack_bytes = 16;
  template <class T>
  static constexpr int pack_size = static_cast<int>(pack_bytes / sizeof(T));

  [[nodiscard]] CHEVRON_DEVICE static unsigned misalignment(void const* buffer) {
    return static_cast<unsigned>(reinterpret_cast<std::uintptr_t>(buffer) % pack_bytes);
  }

  //! All of this is loaded before any of it is used: else the compiler would save registers by loading one after the other.
  CHEVRON_DEVICE static void hold(uint4& words) {
    asm volatile("" : "+r"(words.x), "+r"(words.y), "+r"(words.z), "+r"(words.w));
  }
  CHEVRON_DEVICE static void hold(ulonglong2& words) { asm volatile("" : "+l"(words.x), "+l"(words.y)); }
  template <class T, int Size>
  CHEVRON_DEVICE static void hold(Pack<T, Size>& pack) {
    auto words = detail::bit_cast<uint4>(pack);
    hold(words);
    pack = detail::bit_cast<Pack<T, Size>>(words);
  }
  template <class T, int Size, int NRanks>
  CHEVRON_DEVICE static void hold(PerRank<Pack<T, Size>, NRanks>& packs) {
#pragma unroll
    for (int rank = 0; rank < NRanks; ++rank) hold(packs[rank]);
  }
  //! A pack in one piece: the compiler would keep each of its elements in a register.
  template <class T, int Size>
  [[nodiscard]] CHEVRON_DEVICE static uint4 words_of(Pack<T, Size> const& pack) {
    auto words = detail::bit_cast<uint4>(pack);
    hold(words);
    return words;
  }
  //! The opposite, once all are there.
  template <class T, int NRanks>
  [[nodiscard]] CHEVRON_DEVICE static PerRank<Pack<T, pack_size<T>>, NRanks> as_packs(
      PerRank<uint4, NRanks> all) {
    PerRank<Pack<T, pack_size<T>>, NRanks> packs;
#pragma unroll
    for (int rank = 0; rank < NRanks; ++rank) {
      hold(all[rank]);
      packs[rank] = detail::bit_cast<Pack<T, pack_size<T>>>(all[rank]);
    }
    return packs;
  }
  template <int K, class Packs>
  CHEVRON_DEVICE static void hold(Packs (&all)[K]) {
#pragma unroll
    for (int k = 0; k < K; ++k) hold(all[k]);
  }

  template <int Size, class T>
  [[nodiscard]] CHEVRON_DEVICE static Pack<T, Size> load_from_peer(T const* from) {
    if constexpr (sizeof(T) * Size == pack_bytes) {
      return detail::bit_cast<Pack<T, Size>>(Access::load_pair_relaxed(from));
    } else {
      static_assert(Size == 1);
      using Bits = detail::bits_of<sizeof(T)>;
      return {{detail::bit_cast<T>(*reinterpret_cast<Bits const volatile*>(from))}};
    }
  }
  template <int Size, class T>
  [[nodiscard]] CHEVRON_DEVICE static Pack<T, Size> load_vector(T const* from) {
    return detail::bit_cast<Pack<T, Size>>(*reinterpret_cast<uint4 const*>(from));
  }
  template <int Size, class T>
  CHEVRON_DEVICE static void store_vector(T* to, Pack<T, Size> const& pack) {
    if constexpr (sizeof(T) * Size == pack_bytes) {
      // By hand: the compiler may store each register by itself, and a link carries a quarter of a pack as slowly as a whole one.
      auto const words = detail::bit_cast<uint4>(pack);
      asm volatile("st.global.v4.u32 [%0], {%1, %2, %3, %4};" ::"l"(to), "r"(words.x), "r"(words.y),
                   "r"(words.z), "r"(words.w)
                   : "memory");
    } else {
      static_assert(Size == 1);
      *to = pack.v[0];
    }
  }

  // Packets that are cut short or lie askew. Functions of their own, since few packets do.
  template <int Size, class T>
  [[nodiscard]] CHEVRON_DEVICE __noinline__ static Pack<T, Size> load_elements(T const* from, int valid) {
    if (valid == 0) return {};
    Pack<T, Size> pack;
    // Whole packs are reduced: an operation shall not meet values there that no rank has.
#pragma unroll
    for (int k = 0; k < Size; ++k) pack.v[k] = from[k < valid ? k : 0];
    return pack;
  }
  template <int Size, class T>
  CHEVRON_DEVICE __noinline__ static void store_elements(T* to, int valid, Pack<T, Size> pack) {
#pragma unroll
    for (int k = 0; k < Size; ++k) {
      if (k < valid) to[k] = pack.v[k];
    }
  }

  //! Copies with some threads, of which this is number `thread`; whole packs where both sides are aligned alike.
  template <bool FromPeer, class T>
  CHEVRON_DEVICE static void copy(T* to, T const* from, std::size_t count, unsigned thread,
                                  unsigned threads) {
    constexpr int whole = pack_size<T>;
    constexpr int in_flight = 4;
    std::size_t done = 0;
    auto const load = [&](std::size_t i) {
      if constexpr (FromPeer) return load_from_peer<whole>(from + i * whole);
      return load_vector<whole>(from + i * whole);
    };
    if (misalignment(from) == 0 && misalignment(to) == 0) {
      std::size_t const packs = count / whole;
      std::size_t i = thread;
      for (; i + (in_flight - 1) * threads < packs; i += in_flight * threads) {
        Pack<T, whole> all[in_flight];
#pragma unroll
        for (int k = 0; k < in_flight; ++k) all[k] = load(i + k * threads);
        hold(all);
#pragma unroll
        for (int k = 0; k < in_flight; ++k) store_vector(to + (i + k * threads) * whole, all[k]);
      }
#pragma unroll 1
      for (; i < packs; i += threads) store_vector(to + i * whole, load(i));
      done = packs * whole;
    }
    for (std::size_t i = done + thread; i < count; i += threads) {
      to[i] = FromPeer ? load_from_peer<1>(from + i).v[0] : from[i];
    }
  }
};

}  // namespace chevron

#endif
