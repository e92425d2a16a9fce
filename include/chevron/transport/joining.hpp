// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef CHEVRON_TRANSPORT_JOINING_HPP
#define CHEVRON_TRANSPORT_JOINING_HPP

//! @file
//! What all host transports do when a rank joins.

#include <chevron/core/error.hpp>
#include <chevron/core/hash.hpp>
#include <chevron/core/result.hpp>
#include <chevron/host/cpu.hpp>
#include <chevron/host/options.hpp>
#include <chevron/sync/call_record.hpp>
#include <chevron/transport/host_endpoint.hpp>

#include <cstdint>

namespace chevron {

//! @brief One number for a list of selectors; ranks compare it when they meet.
template <class... Selectors>
[[nodiscard]] consteval std::uint32_t fingerprint_of() {
  std::uint32_t hash = 0;
  ((hash = mix(hash, Selectors::fingerprint())), ...);
  return hash;
}

namespace detail {

//! @brief Binds the calling thread as the options say, and tells which CPUs this rank's lanes may run on.
[[nodiscard]] inline Result<CpuSet> settle_on_cpus(int rank, Options const& options) {
  if (options.pin_to_cpu && !pin_this_thread(*options.pin_to_cpu)) {
    return Error{.code = Errc::bad_argument,
                 .rank = static_cast<std::int16_t>(rank),
                 .during = "joining",
                 .detail = "this thread can't be bound to the CPU that pin_to_cpu names"};
  }
  CpuSet cpus = CpuSet::of_this_thread();
  if (options.pin_to_cpu) {
    for (int lane = 1; lane < options.lanes; ++lane) cpus.add(*options.pin_to_cpu + lane);
  }
  return cpus;
}

//! @brief Spins only where every lane of the group can have a CPU of its own.
[[nodiscard]] inline WaitBudget wait_budget_for(int threads, CpuSet const& cpus) {
  WaitBudget budget;
  if (threads > cpus.count()) {
    budget.spins = 0;
    budget.first_yields = 100;
    budget.yields = 1000;
  }
  return budget;
}

}  // namespace detail

}  // namespace chevron

#endif
