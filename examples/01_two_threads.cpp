// Two threads are two ranks. Each has a buffer; after the call, each has the sum of both.
#include <chevron/chevron.hpp>

#include <cstdio>
#include <thread>
#include <vector>

// What this program is compiled for: two ranks, floats, sums. Nothing else is instantiated.
using Selector = chevron::Selector<chevron::tables::Host, chevron::RankCounts<2>, chevron::Elements<float>>;

void work(chevron::HostThreads<2>& group, int rank) {
  auto communicator = group.join<Selector>(rank);
  if (!communicator) return (void)std::puts(communicator.error().message().c_str());

  std::vector<float> data(1000, rank == 0 ? 1.0f : 41.0f);
  auto done = chevron::all_reduce<Selector>(*communicator, std::span(data));
  if (!done) return (void)std::puts(done.error().message().c_str());

  std::printf("rank %d: %zu sums, each %g\n", rank, data.size(), static_cast<double>(data[999]));
}

int main() {
  chevron::HostThreads<2> group;
  std::thread other([&] { work(group, 1); });
  work(group, 0);
  other.join();
}
