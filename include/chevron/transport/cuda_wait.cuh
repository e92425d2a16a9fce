// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef CHEVRON_TRANSPORT_CUDA_WAIT_CUH
#define CHEVRON_TRANSPORT_CUDA_WAIT_CUH

//! @file
//! How a lane of a GPU takes its steps and waits for its peers' words.

#include <chevron/core/error.hpp>
#include <chevron/sync/epoch.hpp>
#include <chevron/transport/cuda_access.cuh>
#include <chevron/transport/cuda_segment.hpp>
#include <chevron/transport/cuda_team.cuh>
#include <chevron/transport/cuda_trouble.cuh>

#include <cstddef>
#include <cstdint>

namespace chevron {

//! @brief The part of a device lane that knows of steps, words and failures, and nothing of data.
//!
//! A lane is a thread block. Each thread waits for its own words, and ok() is what that thread knows; agree() makes it what
//! the block knows.
template <int NRanks, cuda::thread_scope Scope>
class CudaWait {
  using Trouble = CudaTrouble<NRanks, Scope>;

 public:
  using Access = DeviceAccess<Scope>;
  using View = CudaView<NRanks>;

  [[nodiscard]] CHEVRON_DEVICE int rank() const { return view_.rank; }
  [[nodiscard]] CHEVRON_DEVICE int lane() const { return static_cast<int>(blockIdx.x); }
  [[nodiscard]] CHEVRON_DEVICE Epoch epoch() const { return at_.epoch; }
  [[nodiscard]] CHEVRON_DEVICE bool ok() const { return ok_; }

  //! Whether all threads of the team are fine; they meet here.
  [[nodiscard]] CHEVRON_DEVICE bool agree() { return ok_ = team_.agree(ok_); }

  //! Ends the communicator for all ranks: `culprit` did what `code` says.
  CHEVRON_DEVICE void fail(Errc code, int culprit) {
    ok_ = false;
    Trouble::fail(view_, code, culprit, at_.epoch);
  }

  //! The same, but this lane goes on to the call's end.
  CHEVRON_DEVICE void report(Errc code, int culprit) const { Trouble::fail(view_, code, culprit, at_.epoch); }

  //! The next step. Every rank's lane takes the same steps in the same order.
  CHEVRON_DEVICE void begin_step() { ++at_.epoch; }
  CHEVRON_DEVICE void end_steps(Epoch steps) { at_.epoch += steps; }

  //! Nobody sleeps on a device; but what is urgent has been done.
  CHEVRON_DEVICE void ring(int /*ranks*/) { open(); }

  //! Before anything else; what can be worked out without data should be worked out before the first of it is touched.
  //! @param steps  that the call takes from here on
  CHEVRON_DEVICE void begin(Epoch steps) {
    may_go_bare_ = steps == 1 && manner_.packets != PacketKind::flagged;
    if (manner_.let_go != LetGo::when_met) write_steps(at_.epoch + steps);
    if (has_waited_ && manner_.let_go == LetGo::at_once) let_go();
  }

  //! The last thing that all threads of a lane do.
  CHEVRON_DEVICE void finish() {
    open();
    check_greetings();
    if (era_of(at_.first - 1) != era_of(at_.epoch)) enter_era(view_, greeting_, at_);
    if (!has_written_steps_ || team_.is_half()) {
      __syncthreads();  // every peer has been heard by some thread
      write_steps(at_.epoch);
      let_go();
    }
    if (!keeps_books() || lane() != 0) return;
    // Another kernel of this rank at the same time has taken the same steps.
    if (others_ != 0) fail(Errc::concurrent_use, rank());
    Access::add_relaxed(Trouble::head(view_, rank()).kernels, ~std::uint32_t{0});
  }

 protected:
  CHEVRON_DEVICE CudaWait(View const& view, CallGreeting const& greeting, CudaManner manner)
      : view_(view),
        greeting_(greeting),
        manner_(manner),
        digest_(greeting.digest()),
        own_segment_(view.segments[view.rank]),
        outgoing_at_(view.layout.inbox_at(lane(), view.rank)) {
    // The one thing that may be read before earlier kernels have ended: see let_go().
    CudaSteps const before = CudaSteps::of(Access::load_relaxed(steps()));
    at_ = {before.epoch + 1, before.epoch, before.parity};
  }

  [[nodiscard]] CHEVRON_DEVICE View const& view() const { return view_; }
  [[nodiscard]] CHEVRON_DEVICE Ordering ordering() const { return manner_.ordering; }
  //! Whether this call's packets need no flags, if the element has a sentinel.
  [[nodiscard]] CHEVRON_DEVICE bool may_go_bare() const { return may_go_bare_; }
  [[nodiscard]] CHEVRON_DEVICE std::uint32_t greeting_digest() const { return digest_; }
  [[nodiscard]] CHEVRON_DEVICE Epoch call_parity() const { return at_.parity; }

