// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef CHEVRON_COLLECTIVE_CHOSEN_BODY_HPP
#define CHEVRON_COLLECTIVE_CHOSEN_BODY_HPP

//! @file
//! From a selector's table to the bodies that it can make run: one per pair of an algorithm for buffers in windows and one
//! for others.

#include <chevron/core/call.hpp>
#include <chevron/core/element.hpp>
#include <chevron/select/policy.hpp>
#include <chevron/select/table.hpp>

#include <cstddef>
#include <type_traits>

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

//! @brief What runs where the table says `A` for buffers in windows and `B` for others.
template <AllReduceAlgorithm A, AllReduceAlgorithm B, int NRanks, class T, class Op, class E>
using body_for_t = std::conditional_t<
    A == B, Anywhere<algorithm_named_t<A, NRanks, T, Op, E>>,
    ByWindows<algorithm_named_t<A, NRanks, T, Op, E>, algorithm_named_t<B, NRanks, T, Op, E>>>;

//! @brief Calls `visit.template operator()<A, B>()` for every pair of algorithms that some size makes a selector choose:
//! A for buffers in windows, B for others. Where every pointer is in a window, B is A. Only these are instantiated.
template <class Selector, int NRanks, class T, bool EveryPointerIsInAWindow, class Visit>
constexpr void for_each_pair(Visit&& visit) {
  constexpr ElementKind kind = ElementTraits<T>::kind;
  auto const with = [&]<AllReduceAlgorithm A, AllReduceAlgorithm B>() {
    constexpr bool reached = EveryPointerIsInAWindow
                                 ? A == B && Selector::reaches(NRanks, kind, WindowState::all, A)
                                 : Selector::reaches_pair(NRanks, kind, A, B);
    if constexpr (reached) visit.template operator()<A, B>();
  };
  using enum AllReduceAlgorithm;
  auto const with_all = [&]<AllReduceAlgorithm... As>() {
    auto const with_any = [&]<AllReduceAlgorithm A>() { (with.template operator()<A, As>(), ...); };
    (with_any.template operator()<As>(), ...);
  };
  with_all.template operator()<one_shot_push, reduce_scatter_all_gather, reduce_scatter_all_gather_zero_copy,
                               one_shot_pull, two_shot_push, reduce_scatter_all_gather_push>();
}

//! @brief The policies of one call: for buffers in windows, and for others. For most sizes they are the same.
struct Chosen {
  Policy in_windows;
  Policy elsewhere;

  template <class Selector, class T, class Op>
  [[nodiscard]] static constexpr Chosen by(int ranks, std::size_t size_bytes,
                                           bool every_pointer_is_in_a_window) {
    Policy const in_windows = Selector::template choose<T, Op>(ranks, size_bytes, WindowState::all);
    return {in_windows, every_pointer_is_in_a_window
                            ? in_windows
                            : Selector::template choose<T, Op>(ranks, size_bytes, WindowState::none)};
  }
  [[nodiscard]] constexpr bool is(AllReduceAlgorithm a, AllReduceAlgorithm b) const {
    return in_windows.algorithm == a && elsewhere.algorithm == b;
  }
};

//! @brief A selector for one size: it reaches what it chooses for that size and nothing else.
template <class Selector, class T, std::size_t Elements>
struct AtCount {
  [[nodiscard]] static constexpr bool reaches(int ranks, ElementKind, WindowState windows,
                                              AllReduceAlgorithm a) {
    return Selector::template choose<T>(ranks, Elements * sizeof(T), windows).algorithm == a;
  }
  [[nodiscard]] static constexpr bool reaches_pair(int ranks, ElementKind element, AllReduceAlgorithm a,
                                                   AllReduceAlgorithm b) {
    return reaches(ranks, element, WindowState::all, a) && reaches(ranks, element, WindowState::none, b);
  }
};

}  // namespace chevron::detail

#endif
