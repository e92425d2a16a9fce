// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Uses what another file compiles: here is no algorithm and no kernel.
#include "ours.hpp"

#include <cstdio>
#include <thread>

namespace {

using chevron::Count;
using chevron::Max;
using chevron::Result;
using chevron::Sum;

#if defined(__CUDACC__)

template <class T, class... Arguments>
Result<void> reduce(chevron::Communicator<Transport> const& ranks, T* data) {
  if (auto done = chevron::all_reduce<Ours>(ranks, data, data, 4, nullptr); !done) return done;
  if (auto done = chevron::all_reduce<Ours>(ranks, data, data, 4, nullptr, Max{}); !done) return done;
  return chevron::all_reduce<Ours, Count<4096>>(ranks, data, data, nullptr);
}

//! The kernels are found, whether or not there is a device to load them on.
bool works() {
  std::vector<void const*> kernels;
  chevron::detail::add_kernels<Ours, Transport>(kernels);
  chevron::detail::add_kernels<chevron::WithEpilogue<OursFloat, Twice>, Transport>(kernels);
  chevron::detail::add_kernels<Named, Transport>(kernels);
  // Two bodies for each of four calls, two with the epilogue, one named.
  if (kernels.size() != 11) return false;
  auto made = Transport::create<Ours, chevron::WithEpilogue<OursFloat, Twice>, Named>({0, 0});
  if (!made) return true;
  auto const& ranks = (*made)[0];
  auto* const floats = static_cast<float*>(nullptr);
  // Wrong on purpose, so that nobody waits: a null pointer ends the communicator.
  return !chevron::all_reduce<Named>(ranks, floats, floats, 4, nullptr) && !reduce(ranks, floats) &&
         !reduce(ranks, static_cast<double*>(nullptr)) &&
         !chevron::all_reduce<OursFloat>(ranks, floats, floats, 4, nullptr, Sum{}, Twice{});
}

#else

bool is_right(int rank, chevron::Communicator<Transport> const& ranks) {
  float a[4] = {1, 2, 3, static_cast<float>(rank)};
  double b[4] = {1, 2, 3, static_cast<double>(rank)};
  bool const calls = chevron::all_reduce<Ours>(ranks, a, a, 4) &&
                     chevron::all_reduce<Ours>(ranks, b, b, 4, Max{}) &&
                     chevron::all_reduce<Ours, Count<4>>(ranks, b, b) &&
                     chevron::all_reduce<OursFloat>(ranks, a, a, 4, Sum{}, Twice{}) &&
                     chevron::all_reduce<Named>(ranks, a, a, 4);
  return calls && a[0] == 8 && a[3] == 4 && b[0] == 2 && b[3] == 2;
}

bool works() {
  Transport group;
  bool good[2] = {};
  auto const run = [&](int rank) {
    auto const ranks = group.join<Ours>(rank);
    good[rank] = ranks && is_right(rank, *ranks);
  };
  std::thread other(run, 1);
  run(0);
  other.join();
  return good[0] && good[1];
}

#endif

}  // namespace

int main() {
  bool const good = works();
  std::puts(good ? "good" : "wrong");
  return good ? 0 : 1;
}
