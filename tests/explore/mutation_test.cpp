// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// That the explorer can fail: each test makes one mistake in the protocols, which must be found.
#include "bounded_search.hpp"
#include "execution.hpp"
#include "explore.hpp"
#include "mutants.hpp"
#include "partial_order.hpp"
#include "random_walk.hpp"
#include "scenario.hpp"

#include <support/catch.hpp>

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace {

using namespace chevron;
using namespace chevron::test;
using Calls = std::vector<CallSpec>;

using Kinds = std::set<Finding::Kind>;

Kinds const race{Finding::race};
Kinds const deadlock{Finding::deadlock};
//! An order in which a rank reads what is not there yet, or loses a flag, may come before the one that races.
Kinds const any{Finding::race, Finding::deadlock, Finding::wrong_result};

std::string first_line(std::optional<Finding> const& finding) {
  return finding ? finding->text.substr(0, finding->text.find('\n')) : "nothing was found";
}

//! Explores a program in the three ways, of which each must find a mistake of one of these kinds.
template <class Scenario>
void finds(Kinds const& kinds, Scenario&& scenario, Weakened weakened = {}) {
  Program program = scenario.program();
  Execution execution(program, weakened);
  PartialOrder partial_order;
  BoundedSearch bounded(2);
  RandomWalk random(1, 2000, 3);
  for (Strategy* const strategy : {static_cast<Strategy*>(&partial_order), static_cast<Strategy*>(&bounded),
                                   static_cast<Strategy*>(&random)}) {
    Report const report = explore(execution, *strategy, 20000);
    INFO(strategy->name() << ", execution " << report.complete + report.given_up << ": "
                          << first_line(report.finding));
    CHECK((report.finding && kinds.count(report.finding->kind) == 1));
  }
}

//! The same scenario without the mistake is fine.
template <int NRanks, class Bodies = LibraryBodies, class Lane = HostLane<NRanks, ExploredAccess>>
void is_right(Calls calls, Options options = small_mailboxes()) {
  Scenario<NRanks, float, Lane, Bodies> scenario(std::move(calls), options);
  Program program = scenario.program();
  Execution execution(program);
  PartialOrder strategy;
  Report const report = explore(execution, strategy);
  INFO((report.finding ? report.finding->text : ""));
  CHECK_FALSE(report.finding);
  CHECK(report.exhausted);
}

template <template <int> class Mutant, class Bodies = LibraryBodies>
void both_rank_counts_find(Kinds const& kinds, Calls const& calls,
                           Options const& options = small_mailboxes()) {
  is_right<2>(calls, options);
  is_right<3>(calls, options);
  finds(kinds, Scenario<2, float, Mutant<2>, Bodies>(calls, options));
  finds(kinds, Scenario<3, float, Mutant<3>, Bodies>(calls, options));
}

Calls const pushes{{Body::push, 20}, {Body::push, 5}};
Calls const staged{{Body::staged, 70}, {Body::staged, 70}};
Calls const zero_copies{{Body::zero_copy, 40}, {Body::zero_copy, 40}};
Calls const pulls{{Body::pull, 20}, {Body::pull, 20}};
Calls const shards{{Body::push_rsag, 70}, {Body::push_rsag, 70}};
Calls const two_shots{{Body::two_shot, 40}, {Body::two_shot, 20}};

}  // namespace

TEST_CASE("A flag that is stored or loaded relaxed is a race") {
  struct Case {
    Role role;
    Calls calls;
  };
  auto const [role, calls] = GENERATE(
      Case{Role::packet, pushes}, Case{Role::arrival, zero_copies}, Case{Role::departure, zero_copies},
      Case{Role::contribution, staged}, Case{Role::result, staged}, Case{Role::arrival, pulls},
      Case{Role::departure, pulls}, Case{Role::packet, two_shots}, Case{Role::arrival, shards},
      Case{Role::contribution, shards}, Case{Role::result, shards});
  is_right<2>(calls);
  finds(race, Scenario<2, float>(calls), {.stores = role});
  finds(race, Scenario<2, float>(calls), {.loads = role});
  finds(race, Scenario<3, float>(calls), {.stores = role});
  finds(race, Scenario<3, float>(calls), {.loads = role});
}

