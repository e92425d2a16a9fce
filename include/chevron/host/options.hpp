// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef CHEVRON_HOST_OPTIONS_HPP
#define CHEVRON_HOST_OPTIONS_HPP

//! @file
//! What a rank may choose when it joins a group, and what all ranks of a group must have chosen alike.

#include <chevron/core/config.hpp>
#include <chevron/core/error.hpp>
#include <chevron/sync/epoch.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>

namespace chevron {

//! @brief How a rank joins a group. The defaults suit; the fields marked (alike) must be the same on all
//! ranks.
struct Options {
  std::chrono::milliseconds deadline{30'000};  //!< for joining, and for each wait of a call
  std::optional<int> pin_to_cpu{};  //!< binds the joining thread to this CPU (as the system numbers them)
  std::optional<bool>
      non_temporal_stores{};  //!< whether a policy may store past the caches; by the CPU if not said
  int lanes = 1;              //!< (alike) threads that work on a call: the caller's and lanes - 1 more
  std::size_t packet_bytes =
      16 * 1024;  //!< (alike) bytes that one step of a packet algorithm carries, 56 or more
  std::size_t chunk_bytes =
      128 * 1024;         //!< (alike) bytes of a chunk of the staged algorithms, a multiple of 64
  Epoch first_epoch = 1;  //!< (alike) where the step counters begin; tests set it near their wrap
};

//! @brief How a rank on a device joins a group; the fields marked (alike) must be the same on all ranks.
struct CudaOptions {
  std::chrono::milliseconds deadline{30'000};  //!< for joining, and for each wait of a call
  int lanes = 0;  //!< (alike) thread blocks that a call may have; 0: one for each multiprocessor, where ranks
                  //!< share a device as many as fit, up to 64; more than fit are as many as fit
  int communicators = 1;  //!< (alike) that may have calls on a device at the same time: they share its room
  std::size_t packet_bytes =
      32 * 1024;  //!< (alike) bytes that one step of a packet algorithm carries to a lane, a
                  //!< multiple of 128
  std::size_t chunk_bytes =
      32 * 1024;          //!< (alike) bytes of a chunk of the staged algorithms, a multiple of 128
  Epoch first_epoch = 1;  //!< (alike) where the step counters begin; tests set it near their wrap
};

//! @brief What the ranks compare when they meet (contract C7): rank-uniform by construction of everything
//! else.
struct Configuration {
  std::int32_t version_number = version;
  std::int32_t ranks = 0;
  std::int32_t lanes = 0;
  std::int32_t communicators = 1;  //!< that share a device's room
  std::uint32_t selectors =
      0;  //!< fingerprint of the selectors named at joining: tables, rank counts, elements
  std::uint64_t packet_bytes = 0;
  std::uint64_t chunk_bytes = 0;
  std::uint64_t first_epoch = 0;

  template <class AnyOptions>
  [[nodiscard]] static Configuration of(int ranks, AnyOptions const& options, std::uint32_t selectors) {
    Configuration made{.version_number = version,
                       .ranks = ranks,
                       .lanes = options.lanes,
                       .selectors = selectors,
                       .packet_bytes = options.packet_bytes,
                       .chunk_bytes = options.chunk_bytes,
                       .first_epoch = options.first_epoch};
    if constexpr (requires { options.communicators; }) made.communicators = options.communicators;
    return made;
  }

  //! Names the first field in which two configurations differ; Errc::ok where they are the same.
  [[nodiscard]] Errc difference(Configuration const& other) const {
    if (version_number != other.version_number) return Errc::version_mismatch;
    if (ranks != other.ranks) return Errc::ranks_mismatch;
    if (selectors != other.selectors) return Errc::table_mismatch;
    if (lanes != other.lanes || communicators != other.communicators) {
      return Errc::lanes_mismatch;
    }
    if (packet_bytes != other.packet_bytes || chunk_bytes != other.chunk_bytes) return Errc::mailbox_mismatch;
    if (first_epoch != other.first_epoch) return Errc::bad_argument;
    return Errc::ok;
  }
};

//! @brief The first option outside its domain, as an error; none when all are fine.
[[nodiscard]] inline std::optional<Error> check(Options const& options, int rank, int ranks) {
  auto const bad = [&](char const* what) {
    return Error{.code = Errc::bad_argument,
                 .rank = static_cast<std::int16_t>(rank),
                 .during = "joining",
                 .detail = what};
  };
  if (rank < 0 || rank >= ranks) return bad("the rank must be 0 to the rank count - 1");
  if (options.lanes < 1 || options.lanes > 64) return bad("lanes must be 1 to 64");
  if (options.packet_bytes < 56 || options.packet_bytes > (std::size_t{1} << 30)) {
    return bad("packet_bytes must be 56 to 2^30");
  }
  if (options.chunk_bytes < 64 || options.chunk_bytes % 64 != 0 ||
      options.chunk_bytes > (std::size_t{1} << 30)) {
    return bad("chunk_bytes must be a multiple of 64, at most 2^30");
  }
  if (options.deadline.count() <= 0) return bad("the deadline must be positive");
  return std::nullopt;
}

//! @brief The same for a rank on a device.
[[nodiscard]] inline std::optional<Error> check(CudaOptions const& options) {
  auto const bad = [](char const* what) {
    return Error{.code = Errc::bad_argument, .during = "joining", .detail = what};
  };
  auto const is_size = [](std::size_t bytes) {
    return bytes >= 128 && bytes % 128 == 0 && bytes <= (std::size_t{1} << 24);
  };
  if (options.lanes < 0 || options.lanes > 256) return bad("lanes must be 1 to 256, or 0");
  if (options.communicators < 1) return bad("communicators must be 1 or more");
  if (!is_size(options.packet_bytes)) return bad("packet_bytes must be a multiple of 128, at most 2^24");
  if (!is_size(options.chunk_bytes)) return bad("chunk_bytes must be a multiple of 128, at most 2^24");
  if (options.deadline.count() <= 0) return bad("the deadline must be positive");
  return std::nullopt;
}

}  // namespace chevron

#endif
