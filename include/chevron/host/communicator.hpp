// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef CHEVRON_HOST_COMMUNICATOR_HPP
#define CHEVRON_HOST_COMMUNICATOR_HPP

//! @file
//! A rank's membership in a group: what calls are made on.

#include <chevron/core/element.hpp>
#include <chevron/core/error.hpp>
#include <chevron/core/result.hpp>
#include <chevron/host/window.hpp>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <utility>

namespace chevron {

//! @brief One rank's communicator. Movable; used by one thread at a time (a second one is refused, contract
//! C6).
//! @tparam Transport  says how the ranks reach each other; Transport::Endpoint is one rank's end of it
template <class Transport>
class Communicator {
 public:
  using transport = Transport;
  using Endpoint = typename Transport::Endpoint;
  template <class T>
  using Window = BasicWindow<T, Endpoint>;

  static constexpr int ranks = Transport::ranks;

  explicit Communicator(std::shared_ptr<Endpoint> endpoint) : endpoint_(std::move(endpoint)) {}

  [[nodiscard]] int rank() const { return endpoint_->rank(); }
  [[nodiscard]] static constexpr int size() { return ranks; }

  //! @brief Memory of this rank that all ranks can reach.
  //! Shape:  `count` elements on this rank, zeroed; may differ by rank
  //! Memory: owned by the window that is returned; on the rank's device or on the host, as the transport says; aligned
  //!         to a page
  //! Sync:   collective: every rank calls it, in the same order among its windows
  //! Errors: size_overflow, no_memory, timeout, peer_died
  template <Element T>
  [[nodiscard]] Result<Window<T>> allocate(std::size_t count) {
    constexpr char const* during = "allocating a window";
    if (count > std::numeric_limits<std::ptrdiff_t>::max() / sizeof(T)) {
      return Error{.code = Errc::size_overflow, .rank = static_cast<std::int16_t>(rank()), .during = during};
    }
    Result<std::uint32_t> const number = endpoint_->allocate(count * sizeof(T));
    if (!number) return number.error();
    return Window<T>(endpoint_, *number, reinterpret_cast<T*>(endpoint_->window_data(*number)), count);
  }

  //! @brief Makes memory that this rank already has a window.
  //! Shape:  `count` elements on this rank; may differ by rank
  //! Memory: stays the caller's, and must live as long as the window that is returned
  //! Sync:   collective: every rank calls it, in the same order among its windows
  //! Errors: size_overflow, and those of the transport
  template <Element T>
  [[nodiscard]] Result<Window<T>> register_window(T* data, std::size_t count) requires
      requires(Endpoint& endpoint) {
    endpoint.register_window(data, count);
  }
  {
    if (count > std::numeric_limits<std::ptrdiff_t>::max() / sizeof(T)) {
      return Error{.code = Errc::size_overflow,
                   .rank = static_cast<std::int16_t>(rank()),
                   .during = "registering a window"};
    }
    Result<std::uint32_t> const number = endpoint_->register_window(data, count * sizeof(T));
    if (!number) return number.error();
    return Window<T>(endpoint_, *number, data, count);
  }

  //! The failure that ended this communicator, or success while it is usable.
  [[nodiscard]] Result<void> status() const { return endpoint_->status("an earlier call"); }

  //! Ends the communicator for all ranks: calls in progress and later ones return errc::aborted, naming this
  //! rank. May be called from any thread.
  void abort() { endpoint_->abort(); }

  //! For the collectives: the transport's end.
  [[nodiscard]] Endpoint& endpoint() const { return *endpoint_; }

 private:
  std::shared_ptr<Endpoint> endpoint_;
};

}  // namespace chevron

#endif
