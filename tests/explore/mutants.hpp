// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef CHEVRON_TESTS_EXPLORE_MUTANTS_HPP
#define CHEVRON_TESTS_EXPLORE_MUTANTS_HPP

//! @file
//! Lanes and bodies with one mistake each. The explorer must find all of them.

#include "explored_access.hpp"
#include "scenario.hpp"

#include <chevron/algorithm/all_reduce/reduce_to_all.hpp>
#include <chevron/core/call.hpp>
#include <chevron/core/pack.hpp>
#include <chevron/core/shard.hpp>
#include <chevron/sync/epoch.hpp>
#include <chevron/sync/packet.hpp>
#include <chevron/transport/host_lane.hpp>
#include <chevron/transport/host_wait.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>

namespace chevron::test {

//! @brief The library's lane; what a mutant has of its own hides it.
template <int NRanks>
class MutableLane : public HostLane<NRanks, ExploredAccess> {
  using Wait = HostWait<ExploredAccess>;

 public:
  using HostLane<NRanks, ExploredAccess>::HostLane;

 protected:
  static constexpr int parity(Epoch step) { return static_cast<int>(step & 1); }
  Inbox& inbox_at(int peer) const { return Wait::inbox_at(peer); }
  Inbox const& inbox_from(int peer) const { return Wait::inbox_from(peer); }
  std::uint64_t stamp(Epoch step = 0) const { return Wait::stamp(step); }
  FlaggedLine* packets(int owner, int source) const {
    SegmentLayout const& layout = Wait::endpoint().layout();
    std::byte* const inbox = Wait::endpoint().segment(owner).inbox(layout, this->lane(), source);
    return reinterpret_cast<FlaggedLine*>(inbox + SegmentLayout::packets_at());
  }
};

// ---- departures ------------------------------------------------------------------------------------------

template <int NRanks>
struct NeverDeparts : MutableLane<NRanks> {
  using MutableLane<NRanks>::MutableLane;
  void depart(Stores = Stores::temporal, Wrote = Wrote::all) {}
};

template <int NRanks>
struct DepartsWithoutAFence : MutableLane<NRanks> {
  using MutableLane<NRanks>::MutableLane;
  void depart(Stores, Wrote wrote = Wrote::all) {
    HostLane<NRanks, ExploredAccess>::depart(Stores::temporal, wrote);
  }
};

// ---- packets ---------------------------------------------------------------------------------------------

//! @brief Packets in another buffer than the library's: in `Buffer(epoch, step)`.
template <int NRanks, int (*Buffer)(Epoch epoch, Epoch step)>
struct OtherPacketBuffer : MutableLane<NRanks> {
  using MutableLane<NRanks>::MutableLane;

  template <class T, int Size>
  void push_to(int peer, PacketAt<Size> at, Pack<T, Size> const& pack, Epoch step = 0) {
    FlaggedLine& line = lines(peer, this->rank(), step)[at.packet];
    T* const to = reinterpret_cast<T*>(line.payload) + at.offset;
    ExploredAccess::writing(to, sizeof(pack));
    std::memcpy(to, &pack, sizeof(pack));
    if (at.is_last) ExploredAccess::store_release(line.stamp, this->stamp(step));
  }
  template <class T, int Size>
  void push_to_all(PacketAt<Size> at, Pack<T, Size> const& pack, Epoch step = 0) {
    this->for_each_peer([&](int peer) { push_to(peer, at, pack, step); });
  }
  template <class T>
  void await_packets(Shard) {}  // they are awaited one by one
  template <class T, int Size>
  Pack<T, Size> receive_from(int peer, PacketAt<Size> at, Epoch step = 0) {
    Pack<T, Size> pack;
    FlaggedLine const& line = lines(this->rank(), peer, step)[at.packet];
    this->await(line.stamp, peer, step);
    T const* const from = reinterpret_cast<T const*>(line.payload) + at.offset;
    ExploredAccess::reading(from, sizeof(pack));
    std::memcpy(pack.v, from, sizeof(pack.v));
    return pack;
  }
  template <class T, int Size>
  PerRank<Pack<T, Size>, NRanks> receive_from_all(PacketAt<Size> at, Pack<T, Size> const& own) {
    PerRank<Pack<T, Size>, NRanks> all;
    all[this->rank()] = own;
    this->for_each_peer([&](int peer) { all[peer] = receive_from<T>(peer, at); });
    return all;
  }
  template <class T, class Reduce>
  void exchange_part(Shard part, T const* in, T* out, Reduce&& reduce) {
    this->exchange_part_on(*this, part, in, out, reduce);
  }

