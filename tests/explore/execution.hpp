// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef CHEVRON_TESTS_EXPLORE_EXECUTION_HPP
#define CHEVRON_TESTS_EXPLORE_EXECUTION_HPP

//! @file
//! One execution of a program of several threads, which run on fibers of one thread of the system: before
//! each access to a shared word a strategy decides who goes on.

#include "clock.hpp"
#include "fiber.hpp"
#include "memory_map.hpp"
#include "program.hpp"
#include "race_detector.hpp"
#include "strategy.hpp"
#include "trace.hpp"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace chevron::test {

class Execution {
 public:
  enum class End : unsigned char { complete, given_up, failed };

  explicit Execution(Program& program, Weakened weakened = {}) : program_(program), weakened_(weakened) {
    detector_.watch(program.memory.base(), program.memory.size_bytes());
    released_.resize(program.memory.size_bytes() / sizeof(std::uint32_t));
    for (int id = 0; id < program.threads; ++id) {
      threads_.push_back(std::make_unique<Thread>([this, id] { live(id); }));
    }
  }
  Execution(Execution const&) = delete;
  Execution& operator=(Execution const&) = delete;
  ~Execution() = default;

  //! The execution that the calling code is part of.
  [[nodiscard]] static Execution& current() { return *current_; }

  End run(Strategy& strategy) {
    restart(strategy);
    for (std::size_t id = 0; id < threads_.size() && !over_; ++id) resume(static_cast<int>(id));
    preparing_ = false;
    if (!over_) {
      int const first = pick_thread();
      if (first >= 0) resume(first);
    }
    unwind();
    current_ = nullptr;
    if (finding_) return End::failed;
    return given_up_ ? End::given_up : End::complete;
  }

  [[nodiscard]] std::optional<Finding> const& finding() const { return finding_; }
  [[nodiscard]] std::size_t steps() const { return trace_.size(); }

  // ---- what the threads of the program do ----------------------------------------------------------------

  template <class Word>
  Word load(Word const& word, bool acquires) {
    auto const address = reinterpret_cast<std::uintptr_t>(&word);
    Role const role = role_of_word(address);
    if (weakened_.waits == role) return static_cast<Word>(self().last_stored);
    before({Op::load, address});
    Thread& me = self();
    me.clock_before_look = me.clock;
    if (acquires && weakened_.loads != role) me.clock.join(released(address));
    std::uint64_t value = word;
    for (Buffered const& store : me.stores) {
      if (store.address == address) value = store.value;
    }
    trace_.add({running_, acquires ? "load acquire" : "load relaxed", address, value});
    return static_cast<Word>(value);
  }

  template <class Word>
  void store(Word& word, Word value, bool releases) {
    auto const address = reinterpret_cast<std::uintptr_t>(&word);
    Role const role = role_of_word(address);
    releases = releases && weakened_.stores != role;
    if (weakened_.waits == role) self().last_stored = value;
    auto const perform = [](std::uintptr_t at, std::uint64_t what) {
      *reinterpret_cast<Word*>(at) = static_cast<Word>(what);
    };
    if (!program_.store_buffers) before({Op::store, address});
    Thread& me = self();
    Buffered const store{address, value, releases ? me.clock : Clock{}, perform,
                         releases ? "store release" : "store relaxed"};
    if (releases) tick();
    if (program_.store_buffers) {
      me.stores.push_back(store);
      strategy_->buffered(running_, drain_of(running_));
    } else {
      become_visible(running_, store);
    }
  }

  //! Replaces the value by `change(value)`, indivisibly, with acquire and release; returns the one before.
  template <class Word, class Change>
  Word update(Word& word, Change&& change) {
    auto const address = reinterpret_cast<std::uintptr_t>(&word);
    role_of_word(address);
    before({Op::update, address});
    Thread& me = self();
    me.clock.join(released(address));
    released(address).join(me.clock);
    tick();
    Word const was = word;
    word = change(was);
    trace_.add({running_, "update", address, word});
    wake_those_that_wait_for(address);
    return was;
  }

  void fence() {
    if (program_.store_buffers && !weakened_.no_fences) before({Op::fence, 0});
  }

  //! The value just loaded from `word` was not the one wanted, and the thread will look again.
  template <class Word>
  void pause(Word const& word) {
    if (!program_.spins) return;
    auto const address = reinterpret_cast<std::uintptr_t>(&word);
    Thread& me = self();
    if (!trace_.take_back(running_, address)) return;
    me.clock = me.clock_before_look;
    me.blocked_on = address;
    strategy_->fruitless(running_, {Op::load, address});
  }

  //! Sleeps unless `word` has changed since it was `expected`; until somebody wakes those that sleep on it.
  void sleep_on(std::uint32_t const& word, std::uint32_t expected) {
    if (load(word, false) != expected) return;
    Thread& me = self();
    me.sleeps_on = reinterpret_cast<std::uintptr_t>(&word);
    before({Op::load, me.sleeps_on});
    trace_.add({running_, "woken on", reinterpret_cast<std::uintptr_t>(&word), word});
  }
  void wake(std::uint32_t const& word) {
    auto const address = reinterpret_cast<std::uintptr_t>(&word);
    before({Op::update, address});
    trace_.add({running_, "wake", address, word});
    for (auto const& thread : threads_) {
      if (thread->sleeps_on == address) thread->sleeps_on = 0;
    }
  }

