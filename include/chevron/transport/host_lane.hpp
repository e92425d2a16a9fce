// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef CHEVRON_TRANSPORT_HOST_LANE_HPP
#define CHEVRON_TRANSPORT_HOST_LANE_HPP

//! @file
//! The lane of a CPU: what an algorithm's body calls. One thread of one rank, talking with the same lane of
//! its peers through memory that all of them reach, be they threads or processes.

#include <chevron/core/call.hpp>
#include <chevron/core/requirements.hpp>
#include <chevron/core/shard.hpp>
#include <chevron/sync/flag.hpp>
#include <chevron/transport/host_wait.hpp>

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

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

template <int NRanks, class Access = HostAccess>
class HostLane : public HostWait<Access> {
  using Wait = HostWait<Access>;

 public:
  static constexpr int ranks = NRanks;
  static constexpr Requirements offers = {.direct_access = true, .packets = true, .mailbox = true};
  static constexpr std::size_t pack_bytes = 64;

  //! What of a loop this lane works through.
  template <class T>
  struct Packing {
    Shard part;
  };

  //! Elements per cache line: shards and shares begin at multiples of it.
  template <class T>
  static constexpr std::size_t granule = pack_bytes / sizeof(T);

  HostLane(HostEndpoint& endpoint, int lane, CallIdentity const& call) : Wait(endpoint, lane, call) {}

  //! The part of a range that this lane works on, the same on every rank.
  template <class T>
  [[nodiscard]] Shard share_of(Shard whole) const {
    return part_of(whole, endpoint().layout().lanes(), this->lane(), granule<T>);
  }

  //! A lane is one thread: it has both roles.
  [[nodiscard]] static constexpr Roles split_up() { return {}; }

  // ---- windows: load from all, store to all
  // -------------------------------------------------------------------

  //! Publishes where my buffers lie and learns where everybody's do.
  //! Sync: every rank has arrived; what it wrote to its buffers before is visible.
  //! Errors: unknown_window, buffers_overlap (ranks of one address space); look at ok() afterwards.
  template <class T, class Epilogue>
  Arrival<T, NRanks> arrive(Call<T, Epilogue> const& call, Epoch steps = 0) {
    announce(call, steps);
    return hear(call, steps);
  }

  //! The first half of arrive(): publishes where my buffers lie.
  template <class T, class Epilogue>
  void announce(Call<T, Epilogue> const& call, Epoch /*steps*/ = 0) {
    this->begin_step();
    Message const mine{call.in_at, call.out_at};
    for_each_peer([&](int peer) { post_line(inbox_at(peer).arrival, mine); });
    this->ring(NRanks);
  }

  //! The second half: learns where everybody's buffers lie.
  template <class T, class Epilogue>
  Arrival<T, NRanks> hear(Call<T, Epilogue> const& call, Epoch /*steps*/ = 0) {
    Arrival<T, NRanks> all;
    for_each_peer([&](int peer) {
      FlaggedLine const& line = inbox_from(peer).arrival;
      if (!this->ok() || !this->await(line.stamp, peer)) return;
      Message theirs;
      Access::reading(line.payload, sizeof(theirs));
      std::memcpy(&theirs, line.payload, sizeof(theirs));
      note_buffers(all, peer, theirs, call.count * sizeof(T));
    });
    bool const outside = !(call.in_at.in_window() && call.out_at.in_window());
    if (outside && this->rank() > all.outside) all.outside = this->rank();
    all.in[this->rank()] = call.in;
    all.out[this->rank()] = call.out;
    if (this->ok() && all.direct()) refuse_overlaps(all, call.count);
    return all;
  }

  //! Sync: my loads and stores are done and visible; so are everybody's once this returns.
  void depart(Stores stores = Stores::temporal, Wrote /*wrote*/ = Wrote::all) {
    if (stores == Stores::non_temporal) Access::non_temporal_fence();
    for_each_peer([&](int peer) { Access::store_release(inbox_at(peer).departure, this->stamp()); });
    this->ring(NRanks);
    for_each_peer([&](int peer) {
      if (this->ok()) this->await(inbox_from(peer).departure, peer);
    });
  }

  //! How a loop over `size` elements of these buffers is cut into packs. A CPU moves whole packs at any
  //! alignment, so nothing follows from the buffers.
  template <class T, int Sources, int Targets>
  [[nodiscard]] Packing<T> packing_of(PerRank<T const*, Sources> const&, PerRank<T*, Targets> const&,
                                      std::size_t size, Workers workers) const {
    Shard const whole{0, size};
    return {workers == Workers::all_lanes ? share_of<T>(whole) : whole};
  }

