// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Calls that don't fit together: in every order of steps all ranks learn of it, and all get the same error.
#include "execution.hpp"
#include "explore.hpp"
#include "explored_access.hpp"
#include "group.hpp"
#include "partial_order.hpp"
#include "scenario.hpp"
#include "tally.hpp"

#include <chevron/core/call.hpp>
#include <chevron/core/error.hpp>
#include <chevron/sync/call_record.hpp>
#include <chevron/sync/failure.hpp>
#include <chevron/transport/host_lane.hpp>

#include <support/catch.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace {

using namespace chevron;
using namespace chevron::test;

//! What one rank does.
struct Doing {
  bool aborts = false;
  Body body = Body::push;
  std::size_t count = 14;
  bool outside = false;  //!< its buffers lie in no window
};

//! What all ranks must be told, and who may be named.
struct Wanted {
  Errc code;
  ThreadSet culprits;
};

Failure failure_by(int rank) {
  auto const me = static_cast<std::uint8_t>(rank);
  return {.code = Errc::aborted, .rank = me, .reporter = me};
}

//! Ranks that do these things, of which none can end well.
template <int NRanks>
class Failing {
 public:
  using Abort = std::function<void(HostEndpoint&, int rank)>;

  Failing(
      std::vector<Doing> doings, Wanted wanted,
      Abort abort = [](HostEndpoint& endpoint, int rank) { endpoint.fail<ExploredAccess>(failure_by(rank)); })
      : doings_(std::move(doings)), wanted_(wanted), abort_(std::move(abort)) {}

  [[nodiscard]] Program program() {
    return {.memory = group_.memory(),
            .threads = NRanks,
            .run = [this](int rank) { run(rank); },
            .restart = [this] { group_.restart(); },
            .check = [this] { return check(); },
            .spins = false};
  }

 private:
  static constexpr std::size_t buffer_bytes = 256;

  void run(int rank) {
    Doing const& doing = doings_[static_cast<std::size_t>(rank)];
    ExploredEndpoint& endpoint = group_.endpoint(rank);
    if (doing.aborts) return abort_(endpoint, rank);
    Execution::current().allow_of_buffers(doing.count * sizeof(float));
    CallIdentity const identity{.algorithm = 1 + static_cast<std::uint32_t>(doing.body),
                                .element = 0,
                                .operation = 1,
                                .table = 0,
                                .count = doing.count};
    Call<float, Identity> call{.in = reinterpret_cast<float*>(group_.in(rank)),
                               .out = reinterpret_cast<float*>(group_.out(rank)),
                               .count = doing.count};
    if (!doing.outside) {
      call.in_at = endpoint.locate(call.in, doing.count * sizeof(float));
      call.out_at = endpoint.locate(call.out, doing.count * sizeof(float));
    }
    HostLane<NRanks, ExploredAccess> lane(endpoint, 0, identity);
    LibraryBodies::run(lane, call, doing.body);
    if (lane.ok())
      Execution::current().fail(Finding::wrong_result, "rank " + std::to_string(rank) + " succeeded");
  }

  std::string check() {
    auto const at = [&](int rank) { return Failure::of(group_.endpoint(rank).segment(rank).head().abort); };
    std::string all;
    bool same = true;
    for (int rank = 0; rank < NRanks; ++rank) {
      all += "rank " + std::to_string(rank) + ": " + at(rank).error("").message() + "\n";
      same = same && at(rank).word() == at(0).word();
    }
    if (!same) return "different errors:\n" + all;
    return at(0).code == wanted_.code && has(wanted_.culprits, at(0).rank) ? std::string()
                                                                           : "another error:\n" + all;
  }

  std::vector<Doing> doings_;
  Wanted wanted_;
  Abort abort_;
  Group group_{NRanks, small_mailboxes(), Waits::sleeping, buffer_bytes, 0};
};