  void reading(void const* data, std::size_t size_bytes) {
    if (size_bytes == 0) return;
    check_place(data, size_bytes, "reads");
    report(detector_.read(running_, self().clock, data, size_bytes), "reads");
  }
  void writing(void const* data, std::size_t size_bytes) {
    if (size_bytes == 0) return;
    check_place(data, size_bytes, "writes");
    report(detector_.write(running_, self().clock, data, size_bytes), "writes");
  }
  void writing_past_caches(void const* data, std::size_t size_bytes) {
    check_place(data, size_bytes, "writes");
    report(detector_.write_past_caches(running_, self().clock, data, size_bytes), "writes");
  }
  void non_temporal_fence() {
    if (!weakened_.no_fences) detector_.fence(running_, self().clock);
  }

  //! How many bytes of any buffer the calling thread may touch at present.
  void allow_of_buffers(std::size_t size_bytes) { self().buffer_bytes = size_bytes; }

  [[noreturn]] void fail(Finding::Kind kind, std::string const& what) {
    note(kind, what);
    throw Abandoned{};
  }

 private:
  static constexpr std::size_t most_steps = 20000;

  struct Abandoned {};

  struct Buffered {
    std::uintptr_t address;
    std::uint64_t value;
    Clock clock;  //!< what the store releases
    void (*perform)(std::uintptr_t, std::uint64_t);
    char const* what;
  };

  struct Thread {
    explicit Thread(std::function<void()> body) : fiber(std::move(body)) {}
    Fiber fiber;
    Op next{};
    std::uintptr_t blocked_on = 0;
    std::uintptr_t sleeps_on = 0;
    std::size_t buffer_bytes = 0;
    std::uint64_t last_stored = 0;  //!< to a word for whose likes it does not wait
    bool done = false;
    Clock clock{};
    Clock clock_before_look{};
    std::deque<Buffered> stores{};  //!< that only this thread sees as yet
  };

  void restart(Strategy& strategy) {
    current_ = this;
    strategy_ = &strategy;
    preparing_ = true;
    over_ = given_up_ = unwinding_ = false;
    finding_.reset();
    trace_.clear();
    detector_.restart();
    for (std::size_t const word : words_used_) released_[word] = {};
    words_used_.clear();
    int id = 0;
    for (auto const& thread : threads_) {
      thread->next = {};
      thread->blocked_on = thread->sleeps_on = 0;
      thread->buffer_bytes = 0;
      thread->done = false;
      thread->clock = {};
      thread->clock[id++] = 1;
      thread->stores.clear();
    }
    program_.restart();
  }

  //! A fiber runs its thread again and again, once per execution.
  void live(int id) {
    for (;;) {
      try {
        program_.run(id);
      } catch (Abandoned const&) {
      }
      Thread& me = *threads_[static_cast<std::size_t>(id)];
      me.done = true;
      if (over_ || preparing_) {
        me.fiber.hand_over_to(main_);
      } else {
        hand_on();
      }
    }
  }

  void resume(int id) {
    running_ = id;
    main_.hand_over_to(self().fiber);
  }

  //! Ends the threads of an execution that was broken off, so that what is on their stacks is destroyed.
  void unwind() {
    unwinding_ = true;
    for (std::size_t id = 0; id < threads_.size(); ++id) {
      bool const begun = threads_[id]->next.kind != Op::begin;
      if (begun && !threads_[id]->done) resume(static_cast<int>(id));
    }
  }

  //! Returns when the running thread may perform `op`.
  void before(Op op) {
    Thread& me = self();
    me.next = op;
    if (me.blocked_on != op.word) me.blocked_on = 0;
    if (preparing_) {
      me.fiber.hand_over_to(main_);
    } else {
      hand_on();
    }
    if (unwinding_) throw Abandoned{};
    if (trace_.size() > most_steps) fail(Finding::endless, "does not end");
    strategy_->performed(running_, op);
  }

  //! Lets the strategy choose, and returns when the calling thread is chosen, or unwound.
  void hand_on() {
    Thread& me = self();
    int const self_id = running_;
    int const next = pick_thread();
    if (next == self_id) return;
    if (next >= 0) running_ = next;
    me.fiber.hand_over_to(next >= 0 ? self().fiber : main_);
  }

  //! The thread to go on, after as many stores as the strategy lets become visible first; -1 when all is
  //! over.
  int pick_thread() {
    for (;;) {
      Crossroads const at = crossroads();
      if (at.ready == 0) {
        finish();
        return -1;
      }
      int const next = strategy_->choose(at);
      if (next == Strategy::give_up) {
        over_ = given_up_ = true;
        return -1;
      }
      if (next < program_.threads) return next;
      int const owner = next - program_.threads;
      Thread& thread = *threads_[static_cast<std::size_t>(owner)];
      Buffered const store = thread.stores.front();
      thread.stores.pop_front();
      strategy_->performed(next, {Op::store, store.address});
      become_visible(owner, store);
    }
  }

