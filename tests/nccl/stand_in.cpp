// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A library that stands in for NVIDIA's: it only notes what is asked of it. Ranks are of one process.
#include <nccl.h>

#include <cstdint>
#include <cstring>
#include <mutex>
#include <string>
#include <thread>

struct ncclComm {
  std::uint64_t first_word = 0x0280028002800280;
  int rank = 0;
  int ranks = 0;
};

namespace {

std::string& notes() {
  static std::string text;
  return text;
}
std::mutex mutex;

ncclResult_t note(std::string const& what) {
  std::lock_guard const lock(mutex);  // ranks join side by side
  notes() += what + ";";
  return ncclSuccess;
}
std::string of(ncclComm_t comm) {
  if (comm->first_word != 0x0280028002800280) return " (a communicator of another library)";
  return std::string(" ").append(std::to_string(comm->rank)).append("/").append(std::to_string(comm->ranks));
}
char handles[8];

}  // namespace

extern "C" {
#pragma GCC visibility push(default)

//! What was noted since the last time.
char const* stand_in_notes() {
  static std::string given;
  given = notes();
  notes().clear();
  return given.c_str();
}

ncclResult_t ncclGetVersion(int* version) {
  *version = 22899;
  return ncclSuccess;
}
ncclResult_t ncclGetUniqueId(ncclUniqueId* id) {
  static char next = 1;
  std::memset(id, next++, sizeof(*id));
  return ncclSuccess;
}
ncclResult_t ncclGroupStart() { return note("start"); }
ncclResult_t ncclGroupEnd() { return note("end"); }
ncclResult_t ncclCommInitRank(ncclComm_t* comm, int ranks, ncclUniqueId, int rank) {
  *comm = new ncclComm{.rank = rank, .ranks = ranks};
  // As NCCL does: calls of its own functions by their exported names, on threads of its own as well.
  std::thread([] {
    ncclGroupStart();
    ncclGroupEnd();
  }).join();
  return ncclSuccess;
}
ncclResult_t ncclCommInitRankConfig(ncclComm_t* comm, int ranks, ncclUniqueId id, int rank, ncclConfig_t* config) {
  note("config with blocking " + std::to_string(config->blocking));
  return ncclCommInitRank(comm, ranks, id, rank);
}
ncclResult_t ncclCommDestroy(ncclComm_t comm) {
  note("destroy" + of(comm));
  delete comm;
  return ncclSuccess;
}
ncclResult_t ncclCommCount(ncclComm_t const comm, int* count) {
  *count = comm->ranks;
  return note("count" + of(comm));
}
ncclResult_t ncclCommGetAsyncError(ncclComm_t comm, ncclResult_t* error) {
  *error = ncclSuccess;
  return note("state" + of(comm));
}
ncclResult_t ncclAllReduce(void const*, void*, std::size_t count, ncclDataType_t type, ncclRedOp_t op, ncclComm_t comm,
                           cudaStream_t) {
  return note("all_reduce" + of(comm) + " count " + std::to_string(count) + " type " + std::to_string(type) + " op " +
              std::to_string(op));
}
ncclResult_t ncclBroadcast(void const*, void*, std::size_t, ncclDataType_t, int root, ncclComm_t comm, cudaStream_t) {
  return note("broadcast" + of(comm) + " root " + std::to_string(root));
}
ncclResult_t ncclReduce(void const*, void*, std::size_t, ncclDataType_t, ncclRedOp_t op, int, ncclComm_t comm,
                        cudaStream_t) {
  return note("reduce" + of(comm) + " op " + std::to_string(op));
}
ncclResult_t ncclRedOpCreatePreMulSum(ncclRedOp_t* op, void*, ncclDataType_t, ncclScalarResidence_t, ncclComm_t comm) {
  *op = static_cast<ncclRedOp_t>(100 + comm->rank);
  return note("make" + of(comm));
}
ncclResult_t ncclRedOpDestroy(ncclRedOp_t op, ncclComm_t comm) {
  return note("unmake" + of(comm) + " op " + std::to_string(op));
}
ncclResult_t ncclCommWindowRegister(ncclComm_t comm, void*, std::size_t, ncclWindow_t* window, int flags) {
  *window = reinterpret_cast<ncclWindow_t>(&handles[comm->rank]);
  return note("window" + of(comm) + " flags " + std::to_string(flags));
}
ncclResult_t ncclCommWindowDeregister(ncclComm_t comm, ncclWindow_t window) {
  return note("no window" + of(comm) + " handle " +
              std::to_string(reinterpret_cast<char*>(window) - &handles[0]));
}
struct StandInTeam {
  int ranks, rank, stride;
};
StandInTeam ncclTeamLsa(ncclComm_t comm) { return {comm->ranks, comm->rank, 7}; }

#pragma GCC visibility pop
}
