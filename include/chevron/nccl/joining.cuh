// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef CHEVRON_NCCL_JOINING_CUH
#define CHEVRON_NCCL_JOINING_CUH

//! @file
//! How a rank becomes a member of a communicator, and who does that communicator's work: chevron, where all ranks are on
//! one host and their number was compiled; else the real library alone.

#include <chevron/core/hash.hpp>
#include <chevron/host/bootstrap/key.hpp>
#include <chevron/host/bootstrap/processes.hpp>
#include <chevron/nccl/backend.cuh>
#include <chevron/nccl/communicator.cuh>
#include <chevron/nccl/errors.cuh>
#include <chevron/nccl/group.cuh>
#include <chevron/nccl/real_library.cuh>

#include <nccl.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

namespace chevron::nccl {

//! @brief The key of a group whose ranks share an id, whoever made it.
[[nodiscard]] inline SharedMemoryKey key_of(ncclUniqueId const& id) {
  std::string bytes(id.internal, sizeof(id.internal));
  SharedMemoryKey::Bytes key{};
  for (std::size_t half = 0; half < 2; ++half) {
    bytes.push_back(static_cast<char>(half));
    std::uint64_t const hash = hash_of(std::string_view(bytes));
    std::memcpy(key.data() + 8 * half, &hash, sizeof(hash));
  }
  return SharedMemoryKey::of(key);
}

//! @brief A number that processes of one boot of one host have in common.
[[nodiscard]] inline std::uint64_t host_number() {
  std::string boot;
  std::ifstream("/proc/sys/kernel/random/boot_id") >> boot;
  return hash_of(std::string_view(boot));
}

//! @brief A rank on its way into a communicator.
struct Joiner {
  SharedMemoryKey key{};
  int rank = 0;
  int ranks = 0;
  int device = 0;
  //! Makes this rank one of the real library's communicator.
  std::function<ncclResult_t(ncclComm_t* real)> join_real{};
};

namespace detail {

//! @brief Whether all ranks are in this process, or each in another one; nothing where it is neither.
[[nodiscard]] inline std::optional<bool> in_one_process(Processes const& met, int ranks) {
  std::unordered_set<pid_t> processes;
  for (int rank = 0; rank < ranks; ++rank) processes.insert(met.hello(rank).pid);
  if (processes.size() == 1) return true;
  if (processes.size() == static_cast<std::size_t>(ranks)) return false;
  return std::nullopt;
}

//! @brief Collective: makes a rank a member of a group of chevron.
[[nodiscard]] inline Result<void> become_member(ncclComm& comm) {
  constexpr char const* during = "joining";
  auto const deadline = Settings::get().deadline;
  Configuration configuration{.ranks = comm.ranks, .selectors = hash32("the NCCL interface")};
  auto met = Processes::meet(comm.key, {.configuration = configuration, .rank = comm.rank}, deadline);
  if (!met) return met.error();
  auto const together = in_one_process(*met, comm.ranks);
  if (!together) {
    return Error{.code = Errc::bad_argument,
                 .during = during,
                 .detail = "the ranks must be threads of one process or a process each; these are neither"};
  }
  auto member = backend().join({.key = comm.key,
                                .rank = comm.rank,
                                .ranks = comm.ranks,
                                .device = comm.device,
                                .one_process = *together,
                                .deadline = deadline});
  std::optional<Error> const failed = member ? std::nullopt : std::optional(member.error());
  auto agreed = met->agree(failed, during);
  if (!agreed) return failed ? *failed : agreed.error();
  comm.member = std::move(*member);
  comm.ranks_met = std::move(*met);
  return {};
}

}  // namespace detail

//! @brief Collective: joins, and puts the communicator where the caller wants it.
[[nodiscard]] inline ncclResult_t join(Joiner const& joiner, ncclComm_t* to) {
  Settings const& settings = Settings::get();
  if (auto placed = backend().set_device(joiner.device); !placed) return fail(placed.error());
  auto comm = std::make_unique<ncclComm>();
  comm->rank = joiner.rank;
  comm->ranks = joiner.ranks;
  comm->device = joiner.device;
  comm->key = joiner.key;
  ncclResult_t real_result = ncclInvalidUsage;
  if (RealLibrary::get().is_here()) {
    InsideReal const inside;
    real_result = joiner.join_real(&comm->real);
    if (real_result != ncclSuccess && real_result != ncclInProgress) comm->real = nullptr;
  }
  if (comm->real == nullptr) {
    comm->why_no_real = RealLibrary::get().is_here() ? "the real NCCL refused these ranks, with result " +
                                                           std::to_string(real_result)
                                                     : RealLibrary::get().reason();
  }

  std::string why;
  auto const counts = backend().rank_counts();
  if (settings.always_fall_back) {
    why = "CHEVRON_NCCL_FORCE_FALLBACK=1";
  } else if (std::find(counts.begin(), counts.end(), joiner.ranks) == counts.end()) {
    why = std::to_string(joiner.ranks) + " ranks were not compiled, but only";
    for (int const count : counts) why += " " + std::to_string(count);
  } else if (auto const hosts = comm->real == nullptr
                                    ? std::optional(std::vector<std::uint64_t>{})
                                    : backend().all_gather(comm->real, joiner.ranks, host_number());
             !hosts || std::any_of(hosts->begin(), hosts->end(),
                                   [](std::uint64_t host) { return host != host_number(); })) {
    why = "the ranks are on several hosts";
  } else if (auto joined = detail::become_member(*comm); !joined) {
    why = joined.error().message();
    if (comm->real == nullptr) return fail(code_of(joined.error().code), why);
  } else {
    log_call("joining", std::to_string(joiner.ranks) + " ranks", "chevron");
    *to = comm.release();
    return ncclSuccess;
  }
  if (comm->real == nullptr) {
    return fail(ncclInvalidUsage,
                "chevron: a communicator can't be made: " + why + "; and not by NCCL: " + comm->why_no_real);
  }
  // From here on it is as if chevron were not there.
  log_call("joining", why, "NCCL");
  *to = comm->real;
  return real_result;
}

}  // namespace chevron::nccl

#endif
