// Who chooses the algorithm: a table at run time, a table at compile time, or the caller. And what an engine
// does that learns the rank count only when it runs.
#include <chevron/chevron.hpp>

#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>

// A table of one's own: rows are tried in order, so the last one is the fallback. Leave it out, or ask for a
// rank count that no row has, and the program does not compile.
struct MyTable {
  static constexpr auto rows() {
    using enum chevron::AllReduceAlgorithm;
    return std::array{
        chevron::Row{.bytes = {0, 1024}, .policy = {one_shot_push}},
        chevron::Row{
            .ranks = {2, 4}, .in_windows_only = true, .policy = {reduce_scatter_all_gather_zero_copy}},
        chevron::Row{.policy = {reduce_scatter_all_gather}},
    };
  }
};

using Counts = chevron::RankCounts<2, 3, 4>;
using Selector = chevron::Selector<MyTable, Counts, chevron::Elements<float, chevron::bfloat16>,
                                   chevron::Operations<chevron::Sum, chevron::Max>>;

// What the table chooses is a constant, so it can be checked where it matters.
static_assert(Selector::choose<float>(2, 256).algorithm == chevron::AllReduceAlgorithm::one_shot_push);
static_assert(Selector::choose<float>(2, 1 << 20, chevron::WindowState::none).algorithm ==
              chevron::AllReduceAlgorithm::reduce_scatter_all_gather);

template <int N>
bool work(chevron::HostThreads<N>& group, int rank) {
  auto communicator = group.template join<Selector>(rank);
  if (!communicator) return false;

  std::vector<float> sums(8192, static_cast<float>(rank + 1));
  std::vector<chevron::bfloat16> largest(8192, chevron::bfloat16::from_float(static_cast<float>(rank)));

  // by size, when the program runs
  bool good = chevron::all_reduce<Selector>(*communicator, std::span(sums)).has_value();
  // by size, when it is compiled: one algorithm is instantiated
  good = good && chevron::all_reduce<Selector, chevron::Count<8192>>(*communicator, largest.data(),
                                                                     largest.data(), chevron::Max{});
  // by the caller
  using Named = chevron::ReduceScatterAllGatherZeroCopy<N, float>;
  good = good && chevron::all_reduce<Named>(*communicator, std::span(sums));

  if (good && rank == 0) {
    std::printf("%d ranks: %g by sums of sums, %g by max\n", N, static_cast<double>(sums[0]),
                static_cast<double>(largest[0].to_float()));
  }
  return good;
}

int main() {
  bool all_good = true;
  for (int const asked : {2, 3, 4, 5}) {
    auto ran = chevron::with_rank_count<Counts>(asked, [](auto count) {
      constexpr int n = count;
      chevron::HostThreads<n> group;
      bool good[n] = {};
      std::vector<std::thread> ranks;
      for (int rank = 0; rank < n; ++rank) ranks.emplace_back([&, rank] { good[rank] = work(group, rank); });
      for (std::thread& rank : ranks) rank.join();
      bool all = true;
      for (bool const one : good) all = all && one;
      return all;
    });
    if (!ran) std::printf("%s\n", ran.error().message().c_str());
    bool const expected = asked <= 4;
    all_good = all_good && ran.has_value() == expected && (!ran || *ran);
  }
  return all_good ? EXIT_SUCCESS : EXIT_FAILURE;
}
