// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef CHEVRON_TRANSPORT_CUDA_LANE_CUH
#define CHEVRON_TRANSPORT_CUDA_LANE_CUH

//! @file
//! The lane of a GPU: what an algorithm's body calls. A thread block of one rank, talking with the same block of its peers
//! through device memory that all of them reach. All threads of the block call everything together.

#include <chevron/core/call.hpp>
#include <chevron/core/error.hpp>
#include <chevron/core/requirements.hpp>
#include <chevron/core/shard.hpp>
#include <chevron/transport/cuda_packets.cuh>
#include <chevron/transport/cuda_packs.cuh>
#include <chevron/transport/cuda_segment.hpp>

#include <cstddef>
#include <cstdint>
#include <utility>

namespace chevron {

//! @tparam Scope          device where all ranks are on one device, system elsewhere
//! @tparam Reach          what a pointer tells a peer
//! @tparam PacksInFlight  packs that a thread loads before it stores the first
template <int NRanks, cuda::thread_scope Scope, WindowReach Reach, int PacksInFlight>
class CudaLane : public CudaPackets<NRanks, Scope> {
  using Base = CudaPackets<NRanks, Scope>;
  using typename Base::Access;
  using typename Base::Packs;

 public:
  using typename Base::View;

  static constexpr int ranks = NRanks;
  static constexpr Requirements offers = {.direct_access = true, .packets = true, .mailbox = true};
  static constexpr std::size_t pack_bytes = Packs::pack_bytes;

  //! Elements per line: shards and shares begin at multiples of it.
  template <class T>
  static constexpr std::size_t granule = CudaSegmentLayout::line / sizeof(T);
  template <class T>
  static constexpr int pack_size = Packs::template pack_size<T>;

  //! @brief What the threads of a lane share: where each rank's buffers lie.
  struct Shared {
    union {
      std::uint32_t words[NRanks][CudaInbox::location_words + 1];
      std::uint64_t buffers[NRanks][3];
    };
  };

  //! How a loop is cut into packs: `head` elements before the first whole pack, then `packs`. This lane begins with pack
  //! `first` + its thread's number and goes on in steps of `stride`.
  template <class T>
  struct Packing {
    std::size_t size;
    std::size_t head;
    std::size_t packs;
    std::size_t first;
    std::size_t stride;
  };

  CHEVRON_DEVICE CudaLane(View const& view, CallGreeting const& greeting, CudaManner manner, Shared& shared)
      : Base(view, greeting, manner), shared_(shared) {}

  //! The part of a range that this lane works on, the same on every rank.
  template <class T>
  [[nodiscard]] CHEVRON_DEVICE Shard share_of(Shard whole) const {
    return part_of(whole, static_cast<int>(gridDim.x), this->lane(), granule<T>);
  }

  //! From here on the lane is two teams: the first half of its threads contributes to the owners, the other reduces what this
  //! rank owns, so that neither waits for the other's memory.
  CHEVRON_DEVICE Roles split_up() { return this->split(); }

  // ---- windows: load from all, store to all

  //! Publishes where my buffers lie and learns where everybody's do.
  //! Sync:   every rank has arrived; what it wrote to its buffers before is visible to loads that go past the first cache
  //! Errors: unknown_window, buffers_overlap; look at ok() afterwards
  //! @param steps  that the call takes in all, 0 where that is not known yet
  template <class T, class Epilogue>
  CHEVRON_DEVICE Arrival<T, NRanks> arrive(Call<T, Epilogue> const& call, Epoch steps = 0) {
    announce(call, steps);
    return hear(call, steps);
  }

