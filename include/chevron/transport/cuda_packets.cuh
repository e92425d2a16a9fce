// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef CHEVRON_TRANSPORT_CUDA_PACKETS_CUH
#define CHEVRON_TRANSPORT_CUDA_PACKETS_CUH

//! @file
//! How a lane of a GPU pushes data into mailboxes so that it needs no flag beside it, and receives it. A packet is a pack. It
//! goes in two instructions of two flagged words each, half of which are data; or bare, where a word that is no sentinel is
//! data.

#include <chevron/core/bits.hpp>
#include <chevron/core/element.hpp>
#include <chevron/core/pack.hpp>
#include <chevron/core/rank.hpp>
#include <chevron/core/shard.hpp>
#include <chevron/transport/cuda_packs.cuh>
#include <chevron/transport/cuda_segment.hpp>
#include <chevron/transport/cuda_wait.cuh>

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace chevron {

//! @brief Where a packet lies: its place among the packets of a step, and the elements it carries.
template <int Size>
struct CudaPacketAt {
  static constexpr int size = Size;
  unsigned packet;    //!< the packet's number within the step
  std::size_t index;  //!< the first element
  int valid = Size;   //!< elements that are there; fewer than Size in the last packet
};

//! @brief The part of a device lane that knows of packets. Packet i of a step is handled by the same thread on all ranks and
//! in all steps, which orders its uses.
template <int NRanks, cuda::thread_scope Scope>
class CudaPackets : public CudaWait<NRanks, Scope> {
  using Wait = CudaWait<NRanks, Scope>;
  using typename Wait::Patience;

 public:
  using typename Wait::Access;
  using typename Wait::View;
  using Packs = CudaPacks<Access>;
  template <class T>
  static constexpr int pack_size = Packs::template pack_size<T>;

  //! Elements that one step of packets carries.
  template <class T>
  [[nodiscard]] CHEVRON_DEVICE std::size_t packet_capacity() const {
    return this->view().layout.packet_bytes() / sizeof(T);
  }

  //! A step of packets: pushes `part` of `in` to every peer and receives theirs; `out` gets `reduce(at, all)` of what all
  //! ranks have. Look at ok() afterwards.
  template <class T, class Reduce>
  CHEVRON_DEVICE void exchange_part(Shard part, T const* in, T* out, Reduce&& reduce) {
    in_kind<T>([&](auto kind) CHEVRON_INLINE_LAMBDA {
      uint4 own{};  // a thread's first packet, which for small parts is its only one, is loaded once
      for_each_packet<T>(part, [&](auto at) CHEVRON_INLINE_LAMBDA {
        uint4 const data = Packs::words_of(load(in, at));
        if (at.packet == threadIdx.x) own = data;
#pragma unroll
        for (int i = 0; i < NRanks - 1; ++i) write(kind, this->peer_number(i), at.packet, data);
      });
      this->ring(NRanks);
      for_each_packet<T>(part, [&](auto at) CHEVRON_INLINE_LAMBDA {
        if (at.packet != threadIdx.x) own = Packs::words_of(load(in, at));
        auto const all = receive<T>(kind, at.packet, own);
        if (this->ok() && at.valid != 0) store(out, at, reduce(at, all));
      });
    });
  }

  //! Runs `body(at)` for every packet of a step that carries `part`; at least one, so that ranks with no data meet.
  template <class T, class Body>
  CHEVRON_DEVICE void for_each_packet(Shard part, Body&& body) {
    constexpr unsigned size = pack_size<T>;
    auto const elements = static_cast<unsigned>(part.size());  // of one step
    unsigned const packets = elements == 0 ? 1 : (elements + size - 1) / size;
#pragma unroll 1
    for (unsigned i = threadIdx.x; i < packets && this->ok(); i += blockDim.x) {
      unsigned const left = elements - i * size;
      body(CudaPacketAt<static_cast<int>(size)>{i, part.begin + i * size, static_cast<int>(min(left, size))});
    }
  }

  //! The packets are looked at as they are received.
  template <class T>
  CHEVRON_DEVICE void await_packets(Shard /*part*/) const {}

  template <class T, int Size>
  [[nodiscard]] CHEVRON_DEVICE Pack<T, Size> load(T const* buffer, CudaPacketAt<Size> at) {
    T const* const from = buffer + at.index;
    this->wait_for_data();
    if (at.valid == Size && Packs::misalignment(from) == 0) return Packs::template load_vector<Size>(from);
    return Packs::template load_elements<Size>(from, at.valid);
  }
  template <class T, int Size>
  CHEVRON_DEVICE void store(T* buffer, CudaPacketAt<Size> at, Pack<T, Size> const& pack) const {
    T* const to = buffer + at.index;
    if (at.valid == Size && Packs::misalignment(to) == 0) return Packs::store_vector(to, pack);
    Packs::store_elements(to, at.valid, pack);
  }

  //! Writes one packet into a peer's mailbox, or into every peer's, in flagged words. `step` counts on from this step.
  template <class T, int Size>
  CHEVRON_DEVICE void push_to(int peer, CudaPacketAt<Size> at, Pack<T, Size> const& pack, Epoch step = 0) {
    write(Flagged{step}, peer, at.packet, detail::bit_cast<uint4>(pack));
  }
  template <class T, int Size>
  CHEVRON_DEVICE void push_to_all(CudaPacketAt<Size> at, Pack<T, Size> const& pack, Epoch step = 0) {
#pragma unroll
    for (int i = 0; i < NRanks - 1; ++i) push_to(this->peer_number(i), at, pack, step);
  }

  //! Waits for one packet of a peer that came in flagged words. Look at ok() before using it.
  template <class T, int Size>
  [[nodiscard]] CHEVRON_DEVICE Pack<T, Size> receive_from(int peer, CudaPacketAt<Size> at, Epoch step = 0) {
    return detail::bit_cast<Pack<T, Size>>(read(Flagged{step}, peer, at.packet));
  }

  //! The same of every peer. `own` stands for this rank's own.
  template <class T, int Size>
  [[nodiscard]] CHEVRON_DEVICE PerRank<Pack<T, Size>, NRanks> receive_from_all(CudaPacketAt<Size> at,
                                                                               Pack<T, Size> const& own) {
    return receive<T>(Flagged{}, at.packet, Packs::words_of(own));
  }

 protected:
  using Wait::Wait;

  [[nodiscard]] CHEVRON_DEVICE Epoch parity(Epoch step) const { return (this->epoch() + step) & 1; }

  template <class T>
  [[nodiscard]] CHEVRON_DEVICE static T* in_inbox(CudaInbox& inbox, std::uint32_t at) {
    return reinterpret_cast<T*>(reinterpret_cast<std::byte*>(&inbox) + at);
  }

 private:
  // The two kinds of packets. Code for one is not mixed with code for the other: what runs lies together.

  struct Flagged {
    Epoch step = 0;
  };
  //! For calls of one step: within a call nothing says when a word is empty again.
  struct Bare {};

  template <class T, class Body>
  CHEVRON_DEVICE void in_kind(Body&& body) {
    if constexpr (has_sentinel(ElementTraits<T>::kind)) {
      if (this->may_go_bare()) return body(Bare{});
    }
    body(Flagged{});
  }

  [[nodiscard]] CHEVRON_DEVICE std::byte* place(Flagged kind, CudaInbox& inbox, unsigned number) const {
    return in_inbox<std::byte>(inbox, this->view().layout.packets_at(parity(kind.step)) + 32 * number);
  }
  [[nodiscard]] CHEVRON_DEVICE std::byte* place(Bare, CudaInbox& inbox, unsigned number) const {
    return in_inbox<std::byte>(inbox, this->view().layout.bare_packets_at(this->call_parity()) + 16 * number);
  }

  CHEVRON_DEVICE void write(Flagged kind, int peer, unsigned number, uint4 data) const {
    std::byte* const to = place(kind, this->inbox_at(peer), number);
    auto const word = [&](std::uint32_t value) { return this->word_of(value, kind.step); };
    Access::store_pair_relaxed(to, {word(data.x), word(data.y)});
    Access::store_pair_relaxed(to + 16, {word(data.z), word(data.w)});
  }
  CHEVRON_DEVICE void write(Bare kind, int peer, unsigned number, uint4 data) const {
    auto const words = detail::bit_cast<ulonglong2>(data);
    Access::store_pair_relaxed(place(kind, this->inbox_at(peer), number),
                               {Sentinel::avoid(words.x), Sentinel::avoid(words.y)});
  }

  //! Waits for one packet of a peer.
  [[nodiscard]] CHEVRON_DEVICE uint4 read(Flagged kind, int peer, unsigned number) {
    std::byte const* const from = place(kind, this->inbox_from(peer), number);
    auto const is_here = [&](std::uint64_t word) {
      return static_cast<Epoch>(word >> 32) == this->epoch() + kind.step;
    };
    auto const low = [](std::uint64_t word) { return static_cast<std::uint32_t>(word); };
    Patience patience;
    do {
      ulonglong2 const a = Access::load_pair_relaxed(from);
      ulonglong2 const b = Access::load_pair_relaxed(from + 16);
      if (is_here(a.x) && is_here(a.y) && is_here(b.x) && is_here(b.y))
        return {low(a.x), low(a.y), low(b.x), low(b.y)};
    } while (this->keep_waiting(patience, peer));
    return {};
  }
  [[nodiscard]] CHEVRON_DEVICE uint4 read(Bare kind, int peer, unsigned number) {
    std::byte* const from = place(kind, this->inbox_from(peer), number);
    Patience patience;
    do {
      ulonglong2 const words = Access::load_pair_relaxed(from);
      if (is_data(words)) {
        empty(from);
        return detail::bit_cast<uint4>(words);
      }
    } while (this->keep_waiting(patience, peer));
    return {};
  }
  [[nodiscard]] CHEVRON_DEVICE static bool is_data(ulonglong2 words) {
    return (words.x != Sentinel::word) & (words.y != Sentinel::word);
  }
  //! By the end of this kernel, and so before the peer can be two calls on.
  CHEVRON_DEVICE static void empty(std::byte* packet) {
    Access::store_pair_relaxed(packet, {Sentinel::word, Sentinel::word});
  }

  //! Waits for one packet of every peer. Look at ok() before using it.
  template <class T, class Kind>
  [[nodiscard]] CHEVRON_DEVICE PerRank<Pack<T, pack_size<T>>, NRanks> receive(Kind kind, unsigned number,
                                                                              uint4 own) {
    PerRank<uint4, NRanks> all{};
    if constexpr (NRanks > 2 && std::is_same_v<Kind, Bare>) {
      if (!look_at_all(number, own, all)) return {};
    } else {
#pragma unroll
      for (int rank = 0; rank < NRanks; ++rank)
        all[rank] = rank == this->rank() ? own : read(kind, rank, number);
    }
    return Packs::template as_packs<T>(all);
  }

  //! Looks at the bare packets of all peers at once until all are there: one after the other would take as many times the way
  //! to memory.
  [[nodiscard]] CHEVRON_DEVICE bool look_at_all(unsigned number, uint4 own, PerRank<uint4, NRanks>& all) {
    constexpr int at_once = NRanks < 8 ? NRanks : 8;
    std::size_t const stride = this->view().layout.inbox_bytes();
    std::byte* const packets = place(Bare{}, this->inbox_from(0), number);
    Patience patience;
#pragma unroll
    for (int first = 0; first < NRanks; first += at_once) {
      ulonglong2 seen[at_once];
      unsigned missing;
      do {
        // Worked with anew each time: else the compiler keeps what follows from them for every rank.
        int me = this->rank();
        std::byte* from = packets;
        asm volatile("" : "+r"(me), "+l"(from));
#pragma unroll
        for (int i = 0; i < at_once && first + i < NRanks; ++i)
          seen[i] = Access::load_pair_relaxed(from + static_cast<std::size_t>(first + i) * stride);
        Packs::hold(seen);
        missing = 0;  // without branches, which would have each load waited for before the next
#pragma unroll
        for (int i = 0; i < at_once && first + i < NRanks; ++i) missing |= (is_data(seen[i]) ? 0u : 1u) << i;
        if (me >= first && me < first + at_once) missing &= ~(1u << (me - first));
      } while (missing != 0 && this->keep_waiting(patience, first + __ffs(static_cast<int>(missing)) - 1));
      if (missing != 0) return false;
#pragma unroll
      for (int i = 0; i < at_once && first + i < NRanks; ++i) {
        all[first + i] = first + i == this->rank() ? own : detail::bit_cast<uint4>(seen[i]);
        empty(packets + static_cast<std::size_t>(first + i) * stride);  // nobody writes a rank's own
      }
    }
    return true;
  }
};

}  // namespace chevron

#endif