TEST_CASE("A zero-copy call without its departure is a race with the caller") {
  both_rank_counts_find<NeverDeparts>(any, {{Body::zero_copy, 40}});
  finds(any, Scenario<2, float>({{Body::zero_copy, 40}}), {.waits = Role::departure});
}

TEST_CASE("A pull without its departure is a race with the caller") {
  both_rank_counts_find<NeverDeparts>(any, {{Body::pull, 40}});
  finds(any, Scenario<2, float>({{Body::pull, 40}}), {.waits = Role::departure});
}

TEST_CASE("A pull into what others read is a race") {
  for (ThreadSet const apart : {ThreadSet{0}, only(0), only(1)}) {
    Calls const calls{{Body::pull, 20, true, 0, Stores::temporal, apart}};
    is_right<2>(calls);
    is_right<3>(calls);
    finds(any, Scenario<2, float, HostLane<2, ExploredAccess>, PullsInPlace>(calls));
    finds(any, Scenario<3, float, HostLane<3, ExploredAccess>, PullsInPlace>(calls));
  }
}

TEST_CASE("A departure before the last access is a race") {
  finds(any, Scenario<2, float, HostLane<2, ExploredAccess>, DepartsFirst>({{Body::zero_copy, 40}}));
}

TEST_CASE("Non-temporal stores to windows need a fence before the departure") {
  both_rank_counts_find<DepartsWithoutAFence>(race, {{Body::zero_copy, 40, false, 0, Stores::non_temporal}});
  // A rank's own output, too: the thread that made the call reads what the other lanes have written.
  Options two_lanes = small_mailboxes();
  two_lanes.lanes = 2;
  both_rank_counts_find<DepartsWithoutAFence>(race, {{Body::pull, 64, false, 0, Stores::non_temporal}},
                                              two_lanes);
}

TEST_CASE("Packets need two buffers") {
  both_rank_counts_find<OnePacketBuffer>(any, pushes);
  both_rank_counts_find<OnePacketBuffer>(any, {{Body::push, 14}, {Body::push, 14}});
}

TEST_CASE("Contributions and results of a two-shot push need a buffer of packets each") {
  for (Calls const& calls : {Calls{{Body::two_shot, 20}}, two_shots}) {
    is_right<2, LibraryBodies, TwoPacketBuffers<2>>(calls);
    is_right<3, LibraryBodies, TwoPacketBuffers<3>>(calls);
    both_rank_counts_find<OnePacketBufferARound>(any, calls);
    both_rank_counts_find<OnePacketBuffer>(any, calls);
  }
}

TEST_CASE("A round of a two-shot push ends before the next begins") {
  Calls const calls{{Body::two_shot, 90}};
  is_right<2, TwoShotAhead<false>>(calls);
  is_right<3, TwoShotAhead<false>>(calls);
  finds(any, Scenario<2, float, HostLane<2, ExploredAccess>, TwoShotAhead<true>>(calls));
  finds(any, Scenario<3, float, HostLane<3, ExploredAccess>, TwoShotAhead<true>>(calls));
}

TEST_CASE("A packet's stamp must follow its payload") {
  both_rank_counts_find<StampsFirst>(any, {{Body::push, 14}});
  both_rank_counts_find<StampsFirst>(any, {{Body::two_shot, 20}});
  both_rank_counts_find<StampsTheFirstPiece>(any, {{Body::push, 7}});
}

TEST_CASE("A rank with no data must take part") {
  Calls const calls{{Body::push, 14}, {Body::push, 0}, {Body::push, 14}};
  both_rank_counts_find<SilentWithoutData>(any, calls);
}

TEST_CASE("Contributions need two buffers and two flags") {
  both_rank_counts_find<OneContributionBuffer>(any, {{Body::staged, 100}});
  both_rank_counts_find<OneContributionFlag>(deadlock, {{Body::staged, 100}});
}

TEST_CASE("Results need two buffers") { both_rank_counts_find<OneResultBuffer>(any, {{Body::staged, 100}}); }

