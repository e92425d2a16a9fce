// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A user's algorithm that needs what no host transport offers. If that was let pass, the call would do nothing.
#include <chevron/chevron.hpp>

using namespace chevron;

template <int NRanks, class T, class Op, class E>
struct Own {
  static constexpr char const* name = "own";
#if defined(CASE_needs_multicast)  // expect-error: chevron: this algorithm stores to all ranks at once; got a transport that does not offer multicast
  static constexpr Requirements needs = {.multicast = true};
#else
  static constexpr Requirements needs = {.packets = true};
#endif
  template <class Lane>
  static void run(Lane&, Call<T, E> const&) {}
};

Result<void> call(Communicator<HostThreads<2>> const& ranks, float* data) {
  return all_reduce<Own<2, float, Sum, Identity>>(ranks, data, data, 10);
}
