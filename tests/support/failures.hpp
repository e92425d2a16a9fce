// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef CHEVRON_TESTS_SUPPORT_FAILURES_HPP
#define CHEVRON_TESTS_SUPPORT_FAILURES_HPP

//! @file
//! What contract C5 asks of every failing call, whatever made it fail.

#include <support/catch.hpp>
#include <support/worlds.hpp>

#include <array>
#include <chrono>
#include <cstddef>
#include <string>

namespace chevron::test {

//! Makes a call that should fail and notes how; then one that would be fine by itself, which must fail at
//! once and in the same way, since the communicator is over.
template <class ASeat, class Comm, class Function>
void fail_for_good(ASeat const& seat, Comm const& communicator, Function&& call) {
  if (seat.attempt(call)) return seat.outcome.complain("the call succeeded");
  int value = 0;
  auto const before = Clock::now();
  auto const later = all_reduce<OneShotPush<Comm::ranks, int>>(communicator, &value, &value, 1);
  auto const status = communicator.status();
  if (Clock::now() - before > at_once) seat.outcome.complain("a later call does not fail at once");
  for (Result<void> const* const result : {&later, &status}) {
    if (*result) return seat.outcome.complain("the communicator claims to be usable after its failure");
    if (result->error().code != seat.outcome.code || result->error().rank != seat.outcome.culprit) {
      return seat.outcome.complain("later: " + result->error().message());
    }
  }
}

//! All ranks got this error, at once, about the same rank.
template <std::size_t NRanks>
void require_failure(std::array<Outcome, NRanks> const& outcomes, Errc code, int culprit,
                     std::chrono::nanoseconds within = at_once) {
  INFO(text_of(outcomes));
  for (Outcome const& outcome : outcomes) {
    REQUIRE(outcome.complaint == std::string());
    REQUIRE(outcome.code == code);
    REQUIRE(outcome.culprit == culprit);
    REQUIRE(outcome.took <= within);
  }
}

//! The same where every rank differs from some other, so that any may be named, but the same one on all
//! ranks.
template <std::size_t NRanks>
void require_failure_of_anyone(std::array<Outcome, NRanks> const& outcomes, Errc code) {
  INFO(text_of(outcomes));
  REQUIRE(outcomes[0].culprit >= 0);
  REQUIRE(outcomes[0].culprit < static_cast<int>(NRanks));
  require_failure(outcomes, code, outcomes[0].culprit);
}

//! Joins, and fails in a call that each rank makes in its own way: `call(seat, communicator)` gives its
//! result.
template <class World, class Call>
auto run_failing_call(World& world, Options const& options, Call&& call) {
  return world.run([&](auto& seat) {
    auto communicator = seat.group.join(seat.rank, options);
    if (!communicator) return seat.outcome.note(communicator);
    fail_for_good(seat, *communicator, [&] { return call(seat, *communicator); });
    seat.meet();
  });
}

}  // namespace chevron::test

#endif
