// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef CHEVRON_TRANSPORT_HOST_WAIT_HPP
#define CHEVRON_TRANSPORT_HOST_WAIT_HPP

//! @file
//! How a lane of a CPU waits for a flag: bounded, and with an eye on what else may have happened (contract
//! C5).

#include <chevron/core/config.hpp>
#include <chevron/sync/call_record.hpp>
#include <chevron/sync/epoch.hpp>
#include <chevron/sync/flag.hpp>
#include <chevron/transport/host_endpoint.hpp>

#include <sched.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>

namespace chevron {

//! @brief The part of a host lane that knows of steps, flags and failures, and nothing of data.
//!
//! A wait looks at its flag, spinning, then yielding, then sleeping in between. Every wait ends: with the
//! flag, or with a failure that is then everybody's. A lane whose wait has failed must not touch shared data
//! any more: ok() tells.
template <class Access>
class HostWait {
 public:
  [[nodiscard]] int rank() const { return rank_; }
  [[nodiscard]] int lane() const { return lane_; }
  [[nodiscard]] Epoch epoch() const { return epoch_; }
  [[nodiscard]] bool ok() const { return ok_; }

  //! Ends the communicator for all ranks: `culprit` did what `code` says.
  void fail(Errc code, int culprit) {
    ok_ = false;
    endpoint_.template fail<Access>({.code = code,
                                     .rank = static_cast<std::uint8_t>(culprit),
                                     .reporter = static_cast<std::uint8_t>(rank_),
                                     .lane = static_cast<std::uint8_t>(lane_),
                                     .epoch = epoch_});
  }

  //! Whether all that works on this lane is fine: one thread.
  [[nodiscard]] bool agree() const { return ok_; }

  //! Before the first access to data; of interest to devices.
  void begin(Epoch /*steps*/) const {}

  //! The next step. Every rank's lane takes the same steps in the same order.
  void begin_step() { ++epoch_; }

  //! Takes `steps` steps at once: after a loop that numbered its steps ahead of the counter.
  void end_steps(Epoch steps) { epoch_ += steps; }

  //! Wakes those peers that sleep. Once per step, after all flags of the step are stored.
  void ring(int ranks) {
    Access::store_load_fence();
    for (int peer = 0; peer < ranks; ++peer) {
      if (peer != rank_) doorbell(peer).template ring<Access>();
    }
  }

 protected:
  HostWait(HostEndpoint& endpoint, int lane, CallIdentity const& call)
      : endpoint_(endpoint),
        call_(call),
        signature_(call.signature()),
        rank_(endpoint.rank()),
        lane_(lane),
        epoch_(endpoint.steps(lane).epoch),
        first_epoch_(epoch_ + 1),
        inboxes_at_(endpoint.layout().inbox_at(lane, 0)),
        my_inbox_at_(endpoint.layout().inbox_at(lane, rank_)) {
    if (era_of(epoch_) != endpoint.steps(lane).era) enter_era();
  }
  ~HostWait() { endpoint_.steps(lane_).epoch = epoch_; }
  HostWait(HostWait const&) = delete;
  HostWait& operator=(HostWait const&) = delete;

  [[nodiscard]] HostEndpoint& endpoint() const { return endpoint_; }
  [[nodiscard]] std::uint64_t stamp(Epoch step = 0) const { return Stamp{epoch_ + step, signature_}.word(); }

  //! What I write at a peer, and what a peer writes at me. Worked out from two offsets that the lane knows: every flag
  //! and packet asks.
  [[nodiscard]] CHEVRON_INLINE std::byte* inbox_bytes_at(int peer) const {
    return endpoint_.segment(peer).base + my_inbox_at_;
  }
  [[nodiscard]] CHEVRON_INLINE std::byte* inbox_bytes_from(int peer) const {
    return endpoint_.segment(rank_).base + inboxes_at_ +
           static_cast<std::size_t>(peer) * endpoint_.layout().inbox_bytes();
  }
  [[nodiscard]] Inbox& inbox_at(int peer) const { return *reinterpret_cast<Inbox*>(inbox_bytes_at(peer)); }
  [[nodiscard]] Inbox const& inbox_from(int peer) const {
    return *reinterpret_cast<Inbox*>(inbox_bytes_from(peer));
  }

  //! Waits until a peer has set the flag for this step (or `step` steps on). False: the communicator has
  //! failed.
  CHEVRON_INLINE bool await(std::uint64_t const& flag, int peer, Epoch step = 0) {
    std::uint64_t const wanted = stamp(step);
    int const spins = endpoint_.wait_budget().spins;
    for (int i = 0; i <= spins; ++i) {
      if (Access::load_acquire(flag) == wanted) return true;
      Access::pause(flag);
    }
    return await_slowly(flag, Stamp::of(wanted), peer);
  }

 private:
  [[nodiscard]] LaneHead& lane_head(int peer) const {
    return endpoint_.segment(peer).lane(endpoint_.layout(), lane_);
  }
  [[nodiscard]] Doorbell& doorbell(int peer) const { return lane_head(peer).doorbell; }

