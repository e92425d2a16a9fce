// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef CHEVRON_TESTS_EXPLORE_GROUP_HPP
#define CHEVRON_TESTS_EXPLORE_GROUP_HPP

//! @file
//! A group of ranks in one block of memory, every part of which the explorer knows by name.

#include "memory_map.hpp"

#include <chevron/core/error.hpp>
#include <chevron/core/result.hpp>
#include <chevron/host/options.hpp>
#include <chevron/transport/host_endpoint.hpp>
#include <chevron/transport/host_segment.hpp>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <vector>

namespace chevron::test {

//! @brief How a rank waits for a flag.
enum class Waits : unsigned char { spinning, sleeping };

//! @brief One rank's end: its peers' segments lie in the same block.
class ExploredEndpoint final : public HostEndpoint {
 public:
  //! @param waits  spinning: a wait never gets to what comes after; sleeping: it gets there at once
  ExploredEndpoint(int rank, int ranks, Options const& options, Waits waits)
      : HostEndpoint(rank, ranks, options) {
    budget_.spins = waits == Waits::spinning ? std::numeric_limits<int>::max() - 1 : 0;
    budget_.yields = 0;
    windows_.emplace_back();
  }
  void place_segment(int peer, std::byte* base) { segments_[peer].base = base; }
  void place_window(int peer, std::byte* base, std::size_t size_bytes) {
    windows_[0].base[peer] = base;
    windows_[0].size_bytes[peer] = size_bytes;
  }
  Result<std::uint32_t> allocate(std::size_t) override { return Error{.code = Errc::no_memory}; }
  void release(std::uint32_t) override {}
};

//! @brief Segments, and an input, an output and a few words of its own for each rank.
class Group {
 public:
  //! @param buffer_bytes     how many bytes the longest call needs
  //! @param alignment_bytes  rank r's buffers begin r times this past a cache line
  Group(int ranks, Options const& options, Waits waits, std::size_t buffer_bytes, std::size_t alignment_bytes)
      : ranks_(ranks),
        lanes_(options.lanes),
        chunk_bytes_(options.chunk_bytes),
        layout_(ranks, options.lanes, options.packet_bytes, options.chunk_bytes),
        buffer_bytes_(buffer_bytes),
        room_(whole_lines(buffer_bytes + static_cast<std::size_t>(ranks) * alignment_bytes)),
        alignment_bytes_(alignment_bytes),
        memory_(static_cast<std::size_t>(ranks) * per_rank() + MemoryMap::line) {
    for (int rank = 0; rank < ranks; ++rank) {
      name_segment(rank);
      name_buffers(rank);
    }
    for (int rank = 0; rank < ranks; ++rank) {
      endpoints_.push_back(std::make_unique<ExploredEndpoint>(rank, ranks, options, waits));
      for (int peer = 0; peer < ranks; ++peer) {
        endpoints_.back()->place_segment(peer, segment(peer));
        endpoints_.back()->place_window(peer, buffers(peer), 2 * room_ + MemoryMap::line);
      }
    }
    first_steps_ = endpoints_.front()->steps(0);
  }

  [[nodiscard]] MemoryMap& memory() { return memory_; }
  [[nodiscard]] ExploredEndpoint& endpoint(int rank) { return *endpoints_[static_cast<std::size_t>(rank)]; }
  [[nodiscard]] std::byte* in(int rank) const { return buffers(rank) + offset(rank); }
  [[nodiscard]] std::byte* out(int rank) const { return in(rank) + room_ + MemoryMap::line; }
  [[nodiscard]] std::size_t buffer_bytes() const { return buffer_bytes_; }

  //! Words by which the lanes of a rank start and end a call together.
  [[nodiscard]] std::uint64_t& own_word(int rank, int index) const {
    return reinterpret_cast<std::uint64_t*>(buffers(rank) + 2 * (room_ + MemoryMap::line))[index];
  }

  //! As if the ranks had just joined.
  void restart() {
    memory_.clear();
    for (auto const& endpoint : endpoints_) {
      for (int lane = 0; lane < lanes_; ++lane) endpoint->steps(lane) = first_steps_;
    }
  }

