// Two threads are two ranks. Each has a buffer; after the call, each has the sum of both.
#include <chevron/chevron.hpp>

#include <cstdio>
#include <thread>
#include <vector>

// What this program is compiled for: two ranks, floats, sums. Nothing else is instantiated.
using Selector = chevron::Selector<chevron::tables::Host, chevron::RankCounts<2>, chevron::Elements<float>>;

bool failed(chevron::Error const& error) { return std::puts(error.message().c_str()), false; }

bool work(chevron::HostThreads<2>& group, int rank) {
  auto communicator = group.join<Selector>(rank);
  if (!communicator) return failed(communicator.error());

  std::vector<float> data(1000, rank == 0 ? 1.0f : 41.0f);
  auto done = chevron::all_reduce<Selector>(*communicator, std::span(data));
  if (!done) return failed(done.error());

  std::printf("rank %d: %zu sums, each %g\n", rank, data.size(), static_cast<double>(data[999]));
  return data[0] == 42.0f && data[999] == 42.0f;
}

int main() {
  chevron::HostThreads<2> group;
  bool other_good = false;
  std::thread other([&] { other_good = work(group, 1); });
  bool const good = work(group, 0);
  other.join();
  return good && other_good ? 0 : 1;
}
