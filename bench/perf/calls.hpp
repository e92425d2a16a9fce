// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef CHEVRON_PERF_CALLS_HPP
#define CHEVRON_PERF_CALLS_HPP

#include <chevron/chevron.hpp>
#include <cstddef>
#include <string>

//! @file
//! From the names of the command line to calls of chevron.

namespace perf {

//! @brief One call on this rank's communicator, whose type the caller need not know: what times and checks
//! calls is compiled once for an element, not once more for each rank count and transport. A selector chooses
//! how to store by itself.
template <class T>
using Call = chevron::Result<void> (*)(void* communicator, T const* in, T* out, std::size_t count,
                                       chevron::Stores stores);

//! @brief Finds the call of an operation and an algorithm; null where there is none.
template <class T>
using FindCall = Call<T> (*)(std::string const& op, std::string const& algorithm);

//! @brief What a selector picks for a rank count and a size, for one element.
using Choose = chevron::Policy (*)(int ranks, std::size_t size_bytes, chevron::WindowState windows);

using EveryOperation =
    chevron::Operations<chevron::Sum, chevron::Prod, chevron::Min, chevron::Max, chevron::Avg>;

//! @brief Calls `visit.template operator()<Op>()` for the operation of that name; false if there is none.
template <class... Ops, class Visitor>
bool visit_op(std::string const& name, chevron::Operations<Ops...>, Visitor&& visit) {
  return ((name == Ops::name && (visit.template operator()<Ops>(), true)) || ...);
}

//! @brief The call of a selector, or of one algorithm.
template <class Choice, class Op, class Communicator, class T>
chevron::Result<void> call(void* communicator, T const* in, T* out, std::size_t count,
                           [[maybe_unused]] chevron::Stores stores) {
  auto const& self = *static_cast<Communicator const*>(communicator);
  if constexpr (chevron::is_selector<Choice>) {
    return chevron::all_reduce<Choice>(self, in, out, count, Op{});
  } else {
    // As all_reduce() of an algorithm does it, which leaves no choice of the stores.
    chevron::Call<T, chevron::Identity> call{.in = in, .out = out, .count = count};
    call.stores = stores;
    return chevron::detail::all_reduce_named<Choice>(self, call);
  }
}

//! @brief A FindCall for one selector and kind of communicator: auto leaves the choice to the selector.
template <class Selector, class Communicator, class T>
Call<T> find_call(std::string const& op, std::string const& algorithm) {
  constexpr int ranks = Communicator::ranks;
  Call<T> found = nullptr;
  visit_op(op, typename Selector::OperationList{}, [&]<class Op>() {
    if (algorithm == "auto") found = &call<Selector, Op, Communicator, T>;
    if (algorithm == "one_shot_push") found = &call<chevron::OneShotPush<ranks, T, Op>, Op, Communicator, T>;
    if (algorithm == "reduce_scatter_all_gather")
      found = &call<chevron::ReduceScatterAllGather<ranks, T, Op>, Op, Communicator, T>;
    if (algorithm == "reduce_scatter_all_gather_zero_copy")
      found = &call<chevron::ReduceScatterAllGatherZeroCopy<ranks, T, Op>, Op, Communicator, T>;
    if (algorithm == "reduce_scatter_all_gather_push")
      found = &call<chevron::ReduceScatterAllGatherPush<ranks, T, Op>, Op, Communicator, T>;
    if (algorithm == "one_shot_pull") found = &call<chevron::OneShotPull<ranks, T, Op>, Op, Communicator, T>;
    if (algorithm == "two_shot_push") found = &call<chevron::TwoShotPush<ranks, T, Op>, Op, Communicator, T>;
  });
  return found;
}

}  // namespace perf

#endif