template <int NRanks>
Report explore_failing(Failing<NRanks>&& failing, std::uint64_t most = no_limit) {
  Program program = failing.program();
  Execution execution(program);
  PartialOrder strategy;
  return explore(execution, strategy, most);
}

}  // namespace

TEST_CASE("2 ranks whose calls differ get the same error in every order of steps") {
  Tally tally("2 ranks whose calls fail, all orders");
  Doing const call{};
  Doing const longer{.count = 15};
  Doing const zero_copy{.body = Body::zero_copy};
  Doing const outside{.body = Body::zero_copy, .outside = true};
  Doing const pull{.body = Body::pull};
  Doing const pull_outside{.body = Body::pull, .outside = true};
  Doing const two_shot{.body = Body::two_shot};
  Doing const push_rsag{.body = Body::push_rsag};
  Doing const push_rsag_outside{.body = Body::push_rsag, .outside = true};
  Doing const aborts{.aborts = true};
  ThreadSet const either = only(0) | only(1);
  struct Case {
    Doing first;
    Doing second;
    Wanted wanted;
  };
  for (auto const& [first, second, wanted] :
       {Case{call, longer, {Errc::count_mismatch, either}},
        Case{call, zero_copy, {Errc::algorithm_mismatch, either}},
        Case{zero_copy, outside, {Errc::not_in_window, only(1)}},
        Case{outside, zero_copy, {Errc::not_in_window, only(0)}},
        Case{outside, outside, {Errc::not_in_window, only(1)}},
        Case{pull, pull_outside, {Errc::not_in_window, only(1)}},
        Case{push_rsag, push_rsag_outside, {Errc::not_in_window, only(1)}},
        Case{push_rsag, zero_copy, {Errc::algorithm_mismatch, either}},
        Case{pull, zero_copy, {Errc::algorithm_mismatch, either}},
        Case{two_shot, call, {Errc::algorithm_mismatch, either}},
        Case{two_shot, aborts, {Errc::aborted, only(1)}}, Case{call, aborts, {Errc::aborted, only(1)}},
        Case{aborts, aborts, {Errc::aborted, either}}}) {
    if (sanitized && !first.aborts) continue;
    Report const report = tally += explore_failing(Failing<2>({first, second}, wanted));
    INFO((report.finding ? report.finding->text : ""));
    CHECK_FALSE(report.finding);
    CHECK(report.exhausted);
  }
}

TEST_CASE("3 ranks whose calls differ get the same error") {
  Tally tally("3 ranks whose calls fail, the first orders");
  Doing const call{};
  Doing const longer{.count = 15};
  Doing const aborts{.aborts = true};
  ThreadSet const anybody = only(0) | only(1) | only(2);
  for (auto const& [doings, wanted] :
       {std::pair{std::vector{call, longer, call}, Wanted{Errc::count_mismatch, anybody}},
        std::pair{std::vector{call, aborts, aborts}, Wanted{Errc::aborted, only(1) | only(2)}},
        std::pair{std::vector{aborts, aborts, aborts}, Wanted{Errc::aborted, anybody}}}) {
    Report const report = tally += explore_failing(Failing<3>(doings, wanted), sanitized ? 300 : 20000);
    INFO((report.finding ? report.finding->text : ""));
    CHECK_FALSE(report.finding);
  }
}

// What would happen if every rank kept the first failure that it is told of.
TEST_CASE("Ranks that tell each other of failures in no common order end with different errors") {
  auto const tell_each = [](HostEndpoint& endpoint, int rank) {
    for (int peer = 0; peer < endpoint.ranks(); ++peer) {
      ExploredAccess::replace(endpoint.segment(peer).head().abort, 0, failure_by(rank).word());
    }
  };
  Report const report = explore_failing(
      Failing<2>({{.aborts = true}, {.aborts = true}}, {Errc::aborted, only(0) | only(1)}, tell_each));
  REQUIRE(report.finding);
  CHECK(report.finding->kind == Finding::wrong_result);
}