  //! Runs `store(at, load(at))` for every pack of a packing, whole packs first, then the elements left one by
  //! one.
  template <class T, class Load, class Store>
  void for_each_pack(Packing<T> packing, Stores stores, Load&& load, Store&& store) {
    if (endpoint().stores(stores) == Stores::non_temporal) {
      for_each_pack_as<T, Stores::non_temporal>(packing.part, load, store);
    } else {
      for_each_pack_as<T, Stores::temporal>(packing.part, load, store);
    }
  }

  template <class T, int Size, Stores Kind>
  [[nodiscard]] CHEVRON_INLINE PerRank<Pack<T, Size>, NRanks> load_all(PerRank<T const*, NRanks> const& from,
                                                                       At<Size, Kind> at) const {
    PerRank<Pack<T, Size>, NRanks> all;
    for (int rank = 0; rank < NRanks; ++rank) {
      Access::reading(from[rank] + at.index, sizeof(all[rank]));
      load_pack_into(all[rank], from[rank], at);
    }
    return all;
  }

  template <class T, int Targets, int Size, Stores Kind>
  CHEVRON_INLINE void store_all(PerRank<T*, Targets> const& to, At<Size, Kind> at,
                                Pack<T, Size> const& pack) const {
    for (int rank = 0; rank < Targets; ++rank) store_pack_as(to[rank], at, pack);
  }

  // ---- packets: push to all, receive from all
  // -----------------------------------------------------------------

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

  // ---- mailbox: chunks pushed to their owners, results pushed back
  // ---------------------------------------------

  //! Elements of one chunk.
  template <class T>
  [[nodiscard]] std::size_t chunk_capacity() const {
    return endpoint().layout().chunk_bytes() / sizeof(T);
  }

  //! Where I put my chunk for `owner`, and where I find the chunk of `source`; `step` counts on from this
  //! step.
  template <class T>
  [[nodiscard]] T* contribution_at(int owner, Epoch step) const {
    return chunk<T>(owner, this->rank(), endpoint().layout().contributions_at(), step);
  }
  template <class T>
  [[nodiscard]] T const* contribution_from(int source, Epoch step) const {
    return chunk<T>(this->rank(), source, endpoint().layout().contributions_at(), step);
  }
  template <class T>
  [[nodiscard]] T* result_at(int peer, Epoch step) const {
    return chunk<T>(peer, this->rank(), endpoint().layout().results_at(), step);
  }
  template <class T>
  [[nodiscard]] T const* result_from(int owner, Epoch step) const {
    return chunk<T>(this->rank(), owner, endpoint().layout().results_at(), step);
  }

  //! Copies into a peer's mailbox, past the caches: the lines there belong to the peer's core, and to fetch
  //! them one by one before overwriting them would cost several times the copy.
  template <class T>
  void copy_to_mailbox(T* to, T const* from, std::size_t count) const {
    Access::reading(from, count * sizeof(T));
    Access::writing_past_caches(to, count * sizeof(T));
    if (count != 0) Access::copy_non_temporal(to, from, count * sizeof(T));
  }

  //! Copies out of this rank's mailbox.
  template <class T>
  void copy_from_mailbox(T* to, T const* from, std::size_t count) const {
    Access::reading(from, count * sizeof(T));
    Access::writing(to, count * sizeof(T));
    if (count != 0) std::memcpy(to, from, count * sizeof(T));
  }

