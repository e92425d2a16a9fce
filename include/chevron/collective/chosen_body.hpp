// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef CHEVRON_COLLECTIVE_CHOSEN_BODY_HPP
#define CHEVRON_COLLECTIVE_CHOSEN_BODY_HPP

//! @file
//! From a selector's table to the bodies that it can make run: one per pair of an algorithm for buffers in windows and one
//! for others, and on devices per number of packs in flight.

#include <chevron/core/call.hpp>
#include <chevron/core/element.hpp>
#include <chevron/core/op.hpp>
#include <chevron/core/requirements.hpp>
#include <chevron/epilogue/identity.hpp>
#include <chevron/epilogue/scope.hpp>
#include <chevron/select/policy.hpp>
#include <chevron/select/size_classes.hpp>
#include <chevron/select/table.hpp>
#include <chevron/transport/concept.hpp>

#include <array>
#include <cstddef>
#include <type_traits>
#include <utility>

CHEVRON_BODIES_BEGIN

namespace chevron::detail {

//! @brief Decides by the windows of the call: one algorithm where everybody's buffers lie in windows, another where
//! somebody's do not. The arrival messages decide, alike on all ranks, where the lanes run.
template <class InWindows, class Elsewhere>
struct ByWindows {
  template <class Lane, class T, class E>
  CHEVRON_HD static void run(Lane& lane, Call<T, E> const& call, Stores stores_in_windows) {
    auto const all = lane.template arrive<T>(call);
    if (!lane.ok()) return;
    if (!all.direct()) return Elsewhere::run(lane, call);
    Call<T, E> in_windows = call;
    in_windows.stores = stores_in_windows;
    if constexpr (InWindows::needs.direct_access) {
      InWindows::move(lane, in_windows, all);
    } else {
      InWindows::run(lane, in_windows);
    }
  }
};

//! @brief One algorithm, wherever the buffers lie.
template <class Algorithm>
struct Anywhere {
  template <class Lane, class T, class E>
  CHEVRON_HD static void run(Lane& lane, Call<T, E> const& call, Stores /*stores_in_windows*/) {
    Algorithm::run(lane, call);
  }
};

}  // namespace chevron::detail

CHEVRON_BODIES_END

namespace chevron::detail {

//! @brief Stands where a Count<n> may stand, for a count that is known when the program runs.
struct AnyCount {};

//! @brief An algorithm as a body has it: with a number of packs in flight of its own, or 0 for the usual one.
template <class Algorithm, int Packs>
using with_packs_t = std::conditional_t<Packs == 0, Algorithm, InFlight<Algorithm, Packs>>;

//! @brief What runs where the table says `A` for buffers in windows and `B` for others.
template <AllReduceAlgorithm A, AllReduceAlgorithm B, int Packs, int NRanks, class T, class Op, class E>
using body_for_t =
    std::conditional_t<A == B, Anywhere<with_packs_t<algorithm_named_t<A, NRanks, T, Op, E>, Packs>>,
                       ByWindows<with_packs_t<algorithm_named_t<A, NRanks, T, Op, E>, Packs>,
                                 algorithm_named_t<B, NRanks, T, Op, E>>>;

//! @brief What tells bodies apart: the algorithms for buffers in windows and for others, and the packs in flight, 0 for the
//! usual number.
struct BodyKey {
  AllReduceAlgorithm in_windows{};
  AllReduceAlgorithm elsewhere{};
  int packs = 0;

  friend constexpr bool operator==(BodyKey const&, BodyKey const&) = default;
};

//! @brief Whether an algorithm moves packs between buffers, so that their number in flight matters.
[[nodiscard]] constexpr bool moves_packs(Requirements const& needs) {
  return needs.direct_access || needs.mailbox;
}

//! @brief The bodies that some call makes a selector choose, of one transport, element, operation and epilogue. Only these are
//! instantiated.
//! @tparam Size  AnyCount, or a Count<n>, for which no other size counts
template <class Selector, class Size, class Transport, class T, class Op, class E>
struct BodiesOf {
 private:
  static constexpr bool on_device = Transport::memory_space == MemorySpace::device;
  static constexpr bool everywhere = Transport::every_pointer_is_in_a_window;
  using Classes = typename Selector::template Classes<Transport::ranks, T, Op, epilogue_scope<E>>;

