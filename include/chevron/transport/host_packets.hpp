// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef CHEVRON_TRANSPORT_HOST_PACKETS_HPP
#define CHEVRON_TRANSPORT_HOST_PACKETS_HPP

//! @file
//! How a lane of a CPU pushes data into mailboxes so that it needs no flag beside it, and receives it: a packet is a cache line
//! with its flag inside.

#include <chevron/core/call.hpp>
#include <chevron/core/shard.hpp>
#include <chevron/sync/flag.hpp>
#include <chevron/transport/host_wait.hpp>

#include <bit>
#include <cstddef>

namespace chevron {

//! @brief Elements that lie in one packet: their place within the step, and within the packet. A packet that is not full
//! comes in pieces of less than its capacity, so that the size of each is known to the compiler.
template <int Size>
struct PacketAt {
  static constexpr int size = Size;
  std::size_t packet;   //!< the packet's number within the step
  std::size_t index;    //!< the first element
  int valid = Size;     //!< 0 in the packet of a rank that has no data
  int offset = 0;       //!< of the first element, within the packet
  bool is_last = true;  //!< no more elements follow in this packet
};

//! @brief The part of a CPU's lane that knows of packets.
template <int NRanks, class Access>
class HostPackets : public HostWait<Access> {
  using Wait = HostWait<Access>;

 public:
  using Wait::Wait;

  //! Elements that one step of packets carries.
  template <class T>
  [[nodiscard]] std::size_t packet_capacity() const {
    return (endpoint().layout().packet_lines()) * static_cast<std::size_t>(FlaggedLine::capacity<T>);
  }

  //! Runs `body(at)` for every packet of a step that carries `part`; at least one, so that ranks with no data
  //! meet.
  template <class T, class Body>
  void for_each_packet(Shard part, Body&& body) {
    constexpr int size = FlaggedLine::capacity<T>;
    PacketAt<size> at{0, part.begin};
    for (; at.index + size <= part.end && this->ok(); at.index += size, ++at.packet) body(at);
    if (!this->ok()) return;
    if (part.empty()) {
      body(PacketAt<1>{.packet = 0, .index = part.begin, .valid = 0});
    } else if (at.index < part.end) {
      constexpr std::size_t vector = 16 / sizeof(T);
      for_each_piece<T, static_cast<int>(std::bit_floor(vector < 1 ? 1 : vector))>(at.packet, at.index,
                                                                                   part.end, 0, body);
    }
  }

  template <class T, int Size>
  [[nodiscard]] CHEVRON_INLINE Pack<T, Size> load(T const* buffer, PacketAt<Size> at) const {
    if (at.valid == 0) return {};
    Access::reading(buffer + at.index, Size * sizeof(T));
    return load_pack(buffer, At<Size>{at.index});
  }

  template <class T, int Size>
  CHEVRON_INLINE void store(T* buffer, PacketAt<Size> at, Pack<T, Size> const& pack) const {
    Access::writing(buffer + at.index, Size * sizeof(T));
    store_pack(buffer, At<Size>{at.index}, pack);
  }

  //! Writes elements of a packet into a peer's mailbox, or into every peer's, and after the last ones its flag. `step`
  //! counts on from this step.
  template <class T, int Size>
  CHEVRON_INLINE void push_to(int peer, PacketAt<Size> at, Pack<T, Size> const& pack, Epoch step = 0) {
    FlaggedLine& line = packets_at(peer, step)[at.packet];
    T* const to = reinterpret_cast<T*>(line.payload) + at.offset;
    Access::writing(to, sizeof(pack));
    store_pack(to, At<Size>{0}, pack);
    if (at.is_last) Access::store_release(line.stamp, this->stamp(step));
  }
  template <class T, int Size>
  CHEVRON_INLINE void push_to_all(PacketAt<Size> at, Pack<T, Size> const& pack, Epoch step = 0) {
    for_each_peer([&](int peer) { push_to(peer, at, pack, step); });
  }

  //! Waits for all packets of a step, and does nothing else: so short a loop has the next lines on their way while it
  //! looks at this one. Receiving them finds them here. Then it asks for the lines of the peers' mailboxes that the next
  //! step will write, which nobody reads any more: a peer's packet says so.
  template <class T>
  void await_packets(Shard part) {
    std::size_t const count = lines_for(part.size(), sizeof(T));
    for_each_peer([&](int peer) {
      FlaggedLine const* const lines = packets_from(peer);
      for (std::size_t i = 0; i < count; ++i) {
        if (!this->await(lines[i].stamp, peer)) return;
      }
    });
    for_each_peer([&](int peer) {
      FlaggedLine const* const next = packets_at(peer, 1);
      for (std::size_t i = 0; i < count && i < lines_fetched_ahead; ++i) Access::will_write(next[i]);
    });
  }