  //! The first half of arrive(): publishes where my buffers lie.
  template <class T, class Epilogue>
  CHEVRON_DEVICE void announce(Call<T, Epilogue> const& call, Epoch steps = 0) {
    Word const mine = arrival_word(call, static_cast<int>(threadIdx.x));
    std::uint64_t& to = this->inbox_at(mine.peer).arrival[mine.number];
    bool const is_formal = this->ordering() == Ordering::formal;
    if (steps != 0) this->begin(steps);
    this->begin_step();
    // Worked out before the wait.
    asm volatile("" ::"l"(&to), "l"(&this->inbox_from(mine.peer)), "l"(this->word_of(mine.value)));
    this->wait_for_data();
    if (mine.has_peer && is_formal) Access::store_release(to, this->word_of(mine.value));
    if (mine.has_peer && !is_formal) Access::store_relaxed(to, this->word_of(mine.value));
    this->open();
  }

  //! The second half, for the threads of a team: learns where everybody's buffers lie.
  template <class T, class Epilogue>
  CHEVRON_DEVICE Arrival<T, NRanks> hear(Call<T, Epilogue> const& call, Epoch steps = 0) {
    bool const is_formal = this->ordering() == Ordering::formal;
    for (unsigned i = this->team_thread(); i < NRanks * words; i += this->team_threads()) {
      Word const mine = arrival_word(call, static_cast<int>(i));
      if (mine.has_peer) {
        std::uint64_t const& from = this->inbox_from(mine.peer).arrival[mine.number];
        std::uint64_t const seen =
            is_formal ? this->template await<true>(from, mine.peer) : this->await(from, mine.peer);
        shared_.words[mine.peer][mine.number] = static_cast<std::uint32_t>(seen);
        if (mine.number == words - 1 && this->ok() && static_cast<std::uint32_t>(seen) != mine.value)
          this->tell_difference(mine.peer);
      } else {
        shared_.words[this->rank()][mine.number] = mine.value;
      }
    }
    Arrival<T, NRanks> all;
    if (!this->agree()) return all;
    this->note_heard();
    if (steps != 0) {  // all peers have been heard
      this->write_steps(this->epoch() + steps - 1);
      this->let_go();
    }
    int unknown = -1;
    for_each_rank([&]<int Rank>() { note_buffers<Rank>(all, call.count * sizeof(T), unknown); });
    if (unknown >= 0) this->fail(Errc::unknown_window, unknown);
    if (all.direct()) refuse_overlaps(all, call.count * sizeof(T));
    return all;
  }

  //! Sync: my loads and stores are done and visible; so are everybody's once the kernel has ended.
  //! @param wrote  whether this algorithm writes peers' memory
  CHEVRON_DEVICE void depart(Stores /*stores*/, Wrote wrote = Wrote::all) {
    __syncthreads();
    this->write_steps(this->epoch());
    this->let_go();
    int const thread = static_cast<int>(threadIdx.x);
    if (thread >= NRanks - 1 || !this->ok()) return;
    int const peer = this->peer_number(thread);
    std::uint64_t& to = this->inbox_at(peer).departure;
    std::uint64_t const& from = this->inbox_from(peer).departure;
    if (this->ordering() == Ordering::relaxed && wrote == Wrote::own) {
      // What was loaded has been used by now, or the stores before the barrier could not have been made.
      Access::store_relaxed(to, this->word_of(0));
      this->await(from, peer);
    } else {
      Access::store_release(to, this->word_of(0));
      this->template await<true>(from, peer);
    }
  }

  //! How a loop over `size` elements of these buffers is cut into packs: whole ones where all buffers are aligned alike.
  template <class T, int Sources, int Targets>
  [[nodiscard]] CHEVRON_DEVICE Packing<T> packing_of(PerRank<T const*, Sources> const& from,
                                                     PerRank<T*, Targets> const& to, std::size_t size,
                                                     Workers workers) const {
    unsigned const first = Packs::misalignment(from[0]);
    unsigned differences = 0;
#pragma unroll
    for (int i = 1; i < Sources; ++i) differences |= Packs::misalignment(from[i]) ^ first;
#pragma unroll
    for (int i = 0; i < Targets; ++i) differences |= Packs::misalignment(to[i]) ^ first;
    std::size_t head = size;
    std::size_t packs = 0;
    if (differences == 0) {
      head = (pack_bytes - first) % pack_bytes / sizeof(T);
      head = head < size ? head : size;
      packs = (size - head) / static_cast<std::size_t>(pack_size<T>);
    }
    bool const all_lanes = workers == Workers::all_lanes;
    std::size_t const threads = this->team_threads();
    return {size, head, packs, (all_lanes ? blockIdx.x * threads : 0) + this->team_thread(),
            all_lanes ? gridDim.x * threads : threads};
  }

