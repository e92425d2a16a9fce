// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef CHEVRON_TRANSPORT_CUDA_SEGMENT_HPP
#define CHEVRON_TRANSPORT_CUDA_SEGMENT_HPP

//! @file
//! The device memory of one rank that its peers write into, and where what lies in it.
//!
//! ```
//! segment of a rank = | abort word | per lane: steps | per lane and source rank: inbox |
//! inbox             = | flags | packets, two buffers | contributions, two buffers | results, two buffers |
//!                     | bare packets, two buffers |
//! ```
//! A word of flags or packets is 64 bits wide: 32 of data and the epoch they are for, so that it is valid as soon as it is
//! seen. A word of a bare packet is all data, and valid as soon as it is not the sentinel any more. Each source has an inbox
//! of its own, so that every word has one writer.

#include <chevron/core/config.hpp>
#include <chevron/core/element.hpp>
#include <chevron/core/error.hpp>
#include <chevron/core/rank.hpp>
#include <chevron/sync/call_record.hpp>
#include <chevron/sync/epoch.hpp>

#include <cstddef>
#include <cstdint>

namespace chevron {

//! @brief What one rank writes for one lane of another, before the packets and chunks. Pairs are indexed by a parity, where
//! the writer may be one ahead of the reader.
struct CudaInbox {
  static constexpr int location_words = 5;
  static constexpr int greeting_words = 5;

  alignas(
      64) std::uint64_t arrival[location_words];  //!< where the source's buffers lie, and the call's digest
  std::uint64_t departure;                        //!< the source has finished with everybody's buffers
  std::uint64_t contribution[2];                  //!< a chunk of the source's input lies in the mailbox
  alignas(64) std::uint64_t greeting[2][8];       //!< what the source calls; by the parity of the call
  alignas(64) std::uint64_t result[2];            //!< a chunk of the source's results lies in the mailbox
  std::uint64_t renewal[2];  //!< the source is about to wipe its words, and has wiped them
};

//! @brief What stands at the beginning of every segment.
struct CudaSegmentHead {
  alignas(128) std::uint64_t abort;  //!< a Failure; the first one stays
  alignas(128)
      std::uint32_t kernels;  //!< of this rank that are under way: more than one would take the same steps
};

//! @brief What a lane keeps from call to call, in its rank's own memory, so that a replayed graph goes on where the last
//! call ended.
struct CudaSteps {
  Epoch epoch = 0;   //!< the last step taken
  Epoch parity = 0;  //!< of the next call

  [[nodiscard]] CHEVRON_HD constexpr std::uint64_t word() const {
    return std::uint64_t{epoch} | std::uint64_t{parity} << 32;
  }
  [[nodiscard]] CHEVRON_HD static constexpr CudaSteps of(std::uint64_t word) {
    return {static_cast<Epoch>(word), static_cast<Epoch>(word >> 32)};
  }
};

//! @brief Where everything lies. The same on every rank: it follows only from what the ranks compare when they meet.
class CudaSegmentLayout {
 public:
  static constexpr std::size_t line = 128;
  [[nodiscard]] CHEVRON_HD static constexpr std::size_t round_up(std::size_t bytes) {
    return (bytes + line - 1) / line * line;
  }

  constexpr CudaSegmentLayout() = default;
  //! @param packet_bytes  payload that one rank may push to one lane of another within one step, a multiple of 16
  //! @param chunk_bytes   bytes of one chunk of the staged algorithms, a multiple of 128
  constexpr CudaSegmentLayout(int ranks, int lanes, std::size_t packet_bytes, std::size_t chunk_bytes)
      : ranks_(static_cast<std::uint32_t>(ranks)),
        lanes_(static_cast<std::uint32_t>(lanes)),
        packet_bytes_(static_cast<std::uint32_t>(packet_bytes)),
        chunk_bytes_(static_cast<std::uint32_t>(chunk_bytes)),
        inboxes_at_(static_cast<std::uint32_t>(round_up(steps_at(lanes)))),
        inbox_bytes_(bare_packets_at(2)) {}