 private:
  static constexpr std::size_t whole_lines(std::size_t bytes) {
    return (bytes + MemoryMap::line - 1) / MemoryMap::line * MemoryMap::line;
  }
  // | 2 lines | segment | line | in | line | out | line | words | ; what is not used of it is a fence. A segment is
  // aligned to two lines, as its parts are.
  [[nodiscard]] std::size_t per_rank() const {
    std::size_t const lines = whole_lines(layout_.segment_bytes() + 2 * room_) / MemoryMap::line + 6;
    return (lines + lines % 2) * MemoryMap::line;
  }
  [[nodiscard]] std::byte* segment(int rank) const {
    return memory_.base() + static_cast<std::size_t>(rank) * per_rank() + 2 * MemoryMap::line;
  }
  [[nodiscard]] std::byte* buffers(int rank) const {
    return segment(rank) + layout_.segment_bytes() + MemoryMap::line;
  }
  [[nodiscard]] std::size_t offset(int rank) const {
    return static_cast<std::size_t>(rank) * alignment_bytes_;
  }

  void name_buffers(int rank) {
    std::string const of = " of rank " + std::to_string(rank);
    memory_.add(in(rank), buffer_bytes_, Role::buffer, "the input" + of);
    memory_.add(out(rank), buffer_bytes_, Role::buffer, "the output" + of);
    memory_.add(&own_word(rank, 0), MemoryMap::line, Role::other_word, "the lanes' words" + of);
  }

  void name_segment(int owner) {
    Segment const here{segment(owner)};
    std::string const at = " at rank " + std::to_string(owner);
    memory_.add(&here.head().abort, sizeof(std::uint64_t), Role::other_word, "the abort word" + at);
    for (int lane = 0; lane < lanes_; ++lane) {
      LaneHead& head = here.lane(layout_, lane);
      std::string const at_lane = at + ", lane " + std::to_string(lane);
      memory_.add(&head.doorbell.rings, 2 * sizeof(std::uint32_t), Role::other_word,
                  "the doorbell" + at_lane);
      memory_.add(&head.record.stamp, offsetof(CallRecord, table) + sizeof(head.record.table),
                  Role::other_word, "the call record" + at_lane);
      for (int source = 0; source < ranks_; ++source) {
        if (source != owner) {
          name_inbox(here.inbox(layout_, lane, source), " of rank " + std::to_string(source) + at_lane);
        }
      }
    }
  }

  void name_inbox(std::byte* base, std::string const& of) {
    Inbox& inbox = *reinterpret_cast<Inbox*>(base);
    name_line(inbox.arrival, Role::arrival, "the arrival" + of);
    memory_.add(&inbox.departure, sizeof(inbox.departure), Role::departure, "the departure" + of);
    memory_.add(&inbox.renewal[0], sizeof(std::uint64_t), Role::first_renewal, "the first renewal flag" + of);
    memory_.add(&inbox.renewal[1], sizeof(std::uint64_t), Role::second_renewal,
                "the second renewal flag" + of);
    for (int i = 0; i < 2; ++i) {
      std::string const number = " " + std::to_string(i);
      memory_.add(&inbox.contribution[i], sizeof(std::uint64_t), Role::contribution,
                  "contribution flag" + number + of);
      memory_.add(&inbox.result[i], sizeof(std::uint64_t), Role::result, "result flag" + number + of);
      auto const buffer = static_cast<std::size_t>(i) * SegmentLayout::round_up(chunk_bytes_);
      memory_.add(base + layout_.contributions_at() + buffer, chunk_bytes_, Role::data,
                  "contribution buffer" + number + of);
      memory_.add(base + layout_.results_at() + buffer, chunk_bytes_, Role::data,
                  "result buffer" + number + of);
    }
    auto const lines = reinterpret_cast<FlaggedLine*>(base + layout_.packets_at());
    for (std::size_t i = 0; i < 2 * layout_.packet_lines(); ++i) {
      name_line(lines[i], Role::packet, "packet line " + std::to_string(i) + of);
    }
  }

  void name_line(FlaggedLine& line, Role role, std::string const& name) {
    memory_.add(&line.payload, sizeof(line.payload), Role::data, name + ", payload");
    memory_.add(&line.stamp, sizeof(line.stamp), role, name + ", stamp");
  }

  int ranks_;
  int lanes_;
  std::size_t chunk_bytes_;
  SegmentLayout layout_;
  std::size_t buffer_bytes_;
  std::size_t room_;
  std::size_t alignment_bytes_;
  MemoryMap memory_;
  std::vector<std::unique_ptr<ExploredEndpoint>> endpoints_{};
  LaneSteps first_steps_{};
};

}  // namespace chevron::test

#endif