  //! Runs `store(at, load(at))` for every pack of a packing. Several packs are loaded before the first is stored.
  template <class T, class Load, class Store>
  CHEVRON_DEVICE void for_each_pack(Packing<T> packing, Stores /*stores*/, Load&& load, Store&& store) {
    constexpr int whole = pack_size<T>;
    std::size_t i = packing.first;
    if constexpr (PacksInFlight > 1) {
      std::size_t const last = (PacksInFlight - 1) * packing.stride;
      for (; i + last < packing.packs; i += PacksInFlight * packing.stride) {
        decltype(load(At<whole>{})) all[PacksInFlight];
#pragma unroll
        for (int k = 0; k < PacksInFlight; ++k)
          all[k] = load(At<whole>{packing.head + (i + k * packing.stride) * whole});
        Packs::hold(all);
#pragma unroll
        for (int k = 0; k < PacksInFlight; ++k)
          store(At<whole>{packing.head + (i + k * packing.stride) * whole}, all[k]);
      }
    }
#pragma unroll 1
    for (; i < packing.packs; i += packing.stride) {
      At<whole> const at{packing.head + i * whole};
      decltype(load(at)) all[1] = {load(at)};
      Packs::hold(all);
      store(at, all[0]);
    }
    // One by one: what comes before the first pack, and after the last.
    std::size_t const tail_at = packing.head + packing.packs * whole;
    std::size_t const rest = packing.head + (packing.size - tail_at);
#pragma unroll 1
    for (i = packing.first; i < rest; i += packing.stride) {
      At<1> const at{i < packing.head ? i : tail_at + (i - packing.head)};
      store(at, load(at));
    }
  }

  template <class T, int Size, Stores Kind>
  [[nodiscard]] CHEVRON_DEVICE PerRank<Pack<T, Size>, NRanks> load_all(PerRank<T const*, NRanks> const& from,
                                                                       At<Size, Kind> at) const {
    PerRank<Pack<T, Size>, NRanks> all;
#pragma unroll
    for (int rank = 0; rank < NRanks; ++rank)
      all[rank] = Packs::template load_from_peer<Size>(from[rank] + at.index);
    return all;
  }

  template <class T, int Targets, int Size, Stores Kind>
  CHEVRON_DEVICE void store_all(PerRank<T*, Targets> const& to, At<Size, Kind> at,
                                Pack<T, Size> const& pack) const {
#pragma unroll
    for (int rank = 0; rank < Targets; ++rank) Packs::store_vector(to[rank] + at.index, pack);
  }

  // ---- mailbox: chunks pushed to their owners, results pushed back

  //! Elements of one chunk.
  template <class T>
  [[nodiscard]] CHEVRON_DEVICE std::size_t chunk_capacity() const {
    return this->view().layout.chunk_bytes() / sizeof(T);
  }

  //! Where I put my chunk for `owner`, and where I find the chunk of `source`; `step` counts on from this step.
  template <class T>
  [[nodiscard]] CHEVRON_DEVICE T* contribution_at(int owner, Epoch step) const {
    return Base::template in_inbox<T>(this->inbox_at(owner),
                                      this->view().layout.contributions_at(parity(step)));
  }
  template <class T>
  [[nodiscard]] CHEVRON_DEVICE T const* contribution_from(int source, Epoch step) const {
    return Base::template in_inbox<T>(this->inbox_from(source),
                                      this->view().layout.contributions_at(parity(step)));
  }
  template <class T>
  [[nodiscard]] CHEVRON_DEVICE T* result_at(int peer, Epoch step) const {
    return Base::template in_inbox<T>(this->inbox_at(peer), this->view().layout.results_at(parity(step)));
  }
  template <class T>
  [[nodiscard]] CHEVRON_DEVICE T const* result_from(int owner, Epoch step) const {
    return Base::template in_inbox<T>(this->inbox_from(owner), this->view().layout.results_at(parity(step)));
  }