TEST_CASE("A lost flag that needs a certain order is found by exploring") {
  Calls const calls{{Body::staged, 64}};  // two chunks
  is_right<2>(calls);
  Scenario<2, float, OneResultFlagOfTheLastRank<2>> scenario(calls);
  Program program = scenario.program();
  Execution execution(program);
  PartialOrder partial_order;
  BoundedSearch bounded(1);
  for (Strategy* const strategy :
       {static_cast<Strategy*>(&partial_order), static_cast<Strategy*>(&bounded)}) {
    Report const report = explore(execution, *strategy);
    INFO(strategy->name() << ": " << first_line(report.finding));
    CHECK((report.finding && report.finding->kind == Finding::deadlock));
    CHECK(report.complete > 1);
  }
  finds(deadlock, Scenario<2, float, OneResultFlagOfTheLastRank<2>>(calls));
  finds(deadlock, Scenario<3, float, OneResultFlagOfTheLastRank<3>>({{Body::staged, 96}}));
}

TEST_CASE("A chunk's flag must follow the chunk, and the fence after it") {
  both_rank_counts_find<PostsBeforeItCopies>(any, {{Body::staged, 40}});
  both_rank_counts_find<PostsWithoutAFence>(race, {{Body::staged, 40}});
}

TEST_CASE("Contributions may run one chunk ahead, not two") {
  Calls const calls{{Body::staged, 150}};
  is_right<2, StagedAhead<1>>(calls);
  is_right<3, StagedAhead<1>>(calls);
  finds(any, Scenario<2, float, HostLane<2, ExploredAccess>, StagedAhead<2>>(calls));
  finds(any, Scenario<3, float, HostLane<3, ExploredAccess>, StagedAhead<2>>(calls));
}

// Chunk c of a push of shards is step c + 1, and a chunk is 16 elements.
template <int NRanks>
using UsesPlacesAtOnce = IgnoresResults<NRanks, 1, 2>;
template <int NRanks>
using LeavesBeforeTheEnd = IgnoresResults<NRanks, 3, 4>;

TEST_CASE("A push of shards awaits results before it uses a chunk's place again, and before it ends") {
  auto const four_chunks = [](int ranks) {
    return Calls{{Body::push_rsag, 64u * static_cast<unsigned>(ranks)}};
  };
  is_right<2>(four_chunks(2));
  is_right<3>(four_chunks(3));
  finds(any, Scenario<2, float, UsesPlacesAtOnce<2>>(four_chunks(2)));
  finds(any, Scenario<3, float, UsesPlacesAtOnce<3>>(four_chunks(3)));
  finds(any, Scenario<2, float, LeavesBeforeTheEnd<2>>(four_chunks(2)));
  finds(any, Scenario<3, float, LeavesBeforeTheEnd<3>>(four_chunks(3)));
  // The last one alone.
  finds(any, Scenario<2, float, IgnoresResults<2, 4, 4>>(four_chunks(2)));
  finds(any, Scenario<3, float, IgnoresResults<3, 4, 4>>(four_chunks(3)));
}

TEST_CASE("A push of shards posts the flag of its results after them, and after a fence") {
  both_rank_counts_find<PostsResultsFirst>(any, shards);
  both_rank_counts_find<PostsResultsWithoutAFence>(race,
                                                   {{Body::push_rsag, 70, false, 0, Stores::non_temporal}});
  both_rank_counts_find<PostsBeforeItCopies>(any, shards);
  both_rank_counts_find<PostsWithoutAFence>(race, shards);
}

TEST_CASE("A push of shards needs two places and two flags for contributions") {
  both_rank_counts_find<OneContributionBuffer>(any, {{Body::push_rsag, 100}});
  both_rank_counts_find<OneContributionFlag>(deadlock, {{Body::push_rsag, 100}});
}

TEST_CASE("A push of shards counts the steps of its chunks") {
  both_rank_counts_find<CountsNoSteps>(any, shards);
  both_rank_counts_find<CountsOtherSteps>(deadlock, shards);
}

TEST_CASE("Stamps are wiped before anybody writes new ones") {
  Options options = small_mailboxes();
  options.first_epoch = 0x40000000;  // the second call is the first one of a new era
  Calls const calls{{Body::push, 14}, {Body::push, 14}};
  is_right<2>(calls, options);
  is_right<3>(calls, options);
  finds(deadlock, Scenario<2, float>(calls, options), {.waits = Role::second_renewal});
}
