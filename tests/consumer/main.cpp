// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What a project that uses chevron has in its own tree: two threads add up their arrays.
#include <chevron/chevron.hpp>

#include <array>
#include <cstdio>
#include <thread>

using Selector = chevron::Selector<chevron::tables::Host, chevron::RankCounts<2>, chevron::Elements<float>>;

int main() {
  chevron::HostThreads<2> group;
  std::array<bool, 2> right{};
  auto rank_main = [&](int rank) {
    auto comm = group.join<Selector>(rank);
    if (!comm) return;
    std::array<float, 1000> in;
    std::array<float, 1000> out{};
    for (std::size_t i = 0; i < in.size(); ++i) in[i] = static_cast<float>(rank + 1) * static_cast<float>(i);
    if (!chevron::all_reduce<Selector>(*comm, in.data(), out.data(), in.size())) return;
    right[static_cast<std::size_t>(rank)] = true;
    for (std::size_t i = 0; i < out.size(); ++i)
      if (out[i] != 3.0f * static_cast<float>(i)) right[static_cast<std::size_t>(rank)] = false;
  };
  std::thread other(rank_main, 1);
  rank_main(0);
  other.join();
  std::puts(right[0] && right[1] ? "both ranks have the sum" : "wrong");
  return right[0] && right[1] ? 0 : 1;
}