  //! Sync: what I wrote into the peer's mailbox is visible to it once it has waited for the same step.
  void post_contributions(Epoch step) {
    Access::non_temporal_fence();
    for_each_peer([&](int owner) {
      Access::store_release(inbox_at(owner).contribution[parity(step)], this->stamp(step));
    });
  }
  void post_results(Epoch step) {
    Access::non_temporal_fence();
    for_each_peer(
        [&](int peer) { Access::store_release(inbox_at(peer).result[parity(step)], this->stamp(step)); });
  }
  bool await_contributions(Epoch step) {
    for_each_peer([&](int source) {
      if (this->ok()) this->await(inbox_from(source).contribution[parity(step)], source, step);
    });
    return this->ok();
  }
  bool await_results(Epoch step) {
    for_each_peer([&](int owner) {
      if (this->ok()) this->await(inbox_from(owner).result[parity(step)], owner, step);
    });
    return this->ok();
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

 private:
  struct Message {
    Location in;
    Location out;
  };

  using Wait::endpoint;
  using Wait::inbox_at;
  using Wait::inbox_from;

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

  static constexpr int parity(Epoch step) { return static_cast<int>(step & 1); }

  template <class Content>
  CHEVRON_INLINE void post_line(FlaggedLine& line, Content const& content, Epoch step = 0) {
    static_assert(sizeof(Content) <= FlaggedLine::payload_bytes);
    Access::writing(line.payload, sizeof(content));
    std::memcpy(line.payload, &content, sizeof(content));
    Access::store_release(line.stamp, this->stamp(step));
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

  template <class T>
  [[nodiscard]] T* chunk(int owner, int source, std::size_t at, Epoch step) const {
    SegmentLayout const& layout = endpoint().layout();
    std::byte* const first =
        (owner == this->rank() ? this->inbox_bytes_from(source) : this->inbox_bytes_at(owner)) + at;
    return reinterpret_cast<T*>(first + static_cast<std::size_t>(parity(this->epoch() + step)) *
                                            SegmentLayout::round_up(layout.chunk_bytes()));
  }

  template <class T>
  void note_buffers(Arrival<T, NRanks>& all, int peer, Message const& theirs, std::size_t size_bytes) {
    if (!(theirs.in.in_window() && theirs.out.in_window())) {
      all.outside = peer > all.outside ? peer : all.outside;
      return;
    }
    all.in[peer] = reinterpret_cast<T const*>(endpoint().resolve(peer, theirs.in, size_bytes));
    all.out[peer] = reinterpret_cast<T*>(endpoint().resolve(peer, theirs.out, size_bytes));
    if (size_bytes != 0 && (all.in[peer] == nullptr || all.out[peer] == nullptr)) {
      this->fail(Errc::unknown_window, peer);
    }
  }

  //! A rank's output must be nobody else's buffer. Each rank checks its own against all others'.
  template <class T>
  void refuse_overlaps(Arrival<T, NRanks> const& all, std::size_t count) {
    int const me = this->rank();
    auto const overlap = [&](T const* a, T const* b) {
      return reinterpret_cast<std::uintptr_t>(a) < reinterpret_cast<std::uintptr_t>(b) + count * sizeof(T) &&
             reinterpret_cast<std::uintptr_t>(b) < reinterpret_cast<std::uintptr_t>(a) + count * sizeof(T);
    };
    bool clean = true;
    int culprit = me;
    for_each_peer([&](int peer) {
      if (overlap(all.out[me], all.in[peer]) || overlap(all.out[me], all.out[peer]) ||
          overlap(all.in[me], all.out[peer])) {
        clean = false;
        culprit = peer;
      }
    });
    if (!clean && count != 0) this->fail(Errc::buffers_overlap, culprit);
  }

  template <class T, Stores Kind, class Load, class Store>
  CHEVRON_INLINE void for_each_pack_as(Shard part, Load&& load, Store&& store) {
    constexpr int whole = static_cast<int>(granule<T>);
    std::size_t index = part.begin;
    for (; index + whole <= part.end; index += whole) {
      At<whole, Kind> const at{index};
      store(at, load(at));
    }
    for (; index < part.end; ++index) {
      At<1> const at{index};
      store(at, load(at));
    }
  }

  template <class T, int Size, Stores Kind>
  static CHEVRON_INLINE void store_pack_as(T* buffer, At<Size, Kind> at, Pack<T, Size> const& pack) {
#if defined(__SSE2__)
    if constexpr (Kind == Stores::non_temporal && sizeof(pack) % sizeof(__m128i) == 0) {
      if (reinterpret_cast<std::uintptr_t>(buffer + at.index) % sizeof(__m128i) == 0) {
        Access::writing_past_caches(buffer + at.index, sizeof(pack));
        auto const to = reinterpret_cast<__m128i*>(buffer + at.index);
        for (std::size_t i = 0; i < sizeof(pack) / sizeof(__m128i); ++i) {
          __m128i part;
          std::memcpy(&part, reinterpret_cast<std::byte const*>(pack.v) + i * sizeof(part), sizeof(part));
          _mm_stream_si128(to + i, part);
        }
        return;
      }
    }
#endif
    Access::writing(buffer + at.index, sizeof(pack));
    store_pack(buffer, at, pack);
  }
};

}  // namespace chevron

#endif