 private:
  FlaggedLine* lines(int owner, int source, Epoch step) const {
    return this->packets(owner, source) + static_cast<std::size_t>(Buffer(this->epoch(), step)) *
                                              HostWait<ExploredAccess>::endpoint().layout().packet_lines();
  }
};

constexpr int first_buffer(Epoch, Epoch) { return 0; }
constexpr int buffer_of_the_round(Epoch epoch, Epoch) { return static_cast<int>(epoch & 1); }
constexpr int buffer_of_the_step(Epoch epoch, Epoch step) { return static_cast<int>((epoch + step) & 1); }

//! @brief One buffer of packets instead of two.
template <int NRanks>
using OnePacketBuffer = OtherPacketBuffer<NRanks, first_buffer>;
//! @brief The results of a round in the buffer of its contributions.
template <int NRanks>
using OnePacketBufferARound = OtherPacketBuffer<NRanks, buffer_of_the_round>;
//! @brief No mistake: what the two above differ from by the buffer alone.
template <int NRanks>
using TwoPacketBuffers = OtherPacketBuffer<NRanks, buffer_of_the_step>;

//! @brief A packet's stamp comes before its payload.
template <int NRanks>
struct StampsFirst : MutableLane<NRanks> {
  using MutableLane<NRanks>::MutableLane;

  template <class T, int Size>
  void push_to(int peer, PacketAt<Size> at, Pack<T, Size> const& pack, Epoch step = 0) {
    auto const buffer = static_cast<std::size_t>(this->parity(this->epoch() + step)) *
                        HostWait<ExploredAccess>::endpoint().layout().packet_lines();
    FlaggedLine& line = this->packets(peer, this->rank())[buffer + at.packet];
    if (at.offset == 0) ExploredAccess::store_release(line.stamp, this->stamp(step));
    T* const to = reinterpret_cast<T*>(line.payload) + at.offset;
    ExploredAccess::writing(to, sizeof(pack));
    std::memcpy(to, &pack, sizeof(pack));
  }
  template <class T, int Size>
  void push_to_all(PacketAt<Size> at, Pack<T, Size> const& pack, Epoch step = 0) {
    this->for_each_peer([&](int peer) { push_to(peer, at, pack, step); });
  }
  template <class T, class Reduce>
  void exchange_part(Shard part, T const* in, T* out, Reduce&& reduce) {
    this->exchange_part_on(*this, part, in, out, reduce);
  }
};

//! @brief A packet's stamp comes after its first piece.
template <int NRanks>
struct StampsTheFirstPiece : MutableLane<NRanks> {
  using MutableLane<NRanks>::MutableLane;

