// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef CHEVRON_SYNC_CALL_RECORD_HPP
#define CHEVRON_SYNC_CALL_RECORD_HPP

//! @file
//! What a call is, as far as all ranks must agree on it; and how a rank shows its peers which call it is in.

#include <chevron/core/error.hpp>
#include <chevron/core/hash.hpp>
#include <chevron/sync/epoch.hpp>

#include <cstdint>

namespace chevron {

//! @brief What the ranks of one call must have in common. Everything but the count is known at compile time.
struct CallIdentity {
  std::uint32_t algorithm =
      0;  //!< the collective and algorithm, or the collective and "chosen by a selector"
  std::uint32_t element = 0;
  std::uint32_t operation = 0;  //!< the reduction operation and the epilogue
  std::uint32_t table = 0;      //!< the selector, 0 where an algorithm was named
  std::uint64_t count = 0;      //!< elements
  std::uint32_t fixed = 0;      //!< fixed_signature(), where the compiler has worked it out

  //! The signature of all but the count.
  [[nodiscard]] constexpr std::uint32_t fixed_signature() const {
    return mix(mix(mix(mix(0x5eed, algorithm), element), operation), table);
  }

  //! Never 0, which is what unwritten memory holds.
  [[nodiscard]] constexpr std::uint32_t signature() const {
    std::uint32_t const all = mix(fixed != 0 ? fixed : fixed_signature(), count);
    return all == 0 ? 1 : all;
  }

  //! Names the first thing in which two calls differ; Errc::ok where they are the same.
  [[nodiscard]] constexpr Errc difference(CallIdentity const& other) const {
    if (table != other.table) return Errc::table_mismatch;
    if (element != other.element) return Errc::element_mismatch;
    if (operation != other.operation) return Errc::operation_mismatch;
    if (count != other.count) return Errc::count_mismatch;
    if (algorithm != other.algorithm) return Errc::algorithm_mismatch;
    return Errc::ok;
  }
};

//! @brief One per lane, written by its owner when a call begins, read by peers only when something looks
//! wrong.
struct alignas(128) CallRecord {
  std::uint64_t stamp = 0;  //!< first epoch and signature of the call; written last
  std::uint64_t count = 0;
  std::uint32_t algorithm = 0;
  std::uint32_t element = 0;
  std::uint32_t operation = 0;
  std::uint32_t table = 0;

  template <class Access>
  void publish(Stamp first, CallIdentity const& call) {
    Access::store_relaxed(count, call.count);
    Access::store_relaxed(algorithm, call.algorithm);
    Access::store_relaxed(element, call.element);
    Access::store_relaxed(operation, call.operation);
    Access::store_relaxed(table, call.table);
    Access::store_release(stamp, first.word());
  }

  template <class Access>
  [[nodiscard]] Stamp first() const {
    return Stamp::of(Access::load_acquire(stamp));
  }

  template <class Access>
  [[nodiscard]] CallIdentity call() const {
    return {Access::load_relaxed(algorithm), Access::load_relaxed(element), Access::load_relaxed(operation),
            Access::load_relaxed(table), Access::load_relaxed(count)};
  }
};

}  // namespace chevron

#endif
