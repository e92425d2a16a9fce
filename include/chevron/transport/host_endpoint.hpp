// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef CHEVRON_TRANSPORT_HOST_ENDPOINT_HPP
#define CHEVRON_TRANSPORT_HOST_ENDPOINT_HPP

//! @file
//! One rank's end of a group on a host: everybody's segments, the windows, and what lanes need to wait and to
//! fail. The transports differ only in how the memory got there.

#include <chevron/core/call.hpp>
#include <chevron/core/error.hpp>
#include <chevron/core/rank.hpp>
#include <chevron/core/result.hpp>
#include <chevron/host/cpu.hpp>
#include <chevron/host/lane_team.hpp>
#include <chevron/host/options.hpp>
#include <chevron/sync/failure.hpp>
#include <chevron/sync/flag.hpp>
#include <chevron/transport/host_segment.hpp>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace chevron {

//! @brief A window as this process sees it: one range per rank, which may differ in size.
struct WindowMapping {
  PerRank<std::byte*, max_ranks> base{};
  PerRank<std::size_t, max_ranks> size_bytes{};
  bool freed = false;
};

//! @brief How long to wait how. Ranks that outnumber the CPUs should not spin, since the one waited for needs
//! the CPU.
struct WaitBudget {
  int spins = 4000;      //!< looks at the flag with a pause between
  int first_yields = 0;  //!< then looks at nothing else, with a yield between
  int yields = 100;      //!< then looks with a yield between; after that the lane sleeps between looks
  std::chrono::nanoseconds longest_sleep = std::chrono::milliseconds(2);
};

//! @brief What a lane keeps from call to call. Each lane's on a cache line of its own.
struct alignas(64) LaneSteps {
  Epoch epoch = 0;        //!< the last step taken
  std::uint32_t era = 0;  //!< the era in which the stamps were last wiped
};

//! @brief The state that every host transport shares, for one rank.
class HostEndpoint {
 public:
  HostEndpoint(int rank, int ranks, Options const& options)
      : rank_(rank),
        ranks_(ranks),
        options_(options),
        layout_(ranks, options.lanes, options.packet_bytes, options.chunk_bytes),
        steps_(static_cast<std::size_t>(options.lanes),
               {options.first_epoch - 1, era_of(options.first_epoch - 1)}),
        team_(options.lanes, options.pin_to_cpu) {}
  HostEndpoint(HostEndpoint const&) = delete;
  HostEndpoint& operator=(HostEndpoint const&) = delete;
  virtual ~HostEndpoint() = default;

  [[nodiscard]] int rank() const { return rank_; }
  [[nodiscard]] int ranks() const { return ranks_; }
  [[nodiscard]] Options const& options() const { return options_; }
  [[nodiscard]] SegmentLayout const& layout() const { return layout_; }
  [[nodiscard]] Segment segment(int rank) const { return segments_[rank]; }
  [[nodiscard]] WaitBudget const& wait_budget() const { return budget_; }
  [[nodiscard]] LaneSteps& steps(int lane) { return steps_[static_cast<std::size_t>(lane)]; }
  [[nodiscard]] LaneTeam& team() { return team_; }

  //! Collective: memory of this rank that all ranks can reach, at least `size_bytes` (which may differ by
  //! rank). Returns the window's number, the same on every rank.
  virtual Result<std::uint32_t> allocate(std::size_t size_bytes) = 0;

  //! This rank is done with a window. Local: peers that still have it keep their own mapping.
  virtual void release(std::uint32_t window) = 0;

  //! Whether a peer's process is known to have ended. Asked now and then by a lane that waits for this peer, and of no
  //! other: a rank that has done its part may leave while others still wait for each other.
  [[nodiscard]] virtual bool has_ended(int /*peer*/) { return false; }

  //! Whether all memory is in reach of all ranks, so that no buffer lies outside.
  [[nodiscard]] bool every_pointer_is_in_a_window() const { return one_address_space_; }

