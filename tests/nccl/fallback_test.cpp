// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Who does what where another library stands behind: CHEVRON_NCCL_FALLBACK names the one that stands in for it.
#include <chevron/nccl/exports.cuh>

#include <nccl/pretended.hpp>
#include <support/catch.hpp>

#include <dlfcn.h>

#include <cstdlib>
#include <string>
#include <vector>

namespace {

//! What was asked of the library behind since the last time.
std::string asked() {
  void* const library = ::dlopen(std::getenv("CHEVRON_NCCL_FALLBACK"), RTLD_NOW | RTLD_NOLOAD);
  REQUIRE(library != nullptr);
  auto* const notes = reinterpret_cast<char const* (*)()>(::dlsym(library, "stand_in_notes"));
  REQUIRE(notes != nullptr);
  std::string const text = notes();
  (void)::dlclose(library);
  return text;
}
int count_of(std::string const& text, std::string const& part) {
  int count = 0;
  for (auto at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

std::vector<ncclComm_t> joined(int ranks, ncclConfig_t* config = nullptr) {
  ncclUniqueId id;
  REQUIRE(ncclGetUniqueId(&id) == ncclSuccess);
  std::vector<ncclComm_t> comms(static_cast<std::size_t>(ranks));
  REQUIRE(ncclGroupStart() == ncclSuccess);
  for (int rank = 0; rank < ranks; ++rank) {
    REQUIRE(ncclCommInitRankConfig(&comms[static_cast<std::size_t>(rank)], ranks, id, rank, config) == ncclSuccess);
  }
  if (config != nullptr) config->blocking = 77;  // the program's may be gone when the group ends
  REQUIRE(ncclGroupEnd() == ncclSuccess);
  return comms;
}
void leave(std::vector<ncclComm_t> const& comms) {
  for (ncclComm_t const comm : comms) CHECK(ncclCommDestroy(comm) == ncclSuccess);
}

}  // namespace

TEST_CASE("the version is that of the library behind") {
  int version = 0;
  CHECK((ncclGetVersion(&version) == ncclSuccess && version == 22899));
}

TEST_CASE("a communicator of chevron has a twin that does what chevron has not") {
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  config.blocking = 1;
  auto const comms = joined(2, &config);
  std::string const at_joining = asked();
  CHECK(count_of(at_joining, "config with blocking 1;") == 2);
  // Its inner calls are its own: each rank's pair came to it, not to chevron's functions of that name.
  CHECK((count_of(at_joining, "start;") == 2 && count_of(at_joining, "end;") == 2));
  float in[2] = {1, 2};
  float out[2] = {};
  for (std::size_t rank = 0; rank < 2; ++rank) {
    REQUIRE(ncclAllReduce(&in[rank], &out[rank], 1, ncclFloat, ncclSum, comms[rank], nullptr) == ncclSuccess);
  }
  CHECK((out[0] == 3 && out[1] == 3));
  CHECK(asked() == "");
  CHECK(ncclAllReduce(in, out, 5, ncclDouble, ncclMax, comms[1], nullptr) == ncclSuccess);
  CHECK(asked() == "all_reduce 1/2 count 5 type 8 op 2;");
  CHECK(ncclBroadcast(in, out, 1, ncclFloat, 1, comms[0], nullptr) == ncclSuccess);
  CHECK(asked() == "broadcast 0/2 root 1;");
  ncclResult_t state = ncclInternalError;
  CHECK((ncclCommGetAsyncError(comms[0], &state) == ncclSuccess && state == ncclSuccess));
  CHECK(asked() == "state 0/2;");
  CHECK(ncclGather(in, out, 1, ncclFloat, 1, comms[0], nullptr) == ncclInvalidUsage);
  CHECK(std::string(ncclGetLastError(comms[0])).find("no such function") != std::string::npos);
  leave(comms);
  CHECK(asked() == "destroy 0/2;destroy 1/2;");
}

TEST_CASE("a group that has calls of both kinds is a group there as well") {
  auto const comms = joined(2);
  (void)asked();
  float in[2] = {1, 2};
  float out[2] = {};
  REQUIRE(ncclGroupStart() == ncclSuccess);
  for (std::size_t rank = 0; rank < 2; ++rank) {
    REQUIRE(ncclBroadcast(&in[rank], &out[rank], 1, ncclFloat, 0, comms[rank], nullptr) == ncclSuccess);
    REQUIRE(ncclAllReduce(&in[rank], &out[rank], 1, ncclFloat, ncclSum, comms[rank], nullptr) == ncclSuccess);
  }
  CHECK(asked() == "start;broadcast 0/2 root 0;broadcast 1/2 root 0;");
  CHECK(out[0] == 0);
  REQUIRE(ncclGroupEnd() == ncclSuccess);
  CHECK(asked() == "end;");
  CHECK((out[0] == 3 && out[1] == 3));
  REQUIRE(ncclGroupStart() == ncclSuccess);
  REQUIRE(ncclGroupEnd() == ncclSuccess);
  CHECK(asked() == "");
  leave(comms);
}

TEST_CASE("a made operation has a twin of its own number there") {
  auto const comms = joined(2);
  float factor = 2;
  ncclRedOp_t operation{};
  REQUIRE(ncclRedOpCreatePreMulSum(&operation, &factor, ncclFloat, ncclScalarHostImmediate, comms[1]) == ncclSuccess);
  (void)asked();
  float data = 0;
  CHECK(ncclReduce(&data, &data, 1, ncclFloat, operation, 0, comms[1], nullptr) == ncclSuccess);
  CHECK(asked() == "reduce 1/2 op 101;");
  CHECK(ncclReduce(&data, &data, 1, ncclFloat, ncclMin, 0, comms[1], nullptr) == ncclSuccess);
  CHECK(asked() == "reduce 1/2 op 3;");
  CHECK(ncclRedOpDestroy(operation, comms[1]) == ncclSuccess);
  CHECK(asked() == "unmake 1/2 op 101;");
  leave(comms);
}

TEST_CASE("the handle of a window is that library's, and its end reaches both") {
  auto const comms = joined(2);
  (void)asked();
  float data[2][4];
  ncclWindow_t windows[2] = {};
  for (std::size_t rank = 0; rank < 2; ++rank) {
    REQUIRE(ncclCommWindowRegister(comms[rank], data[rank], sizeof(data[rank]), &windows[rank],
                                   NCCL_WIN_COLL_SYMMETRIC) == ncclSuccess);
  }
  CHECK(asked() == "window 0/2 flags 1;window 1/2 flags 1;");
  CHECK(windows[0] != windows[1]);
  CHECK(ncclCommWindowDeregister(comms[0], windows[1]) == ncclInvalidArgument);
  CHECK(asked() == "");
  CHECK(ncclCommWindowDeregister(comms[1], windows[1]) == ncclSuccess);
  CHECK(asked() == "no window 1/2 handle 1;");
  CHECK(ncclCommWindowDeregister(comms[1], windows[1]) == ncclInvalidArgument);
  // That library has no ncclCommRegister: a window of chevron alone.
  void* handle = nullptr;
  CHECK((ncclCommRegister(comms[0], data[0], sizeof(data[0]), &handle) == ncclSuccess && handle != nullptr));
  CHECK(ncclCommDeregister(comms[0], handle) == ncclSuccess);
  CHECK(asked() == "");
  CHECK(ncclTeamLsa(comms[1]).stride == 7);
  leave(comms);
}

TEST_CASE("ranks of several hosts, and counts that were not compiled, are that library's alone") {
  chevron::test::pretended_hosts() = 2;
  auto const far = joined(2);
  chevron::test::pretended_hosts() = 1;
  auto const many = joined(5);
  (void)asked();
  for (ncclComm_t const comm : {far[0], many[4]}) {
    CHECK_FALSE(chevron::nccl::is_ours(comm));
    float data = 0;
    CHECK(ncclAllReduce(&data, &data, 1, ncclFloat, ncclSum, comm, nullptr) == ncclSuccess);
  }
  CHECK(asked() == "all_reduce 0/2 count 1 type 7 op 0;all_reduce 4/5 count 1 type 7 op 0;");
  int count = 0;
  CHECK((ncclCommCount(many[0], &count) == ncclSuccess && count == 5));
  leave(far);
  leave(many);
}