  template <class T>
  CHEVRON_DEVICE void copy_to_mailbox(T* to, T const* from, std::size_t count) {
    this->wait_for_data();
    Packs::template copy<false>(to, from, count, this->team_thread(), this->team_threads());
  }
  template <class T>
  CHEVRON_DEVICE void copy_from_mailbox(T* to, T const* from, std::size_t count) const {
    Packs::template copy<true>(to, from, count, this->team_thread(), this->team_threads());
  }

  //! Sync: what this lane wrote into the peers' mailboxes is visible to them once they have waited for the same step.
  CHEVRON_DEVICE void post_contributions(Epoch step) {
    post(step, [](CudaInbox& to, Epoch parity) -> std::uint64_t& { return to.contribution[parity]; });
  }
  CHEVRON_DEVICE void post_results(Epoch step) {
    post(step, [](CudaInbox& to, Epoch parity) -> std::uint64_t& { return to.result[parity]; });
  }
  CHEVRON_DEVICE bool await_contributions(Epoch step) {
    return await_all(
        step, [](CudaInbox& from, Epoch parity) -> std::uint64_t& { return from.contribution[parity]; });
  }
  CHEVRON_DEVICE bool await_results(Epoch step) {
    return await_all(step,
                     [](CudaInbox& from, Epoch parity) -> std::uint64_t& { return from.result[parity]; });
  }

  //! Calls `visit(peer)` for every rank but this one, beginning with the next.
  template <class Visit>
  CHEVRON_DEVICE void for_each_peer(Visit&& visit) const {
    for (int i = 0; i < NRanks - 1; ++i) visit(this->peer_number(i));
  }

 private:
  //! Calls `visit.template operator()<rank>()` for every rank: what is indexed by a constant stays in registers.
  template <class Visit>
  CHEVRON_DEVICE static void for_each_rank(Visit&& visit) {
    [&]<int... Rs>(std::integer_sequence<int, Rs...>) { (visit.template operator()<Rs>(), ...); }
    (std::make_integer_sequence<int, NRanks>{});
  }

  using Base::parity;

  // ---- arrival: a thread for each word of each peer

  static constexpr int words = CudaInbox::location_words;
  struct Word {
    int number;           //!< of the message
    std::uint32_t value;  //!< that I send
    int peer;             //!< to and from whom
    bool has_peer;        //!< false for my own words
  };
  template <class T, class Epilogue>
  [[nodiscard]] CHEVRON_DEVICE Word arrival_word(Call<T, Epilogue> const& call, int i) const {
    int const number = i % words;
    std::uint32_t const value =
        number == words - 1 ? this->greeting_digest() : location_word(call.in_at, call.out_at, number);
    return {number, value, this->peer_number(min(i / words, NRanks - 2)), i < (NRanks - 1) * words};
  }

  // ---- where buffers lie: an offset of 48 bits with 16 of the window's number, in two words each

  [[nodiscard]] CHEVRON_DEVICE static std::uint32_t location_word(Location in, Location out, int word) {
    std::uint64_t const offset = word < 2 ? in.offset : out.offset;
    auto const high = static_cast<std::uint32_t>(offset >> 32);
    if ((word & 1) == 0) return static_cast<std::uint32_t>(offset);
    if constexpr (Reach == WindowReach::everywhere) return high;
    return high | (word < 2 ? in.window : out.window) << 16;
  }

