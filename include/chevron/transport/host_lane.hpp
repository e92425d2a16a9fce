// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef CHEVRON_TRANSPORT_HOST_LANE_HPP
#define CHEVRON_TRANSPORT_HOST_LANE_HPP

//! @file
//! The lane of a CPU: what an algorithm's body calls. One thread of one rank, talking with the same lane of
//! its peers through memory that all of them reach, be they threads or processes.

#include <chevron/core/call.hpp>
#include <chevron/core/requirements.hpp>
#include <chevron/core/shard.hpp>
#include <chevron/transport/host_packets.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace chevron {

template <int NRanks, class Access = HostAccess>
class HostLane : public HostPackets<NRanks, Access> {
  using Packets = HostPackets<NRanks, Access>;

 public:
  using Packets::for_each_peer;

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

  HostLane(HostEndpoint& endpoint, int lane, CallIdentity const& call) : Packets(endpoint, lane, call) {}

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

 private:
  struct Message {
    Location in;
    Location out;
  };

  using Packets::endpoint;
  using Packets::inbox_at;
  using Packets::inbox_from;
  using Packets::parity;

  template <class Content>
  CHEVRON_INLINE void post_line(FlaggedLine& line, Content const& content, Epoch step = 0) {
    static_assert(sizeof(Content) <= FlaggedLine::payload_bytes);
    Access::writing(line.payload, sizeof(content));
    std::memcpy(line.payload, &content, sizeof(content));
    Access::store_release(line.stamp, this->stamp(step));
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