 public:
  //! Whether this transport, selector and size have a call in a class.
  [[nodiscard]] static constexpr bool reaches(SizeClass const& sizes) {
    int const from = on_device && sizes.architecture_from == host_architecture ? host_architecture + 1
                                                                               : sizes.architecture_from;
    int const to = on_device || sizes.architecture_to == host_architecture ? sizes.architecture_to
                                                                           : host_architecture + 1;
    if (!Selector::ArchitectureList::meets(from, to)) return false;
    if constexpr (std::is_same_v<Size, AnyCount>) {
      return true;
    } else {
      constexpr std::size_t size_bytes = Size::value * sizeof(T);
      return sizes.bytes_from <= size_bytes && size_bytes < sizes.bytes_to;
    }
  }

  //! Whether a call reaches a row.
  [[nodiscard]] static constexpr bool reaches_row(int row) {
    for (SizeClass const& sizes : Classes::all) {
      if (reaches(sizes) && (sizes.in_windows == row || (!everywhere && sizes.elsewhere == row))) return true;
    }
    return false;
  }

  //! The body of a class. Numbers of packs that make no difference are 0.
  [[nodiscard]] static constexpr BodyKey key_of(SizeClass const& sizes) {
    auto const& rows = rows_of<typename Selector::Table>;
    Policy const& in_windows = rows[static_cast<std::size_t>(sizes.in_windows)].policy;
    Policy const& elsewhere =
        rows[static_cast<std::size_t>(everywhere ? sizes.in_windows : sizes.elsewhere)].policy;
    int const packs = in_windows.cuda.packs;
    bool const matters = on_device && packs != usual_packs_in_flight<Transport::ranks> &&
                         packs_matter[static_cast<std::size_t>(sizes.in_windows)];
    return {in_windows.algorithm, elsewhere.algorithm, matters ? packs : 0};
  }

 private:
  template <std::size_t... Rows>
  [[nodiscard]] static consteval auto find_packs_that_matter(std::index_sequence<Rows...>) {
    return std::array<bool, sizeof...(Rows)>{
        moves_packs(algorithm_named_t<rows_of<typename Selector::Table>[Rows].policy.algorithm, 2, float, Sum,
                                      Identity>::needs)...};
  }
  static constexpr auto packs_matter =
      find_packs_that_matter(std::make_index_sequence<rows_of<typename Selector::Table>.size()>{});

  struct Keys {
    std::array<BodyKey, Classes::all.size()> of{};
    std::size_t count = 0;
  };
  static constexpr Keys keys = [] {
    Keys found;
    for (SizeClass const& sizes : Classes::all) {
      if (!reaches(sizes)) continue;
      BodyKey const key = key_of(sizes);
      std::size_t i = 0;
      while (i < found.count && !(found.of[i] == key)) ++i;
      if (i == found.count) found.of[found.count++] = key;
    }
    return found;
  }();

  template <class Visit, std::size_t... Is>
  static constexpr void visit_all(Visit&& visit, std::index_sequence<Is...>) {
    (visit.template operator()<keys.of[Is].in_windows, keys.of[Is].elsewhere, keys.of[Is].packs>(), ...);
  }

 public:
  //! Calls `visit.template operator()<A, B, Packs>()` for each body.
  template <class Visit>
  static constexpr void for_each(Visit&& visit) {
    visit_all(visit, std::make_index_sequence<keys.count>{});
  }
};

//! @brief The choice for one call: which body, and the policies for buffers in windows and for others. For most sizes they are
//! the same.
struct Chosen {
  BodyKey body;
  Policy const& in_windows;
  Policy const& elsewhere;

  template <class Selector, class Transport, class T, class Op, class E>
  [[nodiscard]] static constexpr Chosen by(std::size_t size_bytes, int architecture) {
    using Classes = typename Selector::template Classes<Transport::ranks, T, Op, epilogue_scope<E>>;
    auto const& rows = rows_of<typename Selector::Table>;
    SizeClass const& sizes = Classes::of(architecture, size_bytes);
    int const elsewhere = Transport::every_pointer_is_in_a_window ? sizes.in_windows : sizes.elsewhere;
    return {BodiesOf<Selector, AnyCount, Transport, T, Op, E>::key_of(sizes),
            rows[static_cast<std::size_t>(sizes.in_windows)].policy,
            rows[static_cast<std::size_t>(elsewhere)].policy};
  }
};

}  // namespace chevron::detail

#endif
