// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// An algorithm on a transport that lacks what it needs is refused by the name of what is missing.
#include <chevron/chevron.hpp>

using namespace chevron;

// A transport of one's own, over the lanes of threads, that says what it offers.
struct Own {
  using Endpoint = HostEndpoint;
  template <class Access = HostAccess>
  using Lane = HostLane<2, Access>;
  static constexpr int ranks = 2;
  static constexpr MemorySpace memory_space = MemorySpace::host;
  static constexpr bool every_pointer_is_in_a_window = true;
#if defined(CASE_no_direct_access)  // expect-error: chevron: this algorithm loads from and stores to peers' windows; got a transport that does not offer direct_access
  static constexpr Requirements offers = {.packets = true, .mailbox = true};
#elif defined(CASE_no_packets)  // expect-error: chevron: this algorithm pushes flagged packets; got a transport that does not offer packets
  static constexpr Requirements offers = {.direct_access = true, .mailbox = true};
#elif defined(CASE_no_mailbox)  // expect-error: chevron: this algorithm stages chunks in mailboxes; got a transport that does not offer a mailbox
  static constexpr Requirements offers = {.direct_access = true, .packets = true};
#else
  static constexpr Requirements offers = {.direct_access = true, .packets = true, .mailbox = true};
#endif
};

#if defined(CASE_transport_of_33_ranks)  // expect-error: chevron: a rank count must be 1 to 32; got another for HostThreads
HostThreads<33> too_many;
#endif

Result<void> calls(Communicator<Own> const& ranks, float* data) {
  if (auto done = all_reduce<ReduceScatterAllGatherZeroCopy<2, float>>(ranks, data, data, 10); !done) return done;
  if (auto done = all_reduce<ReduceScatterAllGather<2, float>>(ranks, data, data, 10); !done) return done;
  if (auto done = all_reduce<ReduceScatterAllGatherPush<2, float>>(ranks, data, data, 10); !done) return done;
  if (auto done = all_reduce<OneShotPull<2, float>>(ranks, data, data, 10); !done) return done;
  if (auto done = all_reduce<TwoShotPush<2, float>>(ranks, data, data, 10); !done) return done;
  return all_reduce<OneShotPush<2, float>>(ranks, data, data, 10);
}
