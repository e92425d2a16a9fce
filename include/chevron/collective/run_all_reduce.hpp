// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef CHEVRON_COLLECTIVE_RUN_ALL_REDUCE_HPP
#define CHEVRON_COLLECTIVE_RUN_ALL_REDUCE_HPP

//! @file
//! From a call of all_reduce to the body that runs: a named algorithm, or what a selector's table chooses.

#include <chevron/collective/call_fits.hpp>
#include <chevron/collective/run_on_host.hpp>
#include <chevron/core/call.hpp>
#include <chevron/core/element.hpp>
#include <chevron/core/hash.hpp>
#include <chevron/core/op.hpp>
#include <chevron/core/result.hpp>
#include <chevron/host/communicator.hpp>
#include <chevron/select/policy.hpp>
#include <chevron/select/selector.hpp>
#include <chevron/sync/call_record.hpp>

#include <cstddef>
#include <cstdint>

namespace chevron::detail {

inline constexpr char const* all_reduce_name = "all_reduce";

//! @brief What ranks must agree on in a call; all but the count is worked out by the compiler.
template <class T, class Op, class E, std::uint32_t Algorithm, std::uint32_t Table>
[[nodiscard]] CallIdentity identity_of(std::size_t count) {
  constexpr CallIdentity known{.algorithm = Algorithm,
                               .element = static_cast<std::uint32_t>(ElementTraits<T>::kind),
                               .operation = mix(mix(hash32(all_reduce_name), op_id<Op>()), op_id<E>()),
                               .table = Table};
  constexpr std::uint32_t fixed = known.fixed_signature();
  CallIdentity identity = known;
  identity.count = count;
  identity.fixed = fixed;
  return identity;
}

//! @brief Runs a body by the windows of the call: one algorithm where everybody's buffers lie in windows,
//! another where somebody's do not. The arrival messages decide, alike on all ranks.
template <class InWindows, class Elsewhere, class Lane, class T, class E>
void run_by_windows(Lane& lane, Call<T, E> const& call, Stores stores_in_windows) {
  auto const all = lane.template arrive<T>(call);
  if (!lane.ok()) return;
  if (!all.direct()) return Elsewhere::run(lane, call);
  Call<T, E> in_windows = call;
  in_windows.stores = stores_in_windows;
  if constexpr (InWindows::needs.direct_access) {
    InWindows::move(lane, in_windows, all);
  } else {
    InWindows::run(lane, in_windows);
  }
}

//! @brief Calls `body.template operator()<A>()` for the chosen algorithm A. Only those that the selector can
//! choose are instantiated.
template <class Selector, int NRanks, class T, WindowState Windows, class Body>
void with_algorithm(AllReduceAlgorithm chosen, Body&& body) {
  auto const on = [&]<AllReduceAlgorithm A>() {
    if constexpr (Selector::reaches(NRanks, ElementTraits<T>::kind, Windows, A)) {
      if (chosen == A) body.template operator()<A>();
    }
  };
  using enum AllReduceAlgorithm;
  on.template operator()<one_shot_push>();
  on.template operator()<reduce_scatter_all_gather>();
  on.template operator()<reduce_scatter_all_gather_zero_copy>();
}

//! @brief The policies of one call: for buffers in windows, and for others. For most sizes they are the same.
struct Chosen {
  Policy in_windows;
  Policy elsewhere;
  bool windows_matter;
  [[nodiscard]] Stores stores() const { return windows_matter ? elsewhere.stores : in_windows.stores; }
};

template <class Selector, class Op, class Lane, class T, class E>
void run_chosen(Lane& lane, Call<T, E> const& call, Chosen const& chosen) {
  constexpr int ranks = Lane::ranks;
  with_algorithm<Selector, ranks, T, WindowState::all>(
      chosen.in_windows.algorithm, [&]<AllReduceAlgorithm A>() {
        using InWindows = algorithm_named_t<A, ranks, T, Op, E>;
        if (!chosen.windows_matter) return InWindows::run(lane, call);
        with_algorithm<Selector, ranks, T, WindowState::none>(
            chosen.elsewhere.algorithm, [&]<AllReduceAlgorithm B>() {
              using Elsewhere = algorithm_named_t<B, ranks, T, Op, E>;
              if constexpr (A != B)
                run_by_windows<InWindows, Elsewhere>(lane, call, chosen.in_windows.stores);
            });
      });
}

//! @brief A selector for one size: it reaches what it chooses for that size and nothing else.
template <class Selector, class T, std::size_t Elements>
struct AtCount {
  [[nodiscard]] static constexpr bool reaches(int ranks, ElementKind, WindowState windows,
                                              AllReduceAlgorithm a) {
    return Selector::template choose<T>(ranks, Elements * sizeof(T), windows).algorithm == a;
  }
};

template <class Selector, class Reachable, class Transport, class T, class Op, class E>
[[nodiscard]] Result<void> all_reduce_selected(Communicator<Transport> const& communicator, Call<T, E> call,
                                               Op) {
  constexpr int ranks = Transport::ranks;
  std::size_t const size_bytes =
      call.count * sizeof(T);  // if it overflows, the call is refused before it is used
  Chosen chosen{Selector::template choose<T, Op>(ranks, size_bytes, WindowState::all),
                Selector::template choose<T, Op>(ranks, size_bytes, WindowState::none), false};
  chosen.windows_matter = !communicator.endpoint().every_pointer_is_in_a_window() &&
                          chosen.in_windows.algorithm != chosen.elsewhere.algorithm;
  call.stores = chosen.stores();
  constexpr std::uint32_t by_selector = hash32("all_reduce by selector");
  return run_on_host(communicator, all_reduce_name,
                     identity_of<T, Op, E, by_selector, Selector::fingerprint()>(call.count), call,
                     [&](auto& lane) { run_chosen<Reachable, Op>(lane, call, chosen); });
}

template <class Algorithm, class Transport, class T, class E>
[[nodiscard]] Result<void> all_reduce_named(Communicator<Transport> const& communicator, Call<T, E> call) {
  using Op = typename AlgorithmTraits<Algorithm>::Operation;
  return run_on_host(communicator, all_reduce_name,
                     identity_of<T, Op, E, hash32(Algorithm::name), 0>(call.count), call,
                     [&](auto& lane) { Algorithm::run(lane, call); });
}

}  // namespace chevron::detail

#endif