  //! A step of packets: pushes `part` of `in` to every peer and receives theirs; `out` gets `reduce(at, all)` of what all
  //! ranks have. Look at ok() afterwards.
  template <class T, class Reduce>
  void exchange_part(Shard part, T const* in, T* out, Reduce&& reduce) {
    exchange_part_on(*this, part, in, out, reduce);
  }

  //! Waits for one packet of a peer. Look at ok() before using it.
  template <class T, int Size>
  [[nodiscard]] CHEVRON_INLINE Pack<T, Size> receive_from(int peer, PacketAt<Size> at, Epoch step = 0) {
    FlaggedLine const& line = packets_from(peer, step)[at.packet];
    if (!this->await(line.stamp, peer, step)) return {};
    T const* const from = reinterpret_cast<T const*>(line.payload) + at.offset;
    Access::reading(from, Size * sizeof(T));
    return load_pack(from, At<Size>{0});
  }

  //! One packet of every rank, once await_packets has seen them all. `own` stands for this rank's own.
  template <class T, int Size>
  [[nodiscard]] CHEVRON_INLINE PerRank<Pack<T, Size>, NRanks> receive_from_all(PacketAt<Size> at,
                                                                               Pack<T, Size> const& own) {
    PerRank<Pack<T, Size>, NRanks> all;
    // By a constant index each, so that the packs stay in registers.
    for (int rank = 0; rank < NRanks; ++rank) {
      if (rank == this->rank()) {
        all[rank] = own;
      } else {
        T const* const from = reinterpret_cast<T const*>(packets_from(rank)[at.packet].payload) + at.offset;
        Access::reading(from, sizeof(own));
        load_pack_into(all[rank], from, At<Size>{0});
      }
    }
    return all;
  }

  //! Calls `visit(peer)` for every rank but this one, beginning with the next: so no peer is everybody's
  //! first.
  template <class Visit>
  CHEVRON_INLINE void for_each_peer(Visit&& visit) const {
    for (int step = 1; step < NRanks; ++step) {
      int const peer = this->rank() + step;
      visit(peer < NRanks ? peer : peer - NRanks);
    }
  }

 protected:
  using Wait::endpoint;

  //! exchange_part by the packets of a lane that may have its own.
  template <class Lane, class T, class Reduce>
  static void exchange_part_on(Lane& lane, Shard part, T const* in, T* out, Reduce& reduce) {
    lane.template for_each_packet<T>(
        part, [&](auto at) CHEVRON_INLINE_LAMBDA { lane.push_to_all(at, lane.load(in, at)); });
    lane.ring(NRanks);
    lane.template await_packets<T>(part);
    lane.template for_each_packet<T>(part, [&](auto at) CHEVRON_INLINE_LAMBDA {
      auto const all = lane.receive_from_all(at, lane.load(in, at));
      if (lane.ok() && at.valid != 0) lane.store(out, at, reduce(at, all));
    });
  }

  [[nodiscard]] static constexpr int parity(Epoch step) { return static_cast<int>(step & 1); }

 private:
  //! As many as a core fetches at once.
  static constexpr std::size_t lines_fetched_ahead = 20;

  //! The elements from `index` to `end`, fewer than a packet holds, in pieces of a vector register and then ever smaller
  //! ones.
  template <class T, int Size, class Body>
  CHEVRON_INLINE static void for_each_piece(std::size_t packet, std::size_t index, std::size_t end,
                                            int offset, Body&& body) {
    for (; index + Size <= end; index += Size, offset += Size) {
      body(
          PacketAt<Size>{.packet = packet, .index = index, .offset = offset, .is_last = index + Size == end});
    }
    if constexpr (Size > 1) for_each_piece<T, Size / 2>(packet, index, end, offset, body);
  }

  //! This step's packets, or those of `step` steps on.
  [[nodiscard]] CHEVRON_INLINE FlaggedLine* packets_at(int peer, Epoch step = 0) const {
    return packets_of(this->inbox_bytes_at(peer), step);
  }
  [[nodiscard]] CHEVRON_INLINE FlaggedLine const* packets_from(int peer, Epoch step = 0) const {
    return packets_of(this->inbox_bytes_from(peer), step);
  }
  [[nodiscard]] CHEVRON_INLINE FlaggedLine* packets_of(std::byte* inbox, Epoch step) const {
    auto const first = reinterpret_cast<FlaggedLine*>(inbox + SegmentLayout::packets_at());
    return parity(this->epoch() + step) == 0 ? first : first + endpoint().layout().packet_lines();
  }
};

}  // namespace chevron

#endif