  [[nodiscard]] CHEVRON_HD constexpr int lanes() const { return static_cast<int>(lanes_); }
  [[nodiscard]] CHEVRON_HD constexpr std::size_t packet_bytes() const { return packet_bytes_; }
  [[nodiscard]] CHEVRON_HD constexpr std::size_t chunk_bytes() const { return chunk_bytes_; }

  //! Offsets within an inbox. A packet takes twice its payload; `parity` is 0 or 1 (2 gives the end).
  [[nodiscard]] CHEVRON_HD constexpr std::uint32_t packets_at(Epoch parity) const {
    return static_cast<std::uint32_t>(round_up(sizeof(CudaInbox))) + parity * 2 * packet_bytes_;
  }
  [[nodiscard]] CHEVRON_HD constexpr std::uint32_t contributions_at(Epoch parity) const {
    return packets_at(2) + parity * chunk_bytes_;
  }
  [[nodiscard]] CHEVRON_HD constexpr std::uint32_t results_at(Epoch parity) const {
    return contributions_at(2) + parity * chunk_bytes_;
  }

  [[nodiscard]] CHEVRON_HD constexpr std::uint32_t bare_packets_at(Epoch parity) const {
    return results_at(2) + parity * packet_bytes_;
  }
  [[nodiscard]] CHEVRON_HD constexpr std::uint32_t inbox_bytes() const { return inbox_bytes_; }

  //! Offsets within a segment.
  [[nodiscard]] CHEVRON_HD static constexpr std::size_t steps_at(int lane) {
    return sizeof(CudaSegmentHead) + static_cast<std::size_t>(lane) * sizeof(std::uint64_t);
  }
  [[nodiscard]] CHEVRON_HD constexpr std::uint32_t inbox_at(int lane, int source) const {
    return inboxes_at_ +
           (static_cast<std::uint32_t>(lane) * ranks_ + static_cast<std::uint32_t>(source)) * inbox_bytes_;
  }
  [[nodiscard]] CHEVRON_HD constexpr std::size_t segment_bytes() const {
    return inboxes_at_ + std::size_t{lanes_} * ranks_ * inbox_bytes_;
  }
  //! Offsets are 32 bits wide.
  static constexpr std::size_t most_bytes = 0xffffffff;

 private:
  std::uint32_t ranks_ = 0;
  std::uint32_t lanes_ = 0;
  std::uint32_t packet_bytes_ = 0;
  std::uint32_t chunk_bytes_ = 0;
  std::uint32_t inboxes_at_ = 0;
  std::uint32_t inbox_bytes_ = 0;
};

//! @brief What an empty word of a bare packet holds: NaNs, in every float format. A word of data that is the same is sent as
//! other NaNs.
struct Sentinel {
  static constexpr std::uint64_t word = ~std::uint64_t{0};
  static constexpr std::uint64_t other = word >> 1;

  [[nodiscard]] CHEVRON_HD static constexpr std::uint64_t avoid(std::uint64_t data) {
    return data == word ? other : data;
  }
};

//! @brief Whether elements of a kind may go in bare packets: they have NaNs.
[[nodiscard]] CHEVRON_HD constexpr bool has_sentinel(ElementKind kind) {
  return kind == ElementKind::float32 || kind == ElementKind::float64 || kind == ElementKind::float16 ||
         kind == ElementKind::bfloat16 || kind == ElementKind::float8_e4m3 ||
         kind == ElementKind::float8_e5m2;
}

//! @brief What all ranks of a call must have in common, as its lanes tell each other: one word per field.
struct CallGreeting {
  std::uint32_t words[CudaInbox::greeting_words] = {};

  [[nodiscard]] static constexpr CallGreeting of(CallIdentity const& call) {
    return {{call.table, call.element | static_cast<std::uint32_t>(call.count >> 32) << 8, call.operation,
             static_cast<std::uint32_t>(call.count), call.algorithm}};
  }

