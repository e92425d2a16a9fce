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
  void depart(Stores = Stores::temporal) {}
};

template <int NRanks>
struct DepartsWithoutAFence : MutableLane<NRanks> {
  using MutableLane<NRanks>::MutableLane;
  void depart(Stores) { HostLane<NRanks, ExploredAccess>::depart(Stores::temporal); }
};

// ---- packets ---------------------------------------------------------------------------------------------

//! @brief One buffer of packets instead of two.
template <int NRanks>
struct OnePacketBuffer : MutableLane<NRanks> {
  using MutableLane<NRanks>::MutableLane;

  template <class T, int Size>
  void push_to_all(PacketAt<Size> at, Pack<T, Size> const& pack) {
    this->for_each_peer([&](int peer) {
      FlaggedLine& line = this->packets(peer, this->rank())[at.packet];
      T* const to = reinterpret_cast<T*>(line.payload) + at.offset;
      ExploredAccess::writing(to, sizeof(pack));
      std::memcpy(to, &pack, sizeof(pack));
      if (at.is_last) ExploredAccess::store_release(line.stamp, this->stamp());
    });
  }
  template <class T>
  void await_packets(Shard part) {
    this->for_each_peer([&](int peer) {
      FlaggedLine const* const lines = this->packets(this->rank(), peer);
      for (std::size_t i = 0; i < lines_for(part.size(), sizeof(T)); ++i) this->await(lines[i].stamp, peer);
    });
  }
  template <class T, int Size>
  PerRank<Pack<T, Size>, NRanks> receive_from_all(PacketAt<Size> at, Pack<T, Size> const& own) {
    PerRank<Pack<T, Size>, NRanks> all;
    all[this->rank()] = own;
    this->for_each_peer([&](int peer) {
      FlaggedLine const& line = this->packets(this->rank(), peer)[at.packet];
      T const* const from = reinterpret_cast<T const*>(line.payload) + at.offset;
      ExploredAccess::reading(from, sizeof(all[peer]));
      std::memcpy(all[peer].v, from, sizeof(all[peer].v));
    });
    return all;
  }
};

//! @brief A packet's stamp comes before its payload.
template <int NRanks>
struct StampsFirst : MutableLane<NRanks> {
  using MutableLane<NRanks>::MutableLane;

  template <class T, int Size>
  void push_to_all(PacketAt<Size> at, Pack<T, Size> const& pack) {
    auto const buffer = static_cast<std::size_t>(this->parity(this->epoch())) *
                        HostWait<ExploredAccess>::endpoint().layout().packet_lines();
    this->for_each_peer([&](int peer) {
      FlaggedLine& line = this->packets(peer, this->rank())[buffer + at.packet];
      if (at.offset == 0) ExploredAccess::store_release(line.stamp, this->stamp());
      T* const to = reinterpret_cast<T*>(line.payload) + at.offset;
      ExploredAccess::writing(to, sizeof(pack));
      std::memcpy(to, &pack, sizeof(pack));
    });
  }
};

//! @brief A packet's stamp comes after its first piece.
template <int NRanks>
struct StampsTheFirstPiece : MutableLane<NRanks> {
  using MutableLane<NRanks>::MutableLane;

  template <class T, int Size>
  void push_to_all(PacketAt<Size> at, Pack<T, Size> const& pack) {
    at.is_last = at.offset == 0;
    HostLane<NRanks, ExploredAccess>::push_to_all(at, pack);
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
};

// ---- waiting ---------------------------------------------------------------------------------------------

//! @brief Wakes nobody.
template <int NRanks>
struct NeverRings : MutableLane<NRanks> {
  using MutableLane<NRanks>::MutableLane;
  void ring(int) {}
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
  void post_contribution(int owner, Epoch step) {
    ExploredAccess::non_temporal_fence();
    ExploredAccess::store_release(this->inbox_at(owner).contribution[0], this->stamp(step));
  }
  bool await_contribution(int source, Epoch step) {
    return this->await(this->inbox_from(source).contribution[0], source, step);
  }
};

//! @brief One word instead of two for the result flags of the last rank. Where the threads run in the order
//! of their ranks, as far as each gets, nothing happens; only another order shows that a flag can be lost.
template <int NRanks>
struct OneResultFlagOfTheLastRank : MutableLane<NRanks> {
  using MutableLane<NRanks>::MutableLane;
  void post_result(int peer, Epoch step) {
    ExploredAccess::non_temporal_fence();
    ExploredAccess::store_release(this->inbox_at(peer).result[word(this->rank(), step)], this->stamp(step));
  }
  bool await_result(int owner, Epoch step) {
    return this->await(this->inbox_from(owner).result[word(owner, step)], owner, step);
  }

 private:
  static int word(int owner, Epoch step) {
    return owner == NRanks - 1 ? 0 : MutableLane<NRanks>::parity(step);
  }
};

//! @brief The flag is posted before what it announces is copied.
template <int NRanks>
struct PostsBeforeItCopies : MutableLane<NRanks> {
  using Base = MutableLane<NRanks>;
  using Base::Base;

  template <class T>
  void copy_to_mailbox(T* to, T const* from, std::size_t count) {
    to_ = reinterpret_cast<std::byte*>(to);
    from_ = reinterpret_cast<std::byte const*>(from);
    size_bytes_ = count * sizeof(T);
  }
  void post_contribution(int owner, Epoch step) {
    Base::post_contribution(owner, step);
    copy();
  }
  void post_result(int peer, Epoch step) {
    Base::post_result(peer, step);
    copy();
  }

 private:
  void copy() { Base::template copy_to_mailbox<std::byte>(to_, from_, size_bytes_); }

  std::byte* to_ = nullptr;
  std::byte const* from_ = nullptr;
  std::size_t size_bytes_ = 0;
};

//! @brief The flag is posted while the chunk is still on its way past the caches.
template <int NRanks>
struct PostsWithoutAFence : MutableLane<NRanks> {
  using MutableLane<NRanks>::MutableLane;
  void post_contribution(int owner, Epoch step) {
    ExploredAccess::store_release(this->inbox_at(owner).contribution[this->parity(step)], this->stamp(step));
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
        lane.post_contribution(owner, chunk + 1);
      });
    };
    for (Epoch chunk = 0; chunk < Ahead; ++chunk) contribute(chunk);
    for (Epoch chunk = 0; chunk < chunks; ++chunk) {
      contribute(chunk + Ahead);
      Shard const mine = step_of(share(lane.rank()), chunk, capacity);
      PerRank<T const*, Lane::ranks> from{};
      from[lane.rank()] = call.in + mine.begin;
      lane.for_each_peer([&](int peer) {
        lane.await_contribution(peer, chunk + 1);
        from[peer] = lane.template contribution_from<T>(peer, chunk + 1);
      });
      detail::reduce_to_all<Sum>(lane, from, PerRank<T*, 1>{{call.out + mine.begin}}, mine.size(), mine.begin,
                                 call.epilogue, Stores::temporal);
      lane.for_each_peer([&](int peer) {
        lane.copy_to_mailbox(lane.template result_at<T>(peer, chunk + 1), call.out + mine.begin, mine.size());
        lane.post_result(peer, chunk + 1);
      });
      lane.for_each_peer([&](int owner) {
        lane.await_result(owner, chunk + 1);
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
    detail::reduce_to_all<Sum>(lane, detail::advanced(all.in, mine.begin),
                               detail::advanced(all.out, mine.begin), mine.size(), mine.begin, call.epilogue,
                               Stores::temporal);
  }
};

}  // namespace chevron::test

#endif