  //! What I write for a peer, and what a peer writes for me.
  [[nodiscard]] CHEVRON_DEVICE CudaInbox& inbox_at(int peer) const {
    return *reinterpret_cast<CudaInbox*>(view_.segments[peer] + outgoing_at_);
  }
  [[nodiscard]] CHEVRON_DEVICE CudaInbox& inbox_from(int peer) const {
    return *reinterpret_cast<CudaInbox*>(own_segment_ + view_.layout.inbox_at(lane(), peer));
  }
  //! Before the first access to data: earlier kernels of the stream have ended when this returns.
  CHEVRON_DEVICE void wait_for_data() {
    if (has_waited_) return;
    has_waited_ = true;
    detail::wait_for_earlier_kernels();
    if (manner_.let_go == LetGo::at_once) let_go();
  }

  //! What each call does once and nobody waits for: as soon as what peers wait for has been done.
  CHEVRON_DEVICE void open() {
    if (has_opened_) return;
    has_opened_ = true;
    wait_for_data();
    if (keeps_books() && lane() == 0) others_ = Access::add_relaxed(Trouble::head(view_, rank()).kernels, 1);
    if (manner_.let_go == LetGo::when_sent) let_go();
    post_greeting();
  }

  //! Writes down where this call will end, for the stream's next kernel, which reads it before all else. The one before this
  //! has written its own, or this one would not be here.
  CHEVRON_DEVICE void write_steps(Epoch last) {
    if (keeps_books() && !has_written_steps_) {
      steps_before_ = Access::exchange_relaxed(steps(), CudaSteps{last, at_.parity ^ 1}.word());
    }
    has_written_steps_ = true;
  }

  //! The stream's next kernel may be brought in, once the steps are written. Not before this one's data is there, or more
  //! than one would be brought in.
  CHEVRON_DEVICE void let_go() {
    // The answer shows that the word has been written. One thread's permission counts for its block.
    if (has_written_steps_ && keeps_books() && static_cast<Epoch>(steps_before_) == at_.first - 1) {
      detail::let_next_kernel_launch();
    }
  }

  //! The threads that work together: all of the lane, until split().
  [[nodiscard]] CHEVRON_DEVICE unsigned team_thread() const { return team_.thread(); }
  [[nodiscard]] CHEVRON_DEVICE unsigned team_threads() const { return team_.threads(); }
  CHEVRON_DEVICE void meet_team() const { team_.meet(); }
  CHEVRON_DEVICE Roles split() { return team_.split(); }

  //! Peer `i` of this rank, 0 to NRanks - 2: the next rank first, so that no peer is everybody's first.
  [[nodiscard]] CHEVRON_DEVICE int peer_number(int i) const { return peer_of(rank(), i); }

  //! A word of this step, or `step` steps on.
  [[nodiscard]] CHEVRON_DEVICE std::uint64_t word_of(std::uint32_t value, Epoch step = 0) const {
    return std::uint64_t{at_.epoch + step} << 32 | value;
  }

  //! Waits until a peer's word of this step (or `step` steps on) is there. Look at ok() before using it.
  template <bool Acquire = false>
  CHEVRON_DEVICE std::uint64_t await(std::uint64_t const& word, int peer, Epoch step = 0) {
    bool ok = true;
    std::uint64_t const seen = await_in<Acquire>(view_, greeting_, at_, word, at_.epoch + step, peer, ok);
    if (!ok) ok_ = false;
    return seen;
  }

  //! All peers have arrived with the same call as this one: that need not be looked at again.
  CHEVRON_DEVICE void note_heard() { has_heard_ = true; }

  //! A peer has arrived with another call.
  CHEVRON_DEVICE void tell_difference(int peer) {
    ok_ = false;
    Trouble::tell_difference(view_, greeting_, at_, peer);
  }

  //! @brief Decides when a thread that waits looks up from its word.
  struct Patience {
    std::uint32_t tries = 0;
    std::uint64_t since = 0;
  };

  //! After a vain look. False: the communicator has failed.
  [[nodiscard]] CHEVRON_DEVICE bool keep_waiting(Patience& patience, int peer) {
    if ((++patience.tries & often) != 0) return true;
    patience.since = Trouble::look_around(view_, greeting_, at_, peer, patience.since);
    if (patience.since == 0) ok_ = false;
    return ok_;
  }

 private:
  static constexpr std::uint32_t often = 1023;

  template <bool Acquire>
  CHEVRON_DEVICE static std::uint64_t await_in(View const& view, CallGreeting const& greeting, CudaMoment at,
                                               std::uint64_t const& word, Epoch wanted, int peer, bool& ok) {
    std::uint64_t since = 0;
    for (std::uint32_t tries = 1;; ++tries) {
      std::uint64_t const seen = Acquire ? Access::load_acquire(word) : Access::load_relaxed(word);
      if (static_cast<Epoch>(seen >> 32) == wanted) return seen;
      if ((tries & often) != 0) continue;
      since = Trouble::look_around(view, greeting, at, peer, since);
      if (since == 0) {
        ok = false;
        return 0;
      }
    }
  }