  template <class T, int Size>
  void push_to_all(PacketAt<Size> at, Pack<T, Size> const& pack, Epoch step = 0) {
    at.is_last = at.offset == 0;
    HostLane<NRanks, ExploredAccess>::push_to_all(at, pack, step);
  }
  template <class T, class Reduce>
  void exchange_part(Shard part, T const* in, T* out, Reduce&& reduce) {
    this->exchange_part_on(*this, part, in, out, reduce);
  }
};

//! @brief Who has nothing to say sends no packet.
template <int NRanks>
struct SilentWithoutData : MutableLane<NRanks> {
  using MutableLane<NRanks>::MutableLane;
  template <class T, class Visit>
  void for_each_packet(Shard part, Visit&& visit) {
    if (!part.empty()) HostLane<NRanks, ExploredAccess>::template for_each_packet<T>(part, visit);
  }
  template <class T>
  void await_packets(Shard part) {
    if (!part.empty()) HostLane<NRanks, ExploredAccess>::template await_packets<T>(part);
  }
  template <class T, class Reduce>
  void exchange_part(Shard part, T const* in, T* out, Reduce&& reduce) {
    this->exchange_part_on(*this, part, in, out, reduce);
  }
};

// ---- waiting ---------------------------------------------------------------------------------------------

//! @brief Wakes nobody.
template <int NRanks>
struct NeverRings : MutableLane<NRanks> {
  using MutableLane<NRanks>::MutableLane;
  void ring(int) {}
  template <class T, class Reduce>
  void exchange_part(Shard part, T const* in, T* out, Reduce&& reduce) {
    this->exchange_part_on(*this, part, in, out, reduce);
  }
};

// ---- mailboxes -------------------------------------------------------------------------------------------

//! @brief One buffer of contributions instead of two.
template <int NRanks>
struct OneContributionBuffer : MutableLane<NRanks> {
  using Base = MutableLane<NRanks>;
  using Base::Base;
  template <class T>
  T* contribution_at(int owner, Epoch step) const {
    return Base::template contribution_at<T>(owner, step - (this->epoch() + step) % 2);
  }
  template <class T>
  T const* contribution_from(int source, Epoch step) const {
    return Base::template contribution_from<T>(source, step - (this->epoch() + step) % 2);
  }
};

//! @brief One buffer of results instead of two.
template <int NRanks>
struct OneResultBuffer : MutableLane<NRanks> {
  using Base = MutableLane<NRanks>;
  using Base::Base;
  template <class T>
  T* result_at(int peer, Epoch step) const {
    return Base::template result_at<T>(peer, step - (this->epoch() + step) % 2);
  }
  template <class T>
  T const* result_from(int owner, Epoch step) const {
    return Base::template result_from<T>(owner, step - (this->epoch() + step) % 2);
  }
};

//! @brief One word for the contribution flags instead of two.
template <int NRanks>
struct OneContributionFlag : MutableLane<NRanks> {
  using MutableLane<NRanks>::MutableLane;
  void post_contributions(Epoch step) {
    ExploredAccess::non_temporal_fence();
    this->for_each_peer([&](int owner) {
      ExploredAccess::store_release(this->inbox_at(owner).contribution[0], this->stamp(step));
    });
  }
  bool await_contributions(Epoch step) {
    this->for_each_peer(
        [&](int source) { this->await(this->inbox_from(source).contribution[0], source, step); });
    return this->ok();
  }
};

//! @brief One word instead of two for the result flags of the last rank. Where the threads run in the order
//! of their ranks, as far as each gets, nothing happens; only another order shows that a flag can be lost.
template <int NRanks>
struct OneResultFlagOfTheLastRank : MutableLane<NRanks> {
  using MutableLane<NRanks>::MutableLane;
  void post_results(Epoch step) {
    ExploredAccess::non_temporal_fence();
    this->for_each_peer([&](int peer) {
      ExploredAccess::store_release(this->inbox_at(peer).result[word(this->rank(), step)], this->stamp(step));
    });
  }
  bool await_results(Epoch step) {
    this->for_each_peer(
        [&](int owner) { this->await(this->inbox_from(owner).result[word(owner, step)], owner, step); });
    return this->ok();
  }

 private:
  static int word(int owner, Epoch step) {
    return owner == NRanks - 1 ? 0 : MutableLane<NRanks>::parity(step);
  }
};

//! @brief The flags are posted before what they announce is copied.
template <int NRanks>
struct PostsBeforeItCopies : MutableLane<NRanks> {
  using Base = MutableLane<NRanks>;
  using Base::Base;

  template <class T>
  void copy_to_mailbox(T* to, T const* from, std::size_t count) {
    copies_.push_back(
        {reinterpret_cast<std::byte*>(to), reinterpret_cast<std::byte const*>(from), count * sizeof(T)});
  }
  void post_contributions(Epoch step) {
    Base::post_contributions(step);
    copy();
  }
  void post_results(Epoch step) {
    Base::post_results(step);
    copy();
  }

 private:
  struct Copy {
    std::byte* to;
    std::byte const* from;
    std::size_t size_bytes;
  };

  void copy() {
    for (Copy const& late : copies_) {
      Base::template copy_to_mailbox<std::byte>(late.to, late.from, late.size_bytes);
    }
    copies_.clear();
  }

