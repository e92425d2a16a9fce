// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef CHEVRON_TESTS_COLLECTIVE_ALL_REDUCE_MATRIX_PLAY_HPP
#define CHEVRON_TESTS_COLLECTIVE_ALL_REDUCE_MATRIX_PLAY_HPP

//! @file
//! One rank's part of a plan: make all calls, one right after the other, and find everything that is wrong
//! afterwards.

#include <chevron/core/result.hpp>

#include <collective/all_reduce_matrix/plan.hpp>
#include <collective/all_reduce_matrix/routes.hpp>
#include <support/arena.hpp>
#include <support/data.hpp>
#include <support/noise.hpp>
#include <support/reference.hpp>
#include <support/shared.hpp>

#include <sched.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace chevron::test {

//! What every call of a plan must give, on all ranks.
template <class T>
using Expectations = std::vector<std::vector<T>>;

template <class T>
Expectations<T> expectations_of(Plan const& plan) {
  Expectations<T> all;
  std::vector<T> by_rank(static_cast<std::size_t>(plan.ranks));
  for (PlannedCall const& call : plan.calls) {
    std::vector<T> expected(call.count);
    auto const fill = [&]<int Index>() {
      using Op = typename TaskAt<Index>::Op;
      auto const epilogue = make_epilogue<typename TaskAt<Index>::Epilogue>(call.seed);
      for (std::size_t i = 0; i < call.count; ++i) {
        for (int rank = 0; rank < plan.ranks; ++rank) {
          by_rank[static_cast<std::size_t>(rank)] = value_of<T>(call.data, call.seed, rank, i);
        }
        expected[i] = reference<Op, T>(std::span<T const>(by_rank), epilogue, i);
      }
    };
    [&]<int... Index>(std::integer_sequence<int, Index...>) {
      ((call.task == Index ? fill.template operator()<Index>() : void()), ...);
    }
    (std::make_integer_sequence<int, task_count>{});
    all.push_back(std::move(expected));
  }
  return all;
}

//! Makes one of the plan's calls on a communicator. It hides which one: only what is behind it has to be
//! compiled for every rank count and transport.
template <class T>
using Caller = std::function<Result<void>(PlannedCall const& call, T const* in, T* out)>;

//! One rank of a plan. What goes wrong goes into the verdict.
template <class T>
class Player {
 public:
  Player(int rank, Plan const& plan, Expectations<T> const& expected, Meeting& meeting, Verdict& verdict)
      : plan_(plan), expected_(expected), meeting_(meeting), verdict_(verdict), rank_(rank) {}

  void play(Caller<T> const& caller) {
    for (std::size_t i = 0; i < plan_.calls.size() && verdict_.good(); ++i) run(i, caller);
    // Only when everybody is through can a peer no longer write here.
    if (!meeting_.wait(plan_.ranks) && verdict_.good()) {
      verdict_.fail("the other ranks have not come to the end");
    }
    for (Canvas const& canvas : canvases_) canvas.open();
    if (!verdict_.good()) return;
    for (std::size_t i = 0; i < plan_.calls.size(); ++i) compare(i);
    for (std::size_t i = 0; i < canvases_.size(); ++i) look_for_stains(i);
  }

  //! Gets the memory for all buffers and fills the inputs. Collective: it makes windows.
  bool prepare(std::function<std::byte*(std::size_t size_bytes)> const& allocate) {
    auto const& bytes = plan_.canvas_bytes[static_cast<std::size_t>(rank_)];
    for (std::size_t i = 0; i < canvases_.size(); ++i) {
      std::byte* base = nullptr;
      if (i < plain_.size()) {
        plain_[i] = GuardedMemory(bytes[i]);
        base = plain_[i].data();
      } else {
        base = allocate(bytes[i]);
        if (base == nullptr) return false;
      }
      canvases_[i] = Canvas(base, bytes[i], plan_.seed + i);
    }
    for (Canvas const& canvas : canvases_) {
      canvas.paint();
      canvas.fence();
    }
    for (PlannedCall const& call : plan_.calls) {
      Place const& place = my_place(call);
      canvas(place.in_canvas).open(place.in, call.count * sizeof(T));
      canvas(place.out_canvas).open(place.out, call.count * sizeof(T));
      T* const in = at(place.in_canvas, place.in);
      for (std::size_t k = 0; k < call.count; ++k) in[k] = value_of<T>(call.data, call.seed, rank_, k);
      results_.emplace_back(call.count);
    }
    return true;
  }

 private:
  [[nodiscard]] Canvas const& canvas(int index) const { return canvases_[static_cast<std::size_t>(index)]; }
  [[nodiscard]] T* at(int index, std::size_t offset) const {
    return reinterpret_cast<T*>(canvas(index).at(offset));
  }
  [[nodiscard]] Place const& my_place(PlannedCall const& call) const {
    return call.places[static_cast<std::size_t>(rank_)];
  }