  [[nodiscard]] CHEVRON_DEVICE static int peer_of(int rank, int i) {
    int const peer = rank + 1 + i;
    return peer < NRanks ? peer : peer - NRanks;
  }
  //! The thread that writes what the lane keeps: the last, which has the least to do.
  [[nodiscard]] CHEVRON_DEVICE static bool keeps_books() { return threadIdx.x == blockDim.x - 1; }
  [[nodiscard]] CHEVRON_DEVICE std::uint64_t& steps() const {
    return *reinterpret_cast<std::uint64_t*>(own_segment_ + CudaSegmentLayout::steps_at(lane()));
  }

  // ---- greetings: each rank tells what it calls when it begins, and looks at what the others call before it ends. Lane 0
  // does so for all: what the others would tell is the same, and on a link each word takes as much as four packs.

  static constexpr int words = CudaInbox::greeting_words;

  //! The threads that greet are the last of the block, which small calls leave idle: which word, of which peer.
  [[nodiscard]] CHEVRON_DEVICE int greeting_number() const {
    return static_cast<int>(blockDim.x) - 1 - static_cast<int>(threadIdx.x);
  }
  [[nodiscard]] CHEVRON_DEVICE bool greets() const {
    return lane() == 0 && greeting_number() < (NRanks - 1) * words;
  }

  CHEVRON_DEVICE void post_greeting() {
    if (!greets()) return;
    int const peer = peer_number(greeting_number() / words);
    int const word = greeting_number() % words;
    Access::store_relaxed(inbox_at(peer).greeting[at_.parity][word],
                          std::uint64_t{at_.first} << 32 | greeting_.words[word]);
  }

  CHEVRON_DEVICE void check_greetings() {
    if (!greets() || !ok_ || has_heard_) return;
    int const peer = peer_number(greeting_number() / words);
    int const word = greeting_number() % words;
    bool ok = true;
    std::uint64_t const seen = await_in<false>(
        view_, greeting_, at_, inbox_from(peer).greeting[at_.parity][word], at_.first, peer, ok);
    if (ok && static_cast<std::uint32_t>(seen) != greeting_.words[word]) {
      Trouble::same_call(view_, greeting_, at_, peer);
    }
  }

  // ---- eras

  //! Words are compared for equality, so one that is 2^32 steps old would pass for new. In the call that ends an era all
  //! ranks therefore wipe the words that others have written for them, between two meetings: before the first somebody may
  //! still be in this call, after the second somebody may already be in the next.
  CHEVRON_DEVICE __noinline__ static void enter_era(View const& view, CallGreeting const& greeting,
                                                    CudaMoment at) {
    meet(view, greeting, at, 0);
    for (int source = 0; source < NRanks; ++source) {
      if (source == view.rank) continue;
      CudaInbox& from = Trouble::inbox(view, view.rank, source);
      auto const all = reinterpret_cast<std::uint64_t*>(&from);
      std::size_t const count = view.layout.packets_at(2) / sizeof(std::uint64_t);
      for (std::size_t i = threadIdx.x; i < count; i += blockDim.x) {
        if (all + i < from.renewal || all + i >= from.renewal + 2)
          Access::store_relaxed(all[i], unwritten(at.epoch));
      }
    }
    meet(view, greeting, at, 1);
  }

  CHEVRON_DEVICE static void meet(View const& view, CallGreeting const& greeting, CudaMoment at, int phase) {
    __syncthreads();
    bool ok = true;
    if (static_cast<int>(threadIdx.x) < NRanks - 1) {
      int const peer = peer_of(view.rank, static_cast<int>(threadIdx.x));
      Access::store_release(Trouble::inbox(view, peer, view.rank).renewal[phase],
                            std::uint64_t{at.first} << 32);
      await_in<true>(view, greeting, at, Trouble::inbox(view, view.rank, peer).renewal[phase], at.first, peer,
                     ok);
    }
    __syncthreads();
  }

  View const& view_;
  CallGreeting const& greeting_;
  CudaManner manner_;
  std::uint32_t digest_;
  std::byte* own_segment_;
  std::uint32_t outgoing_at_;
  CudaTeam team_{};
  CudaMoment at_{};
  std::uint64_t steps_before_ = 0;
  std::uint32_t others_ = 0;  //!< kernels of this rank that were under way when this one began
  bool ok_ = true;
  bool may_go_bare_ = false;
  bool has_waited_ = false;
  bool has_opened_ = false;
  bool has_heard_ = false;
  bool has_written_steps_ = false;
};

}  // namespace chevron

#endif
