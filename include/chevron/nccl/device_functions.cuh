// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef CHEVRON_NCCL_DEVICE_FUNCTIONS_CUH
#define CHEVRON_NCCL_DEVICE_FUNCTIONS_CUH

//! @file
//! The host functions of nccl_device.h, for programs with kernels of their own that talk through NCCL's: the real library
//! does that, on the twin of chevron's communicator. Which ranks make a team chevron knows by itself. Pointers to that
//! header's structs pass through unread, so it is not included.

#include <chevron/nccl/calls.cuh>
#include <chevron/nccl/communicator.cuh>
#include <chevron/nccl/real_library.cuh>

#include <nccl.h>

namespace chevron::nccl {

//! @brief nccl_device.h's ncclTeam_t: member i of a team is rank `rank_of_communicator + (i - rank) * stride`.
struct Team {
  int ranks = 1;
  int rank = 0;
  int stride = 1;
};

namespace detail {

//! A question that a communicator of chevron can answer without a twin: its ranks are on one host, and reach each other.
template <class Answer, class... Arguments, class Own>
[[nodiscard]] Answer real_or_own(char const* name, ncclComm_t comm, Own&& own, Arguments... arguments) {
  if (is_ours(comm)) {
    if (comm->real == nullptr) return own(*comm);
    comm = comm->real;
  }
  auto* const real = RealLibrary::get().find<Answer(ncclComm_t, Arguments...)>(name);
  return real == nullptr ? Answer{} : real(comm, arguments...);
}

}  // namespace detail

}  // namespace chevron::nccl

extern "C" {
#pragma GCC visibility push(default)

chevron::nccl::Team ncclTeamWorld(ncclComm_t comm) {
  return chevron::nccl::detail::real_or_own<chevron::nccl::Team>("ncclTeamWorld", comm, [](ncclComm const& own) {
    return chevron::nccl::Team{.ranks = own.ranks, .rank = own.rank};
  });
}
chevron::nccl::Team ncclTeamLsa(ncclComm_t comm) {
  return chevron::nccl::detail::real_or_own<chevron::nccl::Team>("ncclTeamLsa", comm, [](ncclComm const& own) {
    return chevron::nccl::Team{.ranks = own.ranks, .rank = own.rank};
  });
}
chevron::nccl::Team ncclTeamRail(ncclComm_t comm) {
  return chevron::nccl::detail::real_or_own<chevron::nccl::Team>(
      "ncclTeamRail", comm, [](ncclComm const& own) { return chevron::nccl::Team{.stride = own.ranks}; });
}
int ncclTeamRankToWorld(ncclComm_t comm, chevron::nccl::Team team, int rank) {
  return chevron::nccl::detail::real_or_own<int>(
      "ncclTeamRankToWorld", comm,
      [&](ncclComm const& own) { return own.rank + (rank - team.rank) * team.stride; }, team, rank);
}
int ncclTeamRankToLsa(ncclComm_t comm, chevron::nccl::Team team, int rank) {
  return chevron::nccl::detail::real_or_own<int>(
      "ncclTeamRankToLsa", comm,
      [&](ncclComm const& own) { return own.rank + (rank - team.rank) * team.stride; }, team, rank);
}

ncclResult_t ncclCommQueryProperties(ncclComm_t comm, void* properties) {
  return chevron::nccl::on_real<ncclResult_t(ncclComm_t, void*)>(
      "ncclCommQueryProperties", comm, [&](auto* real, ncclComm_t c) { return real(c, properties); });
}
ncclResult_t ncclDevCommCreate(ncclComm_t comm, void const* requirements, void* made) {
  return chevron::nccl::on_real<ncclResult_t(ncclComm_t, void const*, void*)>(
      "ncclDevCommCreate", comm, [&](auto* real, ncclComm_t c) { return real(c, requirements, made); });
}
ncclResult_t ncclDevCommDestroy(ncclComm_t comm, void const* device_communicator) {
  return chevron::nccl::on_real<ncclResult_t(ncclComm_t, void const*)>(
      "ncclDevCommDestroy", comm, [&](auto* real, ncclComm_t c) { return real(c, device_communicator); });
}
ncclResult_t ncclGinBarrierCreateRequirement(ncclComm_t comm, chevron::nccl::Team team, int barriers, void* handle,
                                             void* requirement) {
  return chevron::nccl::on_real<ncclResult_t(ncclComm_t, chevron::nccl::Team, int, void*, void*)>(
      "ncclGinBarrierCreateRequirement", comm,
      [&](auto* real, ncclComm_t c) { return real(c, team, barriers, handle, requirement); });
}
ncclResult_t ncclLsaBarrierCreateRequirement(chevron::nccl::Team team, int barriers, void* handle, void* requirement) {
  return chevron::nccl::on_real_alone<ncclResult_t(chevron::nccl::Team, int, void*, void*)>(
      "ncclLsaBarrierCreateRequirement", [&](auto* real) { return real(team, barriers, handle, requirement); });
}
ncclResult_t ncclLLA2ACreateRequirement(int blocks, int slots, void* handle, void* requirement) {
  return chevron::nccl::on_real_alone<ncclResult_t(int, int, void*, void*)>(
      "ncclLLA2ACreateRequirement", [&](auto* real) { return real(blocks, slots, handle, requirement); });
}
//! No slots where no NCCL is: nothing could use them.
int ncclLLA2ACalcSlots(int elements, int element_size) {
  auto* const real = chevron::nccl::RealLibrary::get().find<int(int, int)>("ncclLLA2ACalcSlots");
  return real == nullptr ? 0 : real(elements, element_size);
}

#pragma GCC visibility pop
}  // extern "C"

#endif