  [[nodiscard]] int drain_of(int thread) const { return program_.threads + thread; }

  [[nodiscard]] Crossroads crossroads() const {
    Crossroads at;
    for (int id = 0; id < program_.threads; ++id) {
      Thread const& thread = *threads_[static_cast<std::size_t>(id)];
      at.next[id] = thread.next;
      at.blocked_on[id] = thread.blocked_on != 0 ? thread.blocked_on : thread.sleeps_on;
      bool const must_drain = thread.next.kind == Op::fence || thread.next.kind == Op::update;
      bool const blocked = at.blocked_on[id] != 0 || (must_drain && !thread.stores.empty());
      if (!thread.done && !blocked) at.ready |= only(id);
      if (!thread.stores.empty()) {
        at.ready |= only(drain_of(id));
        at.next[drain_of(id)] = {Op::store, thread.stores.front().address};
      }
    }
    return at;
  }

  void become_visible(int thread, Buffered const& store) {
    released(store.address) = store.clock;
    store.perform(store.address, store.value);
    trace_.add({thread, store.what, store.address, store.value});
    wake_those_that_wait_for(store.address);
  }

  void wake_those_that_wait_for(std::uintptr_t address) {
    for (auto const& thread : threads_) {
      if (thread->blocked_on == address) thread->blocked_on = 0;
    }
  }

  //! No thread can go on: all have ended, or some wait for ever.
  void finish() {
    over_ = true;
    std::string waiting;
    for (int id = 0; id < program_.threads; ++id) {
      Thread const& thread = *threads_[static_cast<std::size_t>(id)];
      if (thread.done) continue;
      std::uintptr_t const word = thread.blocked_on != 0 ? thread.blocked_on : thread.sleeps_on;
      waiting += "\n  thread " + std::to_string(id) + " waits for ever for " + program_.memory.describe(word);
    }
    if (!waiting.empty()) return note(Finding::deadlock, "deadlock:" + waiting);
    if (std::string const wrong = program_.check(); !wrong.empty()) return note(Finding::wrong_result, wrong);
    if (!program_.memory.fences_hold())
      note(Finding::stray_access, "memory that belongs to nothing was written");
  }

  void note(Finding::Kind kind, std::string const& what) {
    over_ = true;
    if (finding_) return;
    std::string const how = std::string("\nthe last steps, found by ") + strategy_->name() + ":";
    finding_ = Finding{kind, what + how + trace_.text(program_.memory)};
  }

  void report(RaceDetector::Race const& race, char const* verb) {
    if (race.other < 0) return;
    fail(Finding::race, "race: thread " + std::to_string(running_) + " " + verb + " " +
                            program_.memory.describe(race.address) + ", which thread " +
                            std::to_string(race.other) + (race.other_wrote ? " wrote" : " read") +
                            (race.past_the_caches ? " past the caches without a fence" : "") +
                            ", and nothing orders the two");
  }

  void check_place(void const* data, std::size_t size_bytes, char const* verb) {
    auto const begin = reinterpret_cast<std::uintptr_t>(data);
    Region const* const region = program_.memory.at(begin);
    bool fits = region != nullptr && !region->holds_words() && size_bytes <= region->end - begin;
    if (fits && region->role == Role::buffer)
      fits = begin + size_bytes - region->begin <= self().buffer_bytes;
    if (fits) return;
    fail(Finding::stray_access, "stray access: thread " + std::to_string(running_) + " " + verb + " " +
                                    std::to_string(size_bytes) + " bytes of " +
                                    program_.memory.describe(begin));
  }

  Role role_of_word(std::uintptr_t address) {
    Region const* const region = program_.memory.at(address);
    if (region == nullptr || !region->holds_words()) {
      fail(Finding::stray_access, "stray access: a word in " + program_.memory.describe(address));
    }
    return region->role;
  }

  Clock& released(std::uintptr_t address) {
    auto const base = reinterpret_cast<std::uintptr_t>(program_.memory.base());
    std::size_t const word = (address - base) / sizeof(std::uint32_t);
    words_used_.push_back(word);
    return released_[word];
  }
  void tick() { ++self().clock[running_]; }
  Thread& self() { return *threads_[static_cast<std::size_t>(running_)]; }

  static inline thread_local Execution* current_ = nullptr;

  Program& program_;
  Weakened weakened_;
  Strategy* strategy_ = nullptr;
  RaceDetector detector_{};
  Fiber main_{};
  std::vector<std::unique_ptr<Thread>> threads_{};
  std::vector<Clock> released_{};  //!< by word: what a load with acquire learns from it
  std::vector<std::size_t> words_used_{};
  Trace trace_{};
  std::optional<Finding> finding_{};
  int running_ = 0;
  bool preparing_ = false;
  bool over_ = false;
  bool given_up_ = false;
  bool unwinding_ = false;
};

}  // namespace chevron::test

#endif