  //! All ranks wipe the flags that others have written for them, and what they showed of an earlier call, between two
  //! meetings: before the first somebody may still be in the previous call, after the second somebody may already be in
  //! this one.
  [[gnu::noinline]] void enter_era() {
    endpoint_.steps(lane_).era = era_of(epoch_);
    if (!meet(0)) return;
    Access::store_relaxed(lane_head(rank_).record.stamp, std::uint64_t{0});
    SegmentLayout const& layout = endpoint_.layout();
    for (int peer = 0; peer < endpoint_.ranks(); ++peer) {
      if (peer == rank_) continue;
      Inbox& flags = *reinterpret_cast<Inbox*>(inbox_bytes_from(peer));
      for (std::uint64_t* const stamp : {&flags.arrival.stamp, &flags.departure, &flags.contribution[0],
                                         &flags.contribution[1], &flags.result[0], &flags.result[1]}) {
        Access::store_relaxed(*stamp, std::uint64_t{0});
      }
      auto const lines =
          reinterpret_cast<FlaggedLine*>(reinterpret_cast<std::byte*>(&flags) + layout.packets_at());
      for (std::size_t i = 0; i < 2 * layout.packet_lines(); ++i) {
        Access::store_relaxed(lines[i].stamp, std::uint64_t{0});
      }
    }
    meet(1);
  }

  //! A barrier over the renewal flags.
  bool meet(int phase) {
    for (int peer = 0; peer < endpoint_.ranks(); ++peer) {
      if (peer != rank_) Access::store_release(inbox_at(peer).renewal[phase], stamp());
    }
    ring(endpoint_.ranks());
    for (int peer = 0; peer < endpoint_.ranks(); ++peer) {
      if (peer != rank_ && !await(inbox_from(peer).renewal[phase], peer)) return false;
    }
    return true;
  }

  [[gnu::noinline]] bool await_slowly(std::uint64_t const& flag, Stamp wanted, int peer) {
    return await_yielding(flag, wanted.word()) || await_watchfully(flag, wanted, peer);
  }

  //! Lets others have the CPU a few times, and does nothing else: where ranks outnumber the CPUs, most waits end here.
  bool await_yielding(std::uint64_t const& flag, std::uint64_t wanted) const {
    auto const& budget = endpoint_.wait_budget();
    if (budget.first_yields == 0) return false;
    auto const enough = std::chrono::steady_clock::now() + budget.longest_sleep;
    for (int i = 0; i < budget.first_yields; ++i) {
      ::sched_yield();
      if (Access::load_acquire(flag) == wanted) return true;
      // On a busy machine a yield may last milliseconds.
      if (std::chrono::steady_clock::now() >= enough) break;
    }
    return false;
  }

  //! With an eye on everything that may have happened instead.
  bool await_watchfully(std::uint64_t const& flag, Stamp wanted, int peer) {
    // Only now is this call's record of use: a rank whose call differs from a peer's waits in vain, and so comes here.
    lane_head(rank_).record.template publish<Access>({first_epoch_, signature_}, call_);
    auto const there = [&] { return Access::load_acquire(flag) == wanted.word(); };
    auto const deadline = std::chrono::steady_clock::now() + endpoint_.options().deadline;
    auto const& budget = endpoint_.wait_budget();
    auto next_look = std::chrono::steady_clock::now() + budget.longest_sleep;
    for (int round = 0;; ++round) {
      if (there()) return true;
      if (endpoint_.template failure<Access>()) return ok_ = false;
      if (Errc const difference = compare_calls(peer); difference != Errc::ok) {
        fail(difference, peer);
        return false;
      }
      auto const now = std::chrono::steady_clock::now();
      if (now >= next_look) {
        next_look = now + budget.longest_sleep;
        if (endpoint_.has_ended(peer) && !there()) {
          fail(Errc::peer_died, peer);
          return false;
        }
        if (now >= deadline) {
          fail(Errc::timeout, peer);
          return false;
        }
      }
      // On a busy machine a yield may last milliseconds, so the looks above come first.
      if (round < budget.yields) {
        ::sched_yield();
        continue;
      }
      doorbell(rank_).template sleep_unless<Access>(
          [&] { return there() || endpoint_.template failure<Access>(); }, budget.longest_sleep);
    }
  }

  //! What the peer's call differs in from mine, once it shows its call for the same step; Errc::ok otherwise.
  //! It will: where a flag of its has another signature, it waits for mine in vain, and so comes to show it.
  [[nodiscard]] Errc compare_calls(int peer) const {
    CallRecord const& record = lane_head(peer).record;
    Stamp const theirs = record.template first<Access>();
    if (!theirs.written() || theirs.epoch != first_epoch_ || theirs.signature == signature_) return Errc::ok;
    Errc const difference = call_.difference(record.template call<Access>());
    return difference == Errc::ok ? Errc::algorithm_mismatch : difference;
  }

  HostEndpoint& endpoint_;
  CallIdentity const& call_;
  std::uint32_t signature_;
  int rank_;
  int lane_;
  Epoch epoch_;
  Epoch first_epoch_;
  std::size_t inboxes_at_;   //!< within a segment: this lane's inboxes
  std::size_t my_inbox_at_;  //!< and the one that this rank writes
  bool ok_ = true;
};

}  // namespace chevron

#endif