  std::vector<Copy> copies_{};
};

//! @brief The flag is posted while the chunk is still on its way past the caches.
template <int NRanks>
struct PostsWithoutAFence : MutableLane<NRanks> {
  using MutableLane<NRanks>::MutableLane;
  void post_contributions(Epoch step) {
    this->for_each_peer([&](int owner) {
      ExploredAccess::store_release(this->inbox_at(owner).contribution[this->parity(step)],
                                    this->stamp(step));
    });
  }
};

//! @brief Past the caches, and the flag of the results is posted while they are still on their way.
template <int NRanks>
struct PostsResultsWithoutAFence : MutableLane<NRanks> {
  using MutableLane<NRanks>::MutableLane;
  void post_results(Epoch step) {
    this->for_each_peer([&](int peer) {
      ExploredAccess::store_release(this->inbox_at(peer).result[this->parity(step)], this->stamp(step));
    });
  }
};

//! @brief The flag of a chunk's results is posted as soon as its contributions have come, before the results are stored.
template <int NRanks>
struct PostsResultsFirst : MutableLane<NRanks> {
  using Base = MutableLane<NRanks>;
  using Base::Base;
  bool await_contributions(Epoch step) {
    bool const fine = Base::await_contributions(step);
    Base::post_results(step);
    return fine;
  }
  void post_results(Epoch) {}
};

//! @brief Does not await the results of the steps `First` to `Last` of a call.
template <int NRanks, Epoch First, Epoch Last>
struct IgnoresResults : MutableLane<NRanks> {
  using Base = MutableLane<NRanks>;
  using Base::Base;
  bool await_results(Epoch step) {
    return step >= First && step <= Last ? this->ok() : Base::await_results(step);
  }
};

//! @brief A call whose steps are taken again by the next: neither its arrival nor its chunks are counted.
template <int NRanks>
struct CountsNoSteps : MutableLane<NRanks> {
  using Base = MutableLane<NRanks>;
  using Base::Base;
  void end_steps(Epoch) { Base::end_steps(0u - 1); }
};

//! @brief The last rank does not count the steps that its chunks took.
template <int NRanks>
struct CountsOtherSteps : MutableLane<NRanks> {
  using Base = MutableLane<NRanks>;
  using Base::Base;
  void end_steps(Epoch steps) {
    if (this->rank() != NRanks - 1) Base::end_steps(steps);
  }
};

// ---- bodies ----------------------------------------------------------------------------------------------

//! @brief The staged all-reduce with contributions that run `Ahead` chunks ahead: the library's does one.
template <Epoch Ahead>
struct StagedAhead {
  template <class Lane, class T>
  static void run(Lane& lane, Call<T, Identity> const& call, Body body) {
    if (body != Body::staged) return LibraryBodies::run(lane, call, body);
    auto const share = [&](int owner) {
      return shard_of<Lane::ranks>(call.count, owner, Lane::template granule<T>);
    };
    std::size_t const capacity = lane.template chunk_capacity<T>();
    auto const chunks = static_cast<Epoch>((share(0).size() + capacity - 1) / capacity);
    auto const contribute = [&](Epoch chunk) {
      if (chunk >= chunks) return;
      lane.for_each_peer([&](int owner) {
        Shard const part = step_of(share(owner), chunk, capacity);
        lane.copy_to_mailbox(lane.template contribution_at<T>(owner, chunk + 1), call.in + part.begin,
                             part.size());
      });
      lane.post_contributions(chunk + 1);
    };
    for (Epoch chunk = 0; chunk < Ahead; ++chunk) contribute(chunk);
    for (Epoch chunk = 0; chunk < chunks; ++chunk) {
      contribute(chunk + Ahead);
      Shard const mine = step_of(share(lane.rank()), chunk, capacity);
      PerRank<T const*, Lane::ranks> from{};
      from[lane.rank()] = call.in + mine.begin;
      lane.await_contributions(chunk + 1);
      lane.for_each_peer([&](int peer) { from[peer] = lane.template contribution_from<T>(peer, chunk + 1); });
      detail::reduce_to_all<Sum>(lane, Workers::this_lane, from, PerRank<T*, 1>{{call.out + mine.begin}},
                                 mine.size(), mine.begin, call.epilogue, Stores::temporal);
      lane.for_each_peer([&](int peer) {
        lane.copy_to_mailbox(lane.template result_at<T>(peer, chunk + 1), call.out + mine.begin, mine.size());
      });
      lane.post_results(chunk + 1);
      lane.await_results(chunk + 1);
      lane.for_each_peer([&](int owner) {
        Shard const part = step_of(share(owner), chunk, capacity);
        lane.copy_from_mailbox(call.out + part.begin, lane.template result_from<T>(owner, chunk + 1),
                               part.size());
      });
    }
    lane.end_steps(chunks);
  }
};

//! @brief Tells the peers that it is done before it moves anything.
struct DepartsFirst {
  template <class Lane, class T>
  static void run(Lane& lane, Call<T, Identity> const& call, Body) {
    constexpr int n = Lane::ranks;
    auto const all = lane.template arrive<T>(call);
    lane.depart();
    Shard const mine = shard_of<n>(call.count, lane.rank(), Lane::template granule<T>);
    detail::reduce_to_all<Sum>(lane, Workers::all_lanes, detail::advanced(all.in, mine.begin),
                               detail::advanced(all.out, mine.begin), mine.size(), mine.begin, call.epilogue,
                               Stores::temporal);
  }
};

//! @brief Pulls everybody's input where a rank's output is its input, as where it is not.
struct PullsInPlace {
  template <class Lane, class T>
  static void run(Lane& lane, Call<T, Identity> const& call, Body) {
    auto const all = lane.template arrive<T>(call);
    detail::reduce_to_all<Sum>(lane, Workers::all_lanes, all.in, PerRank<T*, 1>{{call.out}}, call.count, 0,
                               call.epilogue, call.stores);
    lane.depart(call.stores, Wrote::own);
  }
};

//! @brief The two-shot push whose next round's contributions are pushed before this round's results have come: the
//! library's are pushed afterwards.
template <bool BeforeTheResults>
struct TwoShotAhead {
  template <class Lane, class T>
  static void run(Lane& lane, Call<T, Identity> const& call, Body body) {
    if (body != Body::two_shot) return LibraryBodies::run(lane, call, body);
    auto const share = [&](int owner) {
      return shard_of<Lane::ranks>(call.count, owner, Lane::template granule<T>);
    };
    std::size_t const capacity = lane.template packet_capacity<T>();
    std::size_t const rounds = share(0).empty() ? 1 : (share(0).size() + capacity - 1) / capacity;
    auto const part = [&](int owner, std::size_t round) { return step_of(share(owner), round, capacity); };
    auto const contribute = [&](std::size_t round) {
      if (round >= rounds) return;
      lane.for_each_peer([&](int owner) {
        lane.template for_each_packet<T>(part(owner, round), [&](auto at) {
          lane.push_to(owner, at, lane.load(call.in, at), static_cast<Epoch>(2 * round));
        });
      });
    };
    lane.begin_step();
    contribute(0);
    for (std::size_t round = 0; round < rounds; ++round) {
      auto const step = static_cast<Epoch>(2 * round);
      lane.template for_each_packet<T>(part(lane.rank(), round), [&](auto at) {
        auto const own = lane.load(call.in, at);
        PerRank<Pack<T, decltype(at)::size>, Lane::ranks> all;
        all[lane.rank()] = own;
        lane.for_each_peer([&](int peer) { all[peer] = lane.template receive_from<T>(peer, at, step); });
        auto const result = finish_pack<T>(call.epilogue, reduce_in_rank_order<Sum>(all), at.index, at.valid);
        if (at.valid != 0) lane.store(call.out, at, result);
        lane.push_to_all(at, result, step + 1);
      });
      if (BeforeTheResults) contribute(round + 1);
      lane.for_each_peer([&](int owner) {
        lane.template for_each_packet<T>(part(owner, round), [&](auto at) {
          auto const result = lane.template receive_from<T>(owner, at, step + 1);
          if (at.valid != 0) lane.store(call.out, at, result);
        });
      });
      if (!BeforeTheResults) contribute(round + 1);
    }
    lane.end_steps(static_cast<Epoch>(2 * rounds - 1));
  }
};

}  // namespace chevron::test

#endif
