// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A table's row whose algorithm can't run on the transport of a call that reaches it: the sentence says which row.
#include <array>

#include <chevron/chevron.hpp>

using namespace chevron;
using enum AllReduceAlgorithm;

// A transport of one's own, over the lanes of threads, that says what it offers.
struct Own {
  using Endpoint = HostEndpoint;
  template <class Access = HostAccess>
  using Lane = HostLane<2, Access>;
  static constexpr int ranks = 2;
  static constexpr MemorySpace memory_space = MemorySpace::host;
  static constexpr bool every_pointer_is_in_a_window = false;
#if defined(CASE_no_direct_access)  // expect-error: chevron: a row that calls reach must have an algorithm that runs on their transport; got a Row of this RowRunsOn that loads from and stores to peers' windows
  // and: RowRunsOn<Table, 1
  static constexpr Requirements offers = {.packets = true, .mailbox = true};
#elif defined(CASE_no_packets)  // expect-error: chevron: a row that calls reach must have an algorithm that runs on their transport; got a Row of this RowRunsOn that pushes flagged packets
  // and: RowRunsOn<Table, 0
  static constexpr Requirements offers = {.direct_access = true, .mailbox = true};
#elif defined(CASE_no_mailbox)  // expect-error: chevron: a row that calls reach must have an algorithm that runs on their transport; got a Row of this RowRunsOn that stages chunks in mailboxes
  // and: RowRunsOn<Table, 3
  static constexpr Requirements offers = {.direct_access = true, .packets = true};
#else
  static constexpr Requirements offers = {.direct_access = true, .packets = true, .mailbox = true};
#endif
};

// Row 2 needs what no transport offers, but is only for devices, and so hinders no host.
template <int NRanks, class T, class Op, class E>
struct ByMulticast : OneShotPush<NRanks, T, Op, E> {
  static constexpr Requirements needs = {.multicast = true};
};
constexpr auto by_multicast = AllReduceAlgorithm{130};
template <int NRanks, class T, class Op, class E>
struct chevron::AlgorithmNamed<by_multicast, NRanks, T, Op, E> {
  using type = ByMulticast<NRanks, T, Op, E>;
};

struct Table {
  static constexpr auto rows() {
    return std::array{
        Row{.bytes = {0, 1024}, .policy = {one_shot_push}},
        Row{.in_windows_only = true, .policy = {reduce_scatter_all_gather_zero_copy}},
#if defined(CASE_multicast_on_hosts)  // expect-error: chevron: a row that calls reach must have an algorithm that runs on their transport; got a Row of this RowRunsOn that stores to all ranks at once
        // and: RowRunsOn<Table, 2
        Row{.bytes = {4096}, .policy = {by_multicast}},
#else
        Row{.architectures = {90}, .policy = {by_multicast}},
#endif
        Row{.policy = {reduce_scatter_all_gather}},
    };
  }
};

using Chosen = Selector<Table, RankCounts<2>, Elements<float>>;

#if defined(__CUDACC__)  // nvcc would not compile a host's lanes for a device
constexpr bool fits = detail::fits_selector<Chosen, Own, float, Sum, Identity>();
#else
Result<void> call(Communicator<Own> const& ranks, float* data) {
  return all_reduce<Chosen>(ranks, data, data, 10);
}
#endif