  void run(std::size_t index, Caller<T> const& caller) {
    PlannedCall const& call = plan_.calls[index];
    Place const& place = my_place(call);
    if (place.dawdle == 1) ::sched_yield();
    if (place.dawdle > 1) nap(std::chrono::microseconds(place.dawdle));
    T* const in = at(place.in_canvas, place.in);
    T* const out = at(place.out_canvas, place.out);
    auto const done = caller(call, in, out);
    if (!done) {
      verdict_.fail("%s\n  rank %d: %s", plan_.text(index).c_str(), rank_, done.error().message().c_str());
      return;
    }
    // The buffers are the caller's again: what a peer still reads from them or writes to them shows in its
    // results, or as a stain.
    std::size_t const size_bytes = call.count * sizeof(T);
    if (size_bytes != 0) std::memcpy(results_[index].data(), out, size_bytes);
    if (!place.in_place && (call.seed & 1) != 0) check_input(index, in);
    canvas(place.in_canvas).paint(place.in, size_bytes);
    canvas(place.out_canvas).paint(place.out, size_bytes);
  }

  void check_input(std::size_t index, T const* in) {
    PlannedCall const& call = plan_.calls[index];
    for (std::size_t k = 0; k < call.count; ++k) {
      T const value = value_of<T>(call.data, call.seed, rank_, k);
      if (bits_of(value) != bits_of(in[k])) {
        verdict_.fail("%s\n  rank %d: the call changed its input at index %zu from 0x%llx to 0x%llx",
                      plan_.text(index).c_str(), rank_, k, wide(value), wide(in[k]));
        return;
      }
    }
  }

  void compare(std::size_t index) {
    std::size_t const count = plan_.calls[index].count;
    T const* const expected = expected_[index].data();
    T const* const got = results_[index].data();
    std::size_t const k = first_difference(expected, got, count);
    if (k != count) {
      verdict_.fail("%s\n  rank %d, index %zu: expected 0x%llx, got 0x%llx", plan_.text(index).c_str(), rank_,
                    k, wide(expected[k]), wide(got[k]));
    }
  }

  void look_for_stains(std::size_t index) {
    std::size_t const stain = canvases_[index].first_stain();
    if (stain == canvases_[index].size_bytes()) return;
    verdict_.fail(
        "%s\n  rank %d: byte %zu of %s was written to outside of a call's buffers, or after its end",
        nearest(static_cast<int>(index), stain).c_str(), rank_, stain,
        index < plain_.size() ? "plain memory" : "a window");
  }

  //! The call whose buffer is the nearest to an offset.
  [[nodiscard]] std::string nearest(int canvas, std::size_t offset) const {
    std::size_t found = 0;
    std::size_t smallest = ~std::size_t{0};
    auto const consider = [&](std::size_t call, int where, std::size_t begin) {
      std::size_t const end = begin + plan_.calls[call].count * sizeof(T);
      std::size_t const distance = offset < begin ? begin - offset : offset < end ? 0 : offset - end;
      if (where == canvas && distance < smallest) {
        smallest = distance;
        found = call;
      }
    };
    for (std::size_t call = 0; call < plan_.calls.size(); ++call) {
      Place const& place = my_place(plan_.calls[call]);
      consider(call, place.in_canvas, place.in);
      consider(call, place.out_canvas, place.out);
    }
    return plan_.text(found);
  }

  static unsigned long long wide(T value) { return bits_of(value); }

  Plan const& plan_;
  Expectations<T> const& expected_;
  Meeting& meeting_;
  Verdict& verdict_;
  int rank_;
  std::array<GuardedMemory, Place::plain_canvases> plain_{};
  std::array<Canvas, Place::canvases> canvases_{};
  std::vector<std::vector<T>> results_{};
};

//! Joins a group as a rank and plays its part.
template <class T, class Group>
void play_rank(Group& group, int rank, Plan const& plan, Expectations<T> const& expected, Meeting& meeting,
               Verdict& verdict) {
  Options options = plan.options;
  options.non_temporal_stores = (noise(plan.seed, static_cast<std::uint64_t>(rank)) & 1) != 0;  // not (alike)
  auto communicator = group.join(rank, options);
  if (!communicator) return verdict.fail("joining: %s", communicator.error().message().c_str());
  using Comm = std::remove_cvref_t<decltype(*communicator)>;
  std::vector<typename Comm::template Window<unsigned char>> windows;
  Player<T> player(rank, plan, expected, meeting, verdict);
  bool const ready = player.prepare([&](std::size_t size_bytes) -> std::byte* {
    auto window = communicator->template allocate<unsigned char>(size_bytes);
    if (!window) {
      verdict.fail("allocating a window: %s", window.error().message().c_str());
      return nullptr;
    }
    windows.push_back(std::move(*window));
    return reinterpret_cast<std::byte*>(windows.back().data());
  });
  if (!ready) return;
  Calls<Comm, T> const calls;
  player.play([&](PlannedCall const& call, T const* in, T* out) {
    return calls.find(call.task, call.route)(*communicator, in, out, call.count, call.seed);
  });
}

}  // namespace chevron::test

#endif