  //! All of it in one word: told to be the same before anybody's buffers are touched.
  [[nodiscard]] CHEVRON_HD constexpr std::uint32_t digest() const {
    std::uint32_t all = 0;
    for (std::uint32_t const word : words) all = (all ^ word) * 0x01000193u + 0x9e3779b9u;
    return all;
  }

  //! What it means that two calls differ in a word; asked for the first such word.
  [[nodiscard]] CHEVRON_HD static constexpr Errc difference(int word, std::uint32_t mine,
                                                            std::uint32_t theirs) {
    switch (word) {
      case 0:
        return Errc::table_mismatch;
      case 1:
        return (mine & 0xff) != (theirs & 0xff) ? Errc::element_mismatch : Errc::count_mismatch;
      case 2:
        return Errc::operation_mismatch;
      case 3:
        return Errc::count_mismatch;
      default:
        return Errc::algorithm_mismatch;
    }
  }
};

//! @brief A window as one rank's kernels see it: where each rank's part is mapped, and how long it is. Freed: size 0.
template <int NRanks>
struct CudaWindow {
  PerRank<std::byte*, NRanks> base{};
  PerRank<std::uint64_t, NRanks> size_bytes{};
};

//! @brief What words hold that nobody has written in an era: an epoch half the counter's range away.
[[nodiscard]] CHEVRON_HD constexpr std::uint64_t unwritten(Epoch epoch) {
  return std::uint64_t{epoch + 0x8000'0000u} << 32;
}
//! @brief The same in bytes that are all alike, for new memory.
[[nodiscard]] constexpr unsigned char unwritten_byte(Epoch epoch) {
  return static_cast<unsigned char>(((era_of(epoch) + 2) & 3) << 6 | 0x10);
}

//! @brief What a transport can do with a pointer that a call names.
enum class WindowReach : unsigned char {
  everywhere,  //!< every pointer is in reach of all ranks at its own address
  by_address,  //!< what lies in windows is, at its own address
  by_table,    //!< what lies in windows is, at an address of each rank's own
};

//! @brief What one rank's kernels know of the group; passed by value, so that a graph keeps its own copy.
template <int NRanks>
struct CudaView {
  PerRank<std::byte*, NRanks> segments{};       //!< as this device addresses them
  PerRank<std::uint64_t*, NRanks> status{};     //!< a Failure per rank, in host memory
  CudaWindow<NRanks> const* windows = nullptr;  //!< for WindowReach::by_table
  std::uint64_t deadline_ns = 0;
  CudaSegmentLayout layout{};
  std::uint32_t window_count = 0;
  std::int32_t rank = 0;
};

//! @brief How the two ends of a call on windows are ordered. See docs/memory-model.md for what each relies on.
enum class Ordering : unsigned char {
  formal,           //!< arrival and departure by release and acquire
  relaxed_arrival,  //!< arrival by relaxed words, departure by release and acquire
  relaxed,  //!< both by relaxed words: only for algorithms that write no peer's memory, else as relaxed_arrival
};

//! @brief When a kernel lets the next one of its stream be brought in, which then waits for its end.
//!
//! Before a kernel has met its peers its successor may take room that a peer's kernel still needs: so the first two are only
//! for calls that leave enough of it, see cuda_residency.cuh.
enum class LetGo : unsigned char {
  at_once,    //!< as soon as its own data is ready
  when_sent,  //!< after it has sent what its peers wait for
  when_met,   //!< after it has heard of all its peers
};

//! @brief How small messages tell that they have come. The results are the same.
enum class PacketKind : unsigned char {
  automatic,  //!< bare where the element has a sentinel and the call takes one step, else flagged
  flagged,  //!< each word of 8 bytes carries 4 of data and the step: twice the bytes, any element, any number of steps
  bare,  //!< as automatic; but a table's row that says so for an element without a sentinel does not compile
};

//! @brief How a call runs; the same on all ranks.
struct CudaManner {
  Ordering ordering = Ordering::relaxed_arrival;
  LetGo let_go = LetGo::when_met;
  PacketKind packets = PacketKind::automatic;
};

}  // namespace chevron

#endif
