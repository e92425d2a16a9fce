// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef CHEVRON_COLLECTIVE_RUN_ON_HOST_HPP
#define CHEVRON_COLLECTIVE_RUN_ON_HOST_HPP

//! @file
//! What every call on a host transport does around an algorithm's body.

#include <chevron/collective/check_buffers.hpp>
#include <chevron/core/call.hpp>
#include <chevron/core/error.hpp>
#include <chevron/core/result.hpp>
#include <chevron/host/communicator.hpp>
#include <chevron/sync/call_record.hpp>
#include <chevron/sync/flag.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace chevron::detail {

//! @brief A call in progress; others on the same communicator are refused meanwhile.
template <class Endpoint>
class InCall {
 public:
  explicit InCall(Endpoint& endpoint) : endpoint_(endpoint), entered_(endpoint.enter()) {}
  InCall(InCall const&) = delete;
  InCall& operator=(InCall const&) = delete;
  ~InCall() {
    if (entered_) endpoint_.leave();
  }
  [[nodiscard]] bool entered() const { return entered_; }

 private:
  Endpoint& endpoint_;
  bool entered_;
};

//! @brief Checks the arguments, runs `body(lane)` on every lane, and tells how it went.
//!
//! What a rank finds wrong with its own arguments ends the communicator for all ranks: the peers may already
//! wait for this call, and so they learn at once what and who.
template <class Transport, class T, class E, class Body>
[[nodiscard]] Result<void> run_on_host(Communicator<Transport> const& communicator, char const* during,
                                       CallIdentity const& identity, Call<T, E>& call, Body&& body) {
  using Lane = typename Transport::template Lane<>;
  auto& endpoint = communicator.endpoint();
  InCall const in_call(endpoint);
  auto const rank = static_cast<std::int16_t>(endpoint.rank());
  if (!in_call.entered()) {
    return Error{.code = Errc::concurrent_use, .rank = rank, .reporter = rank, .during = during};
  }
  if (auto const earlier = endpoint.template failure<HostAccess>()) return earlier->error(during);
  if (Errc const bad = check_buffers(call.in, call.out, call.count, sizeof(T), alignof(T)); bad != Errc::ok) {
    auto const me = static_cast<std::uint8_t>(rank);
    return endpoint.template fail<HostAccess>({.code = bad, .rank = me, .reporter = me}).error(during);
  }
  call.in_at = endpoint.locate(call.in, call.count * sizeof(T));
  call.out_at = endpoint.locate(call.out, call.count * sizeof(T));
  std::atomic<bool> ok{true};
  endpoint.team().run([&](int index) {
    Lane lane(endpoint, index, identity);
    body(lane);
    if (!lane.ok()) ok.store(false, std::memory_order_relaxed);
  });
  if (!ok.load(std::memory_order_relaxed)) return endpoint.status(during);
  return {};
}

}  // namespace chevron::detail

#endif
