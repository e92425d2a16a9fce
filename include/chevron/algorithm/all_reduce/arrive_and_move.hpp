// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef CHEVRON_ALGORITHM_ALL_REDUCE_ARRIVE_AND_MOVE_HPP
#define CHEVRON_ALGORITHM_ALL_REDUCE_ARRIVE_AND_MOVE_HPP

//! @file
//! How the algorithms begin that work on windows alone.

#include <chevron/core/call.hpp>
#include <chevron/core/config.hpp>
#include <chevron/core/error.hpp>

CHEVRON_BODIES_BEGIN

namespace chevron::detail {

//! @brief Runs an algorithm that works on windows alone: `Algorithm::move` once all ranks have arrived, in one step.
template <class Algorithm, class Lane, class T, class Epilogue>
CHEVRON_HD void arrive_and_move(Lane& lane, Call<T, Epilogue> const& call) {
  auto const all = lane.template arrive<T>(call, 1);
  if (!lane.ok()) return;
  if (!all.direct()) return lane.fail(Errc::not_in_window, all.outside);
  Algorithm::move(lane, call, all);
}

}  // namespace chevron::detail

CHEVRON_BODIES_END

#endif
