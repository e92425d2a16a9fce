// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef CHEVRON_NCCL_LIFETIME_CUH
#define CHEVRON_NCCL_LIFETIME_CUH

//! @file
//! How communicators come and go: made from an id, all at once, or out of another one; ended in order, or at once.

#include <chevron/host/bootstrap/key.hpp>
#include <chevron/nccl/calls.cuh>
#include <chevron/nccl/communicator.cuh>
#include <chevron/nccl/config.cuh>
#include <chevron/nccl/errors.cuh>
#include <chevron/nccl/group.cuh>
#include <chevron/nccl/joining.cuh>
#include <chevron/nccl/real_library.cuh>

#include <nccl.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace chevron::nccl {

//! @brief ncclGetUniqueId: the real library's where there is one, so that its ranks find each other by it too.
[[nodiscard]] inline ncclResult_t make_id(ncclUniqueId* id) {
  if (id == nullptr) return fail(ncclInvalidArgument, "chevron: ncclGetUniqueId: a null pointer");
  if (RealLibrary::get().is_here()) {
    return on_real_alone<decltype(ncclGetUniqueId)>("ncclGetUniqueId", [&](auto* real) { return real(id); });
  }
  for (std::size_t at = 0; at < sizeof(id->internal); at += sizeof(SharedMemoryKey::Bytes)) {
    auto const key = SharedMemoryKey::random().bytes();
    std::memcpy(id->internal + at, key.data(), key.size());
  }
  return ncclSuccess;
}

//! @brief ncclCommInitRank and ncclCommInitRankConfig.
[[nodiscard]] inline ncclResult_t join_by_id(ncclComm_t* to, int ranks, ncclUniqueId const& id, int rank,
                                             ncclConfig_t* config) {
  Group& group = Group::of_this_thread();
  if (to == nullptr || ranks < 1 || rank < 0 || rank >= ranks) {
    return group.refuse(fail(ncclInvalidArgument, "chevron: joining: rank " + std::to_string(rank) + " of " +
                                                      std::to_string(ranks) + ", or a null pointer"));
  }
  *to = nullptr;
  auto const kept = KeptConfig::of(config);
  if (!kept) return group.refuse(fail(kept.error()));
  auto const device = backend().device();
  if (!device) return group.refuse(fail(device.error()));
  auto const join_real = [=, kept = *kept](ncclComm_t* real) {
    if (kept.get() != nullptr) {
      auto* const function = RealLibrary::get().find<decltype(ncclCommInitRankConfig)>("ncclCommInitRankConfig");
      return function == nullptr ? ncclInternalError : function(real, ranks, id, rank, kept.get());
    }
    auto* const function = RealLibrary::get().find<decltype(ncclCommInitRank)>("ncclCommInitRank");
    return function == nullptr ? ncclInternalError : function(real, ranks, id, rank);
  };
  Joiner joiner{.key = key_of(id), .rank = rank, .ranks = ranks, .device = *device, .join_real = join_real};
  return group.join([joiner = std::move(joiner), to] { return join(joiner, to); });
}

//! @brief ncclCommInitAll: all ranks at once, of one thread.
[[nodiscard]] inline ncclResult_t join_all(ncclComm_t* to, int ranks, int const* devices) {
  if (to == nullptr || ranks < 1) return fail(ncclInvalidArgument, "chevron: ncclCommInitAll: no ranks");
  ncclUniqueId id{};
  if (ncclResult_t const made = make_id(&id); made != ncclSuccess) return made;
  auto const before = backend().device();
  if (!before) return fail(before.error());
  Group& group = Group::of_this_thread();
  group.start();
  for (int rank = 0; rank < ranks; ++rank) {
    ncclResult_t result = code_of(backend().set_device(devices == nullptr ? rank : devices[rank]));
    if (result == ncclSuccess) {
      (void)join_by_id(to + rank, ranks, id, rank, nullptr);
    } else {
      (void)group.refuse(result);
    }
  }
  (void)backend().set_device(*before);
  return group.end();
}

//! @brief ncclCommSplit: those with the same color become a communicator, in the order of their keys.
[[nodiscard]] inline ncclResult_t split(ncclComm& comm, int color, int key, ncclComm_t* to,
                                        KeptConfig const& config) {
  struct Wish {
    int color;
    int key;
    SharedMemoryKey::Bytes name;
  };
  *to = nullptr;
  auto const all =
      comm.ranks_met->all_gather(Wish{color, key, SharedMemoryKey::random().bytes()}, -1, "splitting a communicator");
  if (!all) return fail(all.error());
  std::vector<int> members;
  for (int rank = 0; rank < comm.ranks; ++rank) {
    if (all->messages[rank].color == color) members.push_back(rank);
  }
  std::stable_sort(members.begin(), members.end(),
                   [&](int a, int b) { return all->messages[a].key < all->messages[b].key; });
  auto const split_real = [&](ncclComm_t* real) {
    auto* const function = RealLibrary::get().find<decltype(ncclCommSplit)>("ncclCommSplit");
    return function == nullptr || comm.real == nullptr ? ncclInvalidUsage
                                                       : function(comm.real, color, key, real, config.get());
  };
  if (color == NCCL_SPLIT_NOCOLOR) {
    ncclComm_t none = nullptr;
    InsideReal const inside;
    if (comm.real != nullptr) (void)split_real(&none);  // collective there as well
    return ncclSuccess;
  }
  auto const mine = std::find(members.begin(), members.end(), comm.rank);
  Joiner const joiner{.key = SharedMemoryKey::of(all->messages[members[0]].name),
                      .rank = static_cast<int>(mine - members.begin()),
                      .ranks = static_cast<int>(members.size()),
                      .device = comm.device,
                      .join_real = split_real};
  return join(joiner, to);
}

//! @brief ncclCommFinalize: waits for what was launched.
[[nodiscard]] inline ncclResult_t finalize(ncclComm& comm) {
  if (auto done = backend().synchronize(comm.device); !done) return fail(done.error());
  return code_of(comm.member->status());
}

//! @brief ncclCommDestroy and ncclCommAbort.
[[nodiscard]] inline ncclResult_t leave(ncclComm_t comm, bool at_once) {
  std::unique_ptr<ncclComm> const owned(comm);
  if (at_once) owned->member->abort();
  ncclResult_t result = ncclSuccess;
  if (owned->real != nullptr) {
    using Function = decltype(ncclCommDestroy);
    char const* const name = at_once ? "ncclCommAbort" : "ncclCommDestroy";
    result = on_real<Function>(name, owned->real, [](auto* function, ncclComm_t real) { return function(real); });
  }
  if (!at_once) {
    auto const done = backend().synchronize(owned->device);
    if (!done && result == ncclSuccess) result = fail(done.error());
  }
  return result;
}

}  // namespace chevron::nccl

#endif