  //! Where a buffer of this rank lies. Only windows of this rank's own are looked through.
  [[nodiscard]] Location locate(void const* buffer, std::size_t size_bytes) const {
    if (one_address_space_) return {0, reinterpret_cast<std::uintptr_t>(buffer)};
    if (size_bytes == 0) return {0, 0};  // nothing, wherever it is, needs no window
    auto const address = static_cast<std::byte const*>(buffer);
    for (std::uint32_t number = 0; number < windows_.size(); ++number) {
      WindowMapping const& window = windows_[number];
      if (window.freed || window.base[rank_] == nullptr || address < window.base[rank_]) continue;
      auto const offset = static_cast<std::size_t>(address - window.base[rank_]);
      std::size_t const size = window.size_bytes[rank_];
      if (offset <= size && size_bytes <= size - offset) return {number, offset};
    }
    return {};
  }

  //! Where a peer's buffer lies in this process; null when its window is unknown here or too small.
  [[nodiscard]] std::byte* resolve(int peer, Location at, std::size_t size_bytes) const {
    if (one_address_space_) return reinterpret_cast<std::byte*>(static_cast<std::uintptr_t>(at.offset));
    if (at.window >= windows_.size() || windows_[at.window].freed) return nullptr;
    std::size_t const size = windows_[at.window].size_bytes[peer];
    if (at.offset > size || size_bytes > size - at.offset) return nullptr;
    return windows_[at.window].base[peer] + at.offset;
  }

  //! This rank's part of one of its windows.
  [[nodiscard]] std::byte* window_data(std::uint32_t number) const { return windows_[number].base[rank_]; }

  //! Tells every rank, this one included, that the communicator is over, and wakes whoever sleeps. Of several
  //! failures the first one stays, on all ranks: whose it is shows at rank 0, which everybody tells first.
  template <class Access>
  Failure fail(Failure const& failure) {
    std::uint64_t& at_first = segments_[0].head().abort;
    std::uint64_t const stands =
        Access::replace(at_first, 0, failure.word()) ? failure.word() : Access::load_acquire(at_first);
    for (int peer = 0; peer < ranks_; ++peer) {
      Access::replace(segments_[peer].head().abort, 0, stands);
      for (int lane = 0; lane < layout_.lanes(); ++lane) {
        segments_[peer].lane(layout_, lane).doorbell.template ring_anyway<Access>();
      }
    }
    return Failure::of(stands);
  }

  //! The failure that ended this communicator, if one did.
  template <class Access>
  [[nodiscard]] std::optional<Failure> failure() const {
    std::uint64_t const word = Access::load_acquire(segments_[rank_].head().abort);
    if (word == 0) return std::nullopt;
    return Failure::of(word);
  }

  //! The same as a result; `during` says what was attempted.
  [[nodiscard]] Result<void> status(char const* during) const {
    if (auto const ended = failure<HostAccess>()) return ended->error(during);
    return {};
  }

  //! Ends the communicator because this rank wants so.
  void abort() {
    fail<HostAccess>({.code = Errc::aborted,
                      .rank = static_cast<std::uint8_t>(rank_),
                      .reporter = static_cast<std::uint8_t>(rank_)});
  }

  //! What a policy's kind of store comes to on this CPU. Ranks need not agree on it.
  [[nodiscard]] Stores stores(Stores wanted) const { return stores_past_caches_ ? wanted : Stores::temporal; }

  //! Contract C6: one call at a time. False when another thread is inside a call of this communicator.
  [[nodiscard]] bool enter() { return !busy_.exchange(true, std::memory_order_acquire); }
  void leave() { busy_.store(false, std::memory_order_release); }

 protected:
  PerRank<Segment, max_ranks> segments_{};
  std::vector<WindowMapping> windows_{};
  WaitBudget budget_{};
  bool one_address_space_ = false;  //!< then window 0 is all of it, and a buffer's offset is its address

 private:
  int rank_;
  int ranks_;
  Options options_;
  SegmentLayout layout_;
  std::vector<LaneSteps> steps_;
  LaneTeam team_;  //!< the threads of the lanes
  bool stores_past_caches_ = options_.non_temporal_stores.value_or(non_temporal_stores_pay());
  std::atomic<bool> busy_{false};
};

}  // namespace chevron

#endif
