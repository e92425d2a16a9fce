// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a choice at run time costs: nanoseconds for one, each waiting for the one before it, by the shipped tables. Sizes are
// drawn evenly over the powers of two, so that branches are not foretold; with one size they are.
#include <chevron/collective/chosen_body.hpp>
#include <chevron/core/element.hpp>
#include <chevron/core/op.hpp>
#include <chevron/core/rank.hpp>
#include <chevron/epilogue/identity.hpp>
#include <chevron/select/selector.hpp>
#include <chevron/select/tables/hopper.hpp>
#include <chevron/select/tables/host.hpp>
#include <chevron/select/tables/one_gpu.hpp>
#include <chevron/transport/concept.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <random>
#include <vector>

namespace {

using namespace chevron;

constexpr std::size_t draws = 1 << 17;  // too many for a processor to learn by heart
using Sizes = std::vector<std::size_t>;

Sizes drawn_sizes() {
  std::mt19937_64 random(1);
  Sizes sizes(draws);
  for (std::size_t& size : sizes) {
    std::size_t const power = std::size_t{1} << random() % 27;
    size = power + random() % power;
  }
  return sizes;
}

std::size_t volatile last = 0;  // so that nothing is left out

//! The least of several rounds: what else the machine does only adds.
template <class Choose>
double nanoseconds(Sizes const& sizes, Choose&& choose) {
  constexpr int rounds = 20;
  constexpr std::size_t choices = 200'000;
  double least = 1e9;
  std::size_t at = 0;
  for (int round = 0; round < rounds; ++round) {
    auto const begin = std::chrono::steady_clock::now();
    for (std::size_t i = 0; i < choices; ++i) {
      // The next size is another one, depending on what was chosen for this.
      at = (at + 1 + choose(sizes[at])) % draws;
    }
    std::chrono::duration<double, std::nano> const took = std::chrono::steady_clock::now() - begin;
    least = std::min(least, took.count() / static_cast<double>(choices));
  }
  last = at;
  return least;
}

std::size_t number_of(Policy const& policy) {
  return static_cast<std::size_t>(policy.algorithm) + static_cast<std::size_t>(policy.cuda.lanes);
}

//! As a call sees it: the rank count is the transport's.
template <int NRanks, MemorySpace Space>
struct On {
  static constexpr int ranks = NRanks;
  static constexpr MemorySpace memory_space = Space;
  static constexpr bool every_pointer_is_in_a_window = false;
};

template <class Table, MemorySpace Space, int NRanks>
void measure(char const* name, int architecture) {
  using Chosen = Selector<Table, RankCounts<2, 4, 8>, Elements<bfloat16>>;
  auto const drawn = drawn_sizes();
  Sizes const one(draws, 8192);
  int volatile any_ranks = NRanks;
  int const ranks = any_ranks;
  auto const in_a_call = [&](std::size_t size) {
    auto const chosen =
        detail::Chosen::by<Chosen, On<NRanks, Space>, bfloat16, Sum, Identity>(size, architecture);
    return number_of(chosen.in_windows) + number_of(chosen.elsewhere) +
           static_cast<std::size_t>(chosen.body.packs);
  };
  auto const known_ranks = [&](std::size_t size) {
    return number_of(Chosen::template choose<NRanks, bfloat16>(size, WindowState::all, architecture));
  };
  auto const other_ranks = [&](std::size_t size) {
    return number_of(Chosen::template choose<bfloat16>(ranks, size, WindowState::all, architecture));
  };
  auto const nothing = [](std::size_t size) { return size & 1; };
  std::printf("%-8s %5d %15.1f %15.1f %15.1f %15.1f %15.1f\n", name, NRanks, nanoseconds(one, in_a_call),
              nanoseconds(drawn, in_a_call), nanoseconds(drawn, known_ranks), nanoseconds(drawn, other_ranks),
              nanoseconds(drawn, nothing));
}

template <class Table, MemorySpace Space>
void measure_all(char const* name, int architecture) {
  measure<Table, Space, 2>(name, architecture);
  measure<Table, Space, 4>(name, architecture);
  measure<Table, Space, 8>(name, architecture);
}

}  // namespace

int main() {
  std::printf("ns per choice, with the loop around it, which the last column has alone\n");
  std::printf(
      "table    ranks   call, one size  call, any size   choose<ranks>   choose(ranks)       loop alone\n");
  measure_all<tables::Host, MemorySpace::host>("Host", host_architecture);
  measure_all<tables::OneGpu, MemorySpace::device>("OneGpu", 90);
  measure_all<tables::Hopper, MemorySpace::device>("Hopper", 90);
}
