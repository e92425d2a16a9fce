// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef CHEVRON_COLLECTIVE_RUN_ALL_REDUCE_HPP
#define CHEVRON_COLLECTIVE_RUN_ALL_REDUCE_HPP

//! @file
//! From a call of all_reduce to the body that runs: a named algorithm, or what a selector's table chooses.

#include <chevron/collective/call_fits.hpp>
#include <chevron/collective/chosen_body.hpp>
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

//! @tparam Size  AnyCount, or Count<n>: then only what the table has for it is instantiated
template <class Selector, class Size, class Transport, class T, class Op, class E>
[[nodiscard]] Result<void> all_reduce_selected(Communicator<Transport> const& communicator, Call<T, E> call,
                                               Op) {
  constexpr int ranks = Transport::ranks;
  // If the product overflows, the call is refused before it is used.
  auto const chosen = Chosen::by<Selector, Transport, T, Op, E>(call.count * sizeof(T), host_architecture);
  call.stores = chosen.elsewhere.stores;
  constexpr std::uint32_t by_selector = hash32("all_reduce by selector");
  return run_on_host(
      communicator, all_reduce_name, identity_of<T, Op, E, by_selector, Selector::fingerprint()>(call.count),
      call, [&](auto& lane) {
        BodiesOf<Selector, Size, Transport, T, Op, E>::for_each(
            [&]<AllReduceAlgorithm A, AllReduceAlgorithm B, int Packs>() {
              if (!(chosen.body == BodyKey{A, B, Packs})) return;
              body_for_t<A, B, Packs, ranks, T, Op, E>::run(lane, call, chosen.in_windows.stores);
            });
      });
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
