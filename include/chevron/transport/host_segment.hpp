// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef CHEVRON_TRANSPORT_HOST_SEGMENT_HPP
#define CHEVRON_TRANSPORT_HOST_SEGMENT_HPP

//! @file
//! The memory of one rank that its peers write into, and where what lies in it.
//!
//! ```
//! segment of a rank = | abort word | per lane: doorbell, call record | per lane and source rank: inbox |
//! inbox             = | flags | packets, two buffers | contributions, two buffers | results, two buffers |
//! ```
//! Each source has an inbox of its own, so that every word has one writer.

#include <chevron/core/error.hpp>
#include <chevron/sync/call_record.hpp>
#include <chevron/sync/doorbell.hpp>
#include <chevron/sync/packet.hpp>

#include <cstddef>
#include <cstdint>

namespace chevron {

//! @brief The flags that one rank writes for one lane of another. Each pair is indexed by the parity of the
//! epoch where a writer may be one step ahead of the reader.
struct Inbox {
  FlaggedLine arrival{};                           //!< the arrival message
  alignas(64) std::uint64_t departure = 0;         //!< the source has finished with everybody's buffers
  alignas(64) std::uint64_t contribution[2] = {};  //!< a chunk of the source's input lies in the mailbox
  alignas(64) std::uint64_t result[2] = {};        //!< a chunk of the source's results lies in the mailbox
  alignas(64) std::uint64_t renewal[2] = {};  //!< the source is about to wipe its stamps, and has wiped them
};

//! @brief What stands at the beginning of every segment.
struct SegmentHead {
  alignas(64) std::uint64_t abort = 0;  //!< a Failure; any rank may set it, the first one stays
};

//! @brief What one lane of the owner shows its peers.
struct LaneHead {
  Doorbell doorbell;
  CallRecord record;
};

//! @brief Where everything lies. The same on every rank: it follows only from what the ranks compare when they
//! meet. Computed once, since every call asks.
class SegmentLayout {
 public:
  static constexpr std::size_t line = 64;
  static constexpr std::size_t round_up(std::size_t bytes) { return (bytes + line - 1) / line * line; }

  //! @param packet_bytes  payload that one rank may push to another within one step
  //! @param chunk_bytes   bytes of one chunk of the staged algorithms
  constexpr SegmentLayout(int ranks, int lanes, std::size_t packet_bytes, std::size_t chunk_bytes)
      : ranks_(ranks),
        lanes_(lanes),
        packet_lines_(packet_bytes / FlaggedLine::payload_bytes),
        chunk_bytes_(chunk_bytes),
        contributions_at_(packets_at() + 2 * packet_lines_ * sizeof(FlaggedLine)),
        results_at_(contributions_at_ + 2 * round_up(chunk_bytes)),
        inbox_bytes_(results_at_ + 2 * round_up(chunk_bytes)) {}

  [[nodiscard]] constexpr int lanes() const { return lanes_; }
  [[nodiscard]] constexpr std::size_t packet_lines() const { return packet_lines_; }
  [[nodiscard]] constexpr std::size_t chunk_bytes() const { return chunk_bytes_; }

  //! Offsets within an inbox.
  [[nodiscard]] static constexpr std::size_t packets_at() { return round_up(sizeof(Inbox)); }
  [[nodiscard]] constexpr std::size_t contributions_at() const { return contributions_at_; }
  [[nodiscard]] constexpr std::size_t results_at() const { return results_at_; }
  [[nodiscard]] constexpr std::size_t inbox_bytes() const { return inbox_bytes_; }

  //! Offsets within a segment.
  [[nodiscard]] static constexpr std::size_t lane_head_at(int lane) {
    return 2 * round_up(sizeof(SegmentHead)) + static_cast<std::size_t>(lane) * sizeof(LaneHead);
  }
  [[nodiscard]] constexpr std::size_t inbox_at(int lane, int source) const {
    return lane_head_at(lanes_) + static_cast<std::size_t>(lane * ranks_ + source) * inbox_bytes_;
  }
  [[nodiscard]] constexpr std::size_t segment_bytes() const { return inbox_at(lanes_, 0); }

 private:
  int ranks_;
  int lanes_;
  std::size_t packet_lines_;
  std::size_t chunk_bytes_;
  std::size_t contributions_at_;
  std::size_t results_at_;
  std::size_t inbox_bytes_;
};

//! @brief A typed view of one segment at the address where it lies in this process.
struct Segment {
  std::byte* base = nullptr;

  [[nodiscard]] SegmentHead& head() const { return *reinterpret_cast<SegmentHead*>(base); }
  [[nodiscard]] LaneHead& lane(SegmentLayout const& layout, int index) const {
    return *reinterpret_cast<LaneHead*>(base + layout.lane_head_at(index));
  }
  [[nodiscard]] std::byte* inbox(SegmentLayout const& layout, int lane, int source) const {
    return base + layout.inbox_at(lane, source);
  }
};

}  // namespace chevron

#endif