  template <int Rank, class T>
  CHEVRON_DEVICE void note_buffers(Arrival<T, NRanks>& all, std::size_t size_bytes, int& unknown) const {
    std::uint64_t const in = shared_.buffers[Rank][0];
    std::uint64_t const out = shared_.buffers[Rank][1];
    if constexpr (Reach == WindowReach::everywhere) {
      all.in[Rank] = reinterpret_cast<T const*>(in);
      all.out[Rank] = reinterpret_cast<T*>(out);
    } else {
      bool const direct = in >> 48 != nowhere && out >> 48 != nowhere;
      all.in[Rank] = reinterpret_cast<T const*>(direct ? resolve(Rank, in, size_bytes) : nullptr);
      all.out[Rank] = reinterpret_cast<T*>(direct ? resolve(Rank, out, size_bytes) : nullptr);
      if (!direct) all.outside = Rank;
      if (direct && size_bytes != 0 && (all.in[Rank] == nullptr || all.out[Rank] == nullptr)) unknown = Rank;
    }
  }

  static constexpr std::uint64_t nowhere = Location::nowhere & 0xffff;

  [[nodiscard]] CHEVRON_DEVICE std::byte* resolve(int rank, std::uint64_t location,
                                                  std::size_t size_bytes) const {
    std::uint64_t const offset = location & 0xffff'ffff'ffff;
    if constexpr (Reach != WindowReach::by_table) {
      return reinterpret_cast<std::byte*>(offset);
    } else {
      View const& view = this->view();
      std::uint64_t const number = location >> 48;
      if (number >= view.window_count) return nullptr;
      CudaWindow<NRanks> const& window = view.windows[number];
      std::uint64_t const size = window.size_bytes[rank];
      if (offset > size || size_bytes > size - offset) return nullptr;
      return window.base[rank] + offset;
    }
  }

  //! A rank's output must be nobody else's buffer. Each rank checks its own against all others', a thread for each, and goes
  //! on: what ranks do to their own buffers meanwhile is theirs, and the communicator is over.
  template <class T>
  CHEVRON_DEVICE void refuse_overlaps(Arrival<T, NRanks> const& all, std::size_t size_bytes) const {
    int const other = static_cast<int>(blockDim.x) - 1 - static_cast<int>(threadIdx.x);
    if (other >= NRanks || other == this->rank()) return;
    auto const at = [&](int rank, int buffer) {
      std::uint64_t const from = shared_.buffers[rank][buffer];
      return Reach == WindowReach::by_table ? reinterpret_cast<std::uint64_t>(resolve(rank, from, size_bytes))
                                            : from & 0xffff'ffff'ffff;
    };
    auto const overlap = [&](std::uint64_t a, std::uint64_t b) {
      return a < b + size_bytes && b < a + size_bytes;
    };
    std::uint64_t const my_in = at(this->rank(), 0);
    std::uint64_t const my_out = at(this->rank(), 1);
    std::uint64_t const its_in = at(other, 0);
    std::uint64_t const its_out = at(other, 1);
    if (overlap(my_out, its_in) || overlap(my_out, its_out) || overlap(my_in, its_out)) {
      this->report(Errc::buffers_overlap, other);
    }
  }

  template <class Flag>
  CHEVRON_DEVICE void post(Epoch step, Flag&& flag) {
    this->meet_team();  // what its threads wrote is thread i's to release
    int const i = static_cast<int>(this->team_thread());
    if (i < NRanks - 1) {
      CudaInbox& to = this->inbox_at(this->peer_number(i));
      Access::store_release(flag(to, parity(step)), this->word_of(0, step));
    }
  }
  template <class Flag>
  CHEVRON_DEVICE bool await_all(Epoch step, Flag&& flag) {
    int const i = static_cast<int>(this->team_thread());
    if (i < NRanks - 1) {
      int const peer = this->peer_number(i);
      this->template await<true>(flag(this->inbox_from(peer), parity(step)), peer, step);
    }
    return this->agree();
  }

  Shared& shared_;
};

}  // namespace chevron

#endif
