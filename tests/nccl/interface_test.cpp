// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What the interface does around its calls, with a backend that pretends: joining, groups, errors, splits.
#include <chevron/nccl/exports.cuh>

#include <nccl/pretended.hpp>
#include <support/catch.hpp>

#include <cstring>
#include <string>
#include <thread>
#include <vector>

namespace {

std::vector<ncclComm_t> joined(int ranks) {
  std::vector<int> const devices(static_cast<std::size_t>(ranks), 0);
  std::vector<ncclComm_t> comms(devices.size());
  REQUIRE(ncclCommInitAll(comms.data(), ranks, devices.data()) == ncclSuccess);
  return comms;
}
void leave(std::vector<ncclComm_t> const& comms) {
  for (ncclComm_t const comm : comms) CHECK(ncclCommDestroy(comm) == ncclSuccess);
}
bool says(std::string const& part) {
  INFO(ncclGetLastError(nullptr));
  return std::string(ncclGetLastError(nullptr)).find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("ranks of one thread join in a group, know who they are, and their calls run at its end") {
  ncclUniqueId id;
  REQUIRE(ncclGetUniqueId(&id) == ncclSuccess);
  std::vector<ncclComm_t> comms(3);
  REQUIRE(ncclGroupStart() == ncclSuccess);
  for (int rank = 0; rank < 3; ++rank) {
    REQUIRE(ncclCommInitRank(&comms[static_cast<std::size_t>(rank)], 3, id, rank) == ncclSuccess);
  }
  REQUIRE(ncclGroupEnd() == ncclSuccess);
  float in[3][2] = {{1, 10}, {2, 20}, {4, 40}};
  float out[3][2] = {};
  REQUIRE(ncclGroupStart() == ncclSuccess);
  for (std::size_t rank = 0; rank < 3; ++rank) {
    int known = -1;
    CHECK((ncclCommUserRank(comms[rank], &known) == ncclSuccess && known == static_cast<int>(rank)));
    CHECK((ncclCommCount(comms[rank], &known) == ncclSuccess && known == 3));
    REQUIRE(ncclAllReduce(in[rank], out[rank], 2, ncclFloat, ncclSum, comms[rank], nullptr) == ncclSuccess);
  }
  CHECK(out[0][0] == 0);
  REQUIRE(ncclGroupEnd() == ncclSuccess);
  for (auto const& mine : out) CHECK((mine[0] == 7 && mine[1] == 70));
  leave(comms);
}

TEST_CASE("ranks that are threads join without a group") {
  ncclUniqueId id;
  REQUIRE(ncclGetUniqueId(&id) == ncclSuccess);
  std::vector<ncclComm_t> comms(2);
  std::vector<ncclResult_t> results(2, ncclInternalError);
  std::vector<std::thread> threads;
  for (std::size_t rank = 0; rank < 2; ++rank) {
    threads.emplace_back([&, rank] { results[rank] = ncclCommInitRank(&comms[rank], 2, id, static_cast<int>(rank)); });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK((results[0] == ncclSuccess && results[1] == ncclSuccess));
  leave(comms);
}

TEST_CASE("a premultiplied sum multiplies each rank's input by its own factor") {
  auto const comms = joined(2);
  float factors[2] = {3, 5};
  float data[2] = {1, 2};
  float out[2] = {};
  ncclRedOp_t operations[2] = {};
  for (std::size_t rank = 0; rank < 2; ++rank) {
    REQUIRE(ncclRedOpCreatePreMulSum(&operations[rank], &factors[rank], ncclFloat, ncclScalarHostImmediate,
                                     comms[rank]) == ncclSuccess);
    factors[rank] = 0;  // it was taken at once
    CHECK(operations[rank] >= ncclNumOps);
  }
  for (std::size_t rank = 0; rank < 2; ++rank) {
    REQUIRE(ncclAllReduce(&data[rank], &out[rank], 1, ncclFloat, operations[rank], comms[rank], nullptr) ==
            ncclSuccess);
  }
  CHECK((out[0] == 13 && out[1] == 13));
  CHECK((data[0] == 1 && data[1] == 2));
  CHECK(ncclAllReduce(data, data, 1, ncclHalf, operations[0], comms[0], nullptr) == ncclInvalidArgument);
  CHECK(says("another data type"));
  CHECK(ncclRedOpDestroy(operations[0], comms[0]) == ncclSuccess);
  CHECK(ncclAllReduce(data, data, 1, ncclFloat, operations[0], comms[0], nullptr) == ncclInvalidArgument);
  CHECK(ncclRedOpDestroy(operations[0], comms[0]) == ncclInvalidArgument);
  leave(comms);
}

TEST_CASE("what chevron has not is refused with the function's name and why, where no NCCL is") {
  auto const comms = joined(2);
  float data = 0;
  CHECK(ncclBroadcast(&data, &data, 1, ncclFloat, 0, comms[0], nullptr) == ncclInvalidUsage);
  CHECK(says("ncclBroadcast"));
  CHECK(says("CHEVRON_NCCL_FALLBACK"));
  CHECK(ncclAllReduce(&data, &data, 1, ncclDouble, ncclSum, comms[0], nullptr) == ncclInvalidUsage);
  REQUIRE(ncclGroupStart() == ncclSuccess);
  CHECK(ncclAllReduce(&data, &data, 1, ncclDouble, ncclSum, comms[0], nullptr) == ncclInvalidUsage);
  CHECK(ncclGroupEnd() == ncclInvalidUsage);  // tells it again
  CHECK(ncclGroupEnd() == ncclInvalidUsage);
  CHECK(says("without a ncclGroupStart"));
  leave(comms);
  ncclComm_t comm = nullptr;
  ncclUniqueId id{};
  CHECK(ncclCommInitRank(&comm, 5, id, 0) == ncclInvalidUsage);
  CHECK(says("5 ranks were not compiled, but only 2 3"));
  CHECK(ncclCommInitRank(&comm, 2, id, 2) == ncclInvalidArgument);
  CHECK(comm == nullptr);
}

TEST_CASE("null pointers are refused") {
  auto const comms = joined(2);
  float data = 0;
  CHECK(ncclAllReduce(&data, &data, 1, ncclFloat, ncclSum, nullptr, nullptr) == ncclInvalidArgument);
  CHECK(says("ncclAllReduce: the ncclComm_t is null"));
  CHECK(ncclBroadcast(&data, &data, 1, ncclFloat, 0, nullptr, nullptr) == ncclInvalidArgument);
  CHECK(ncclCommCount(nullptr, nullptr) == ncclInvalidArgument);
  CHECK(ncclCommCount(comms[0], nullptr) == ncclInvalidArgument);
  CHECK(says("ncclCommCount: a null pointer"));
  CHECK(ncclCommUserRank(comms[0], nullptr) == ncclInvalidArgument);
  CHECK(ncclCommCuDevice(comms[0], nullptr) == ncclInvalidArgument);
  CHECK(ncclCommGetAsyncError(comms[0], nullptr) == ncclInvalidArgument);
  CHECK(ncclGetUniqueId(nullptr) == ncclInvalidArgument);
  CHECK(ncclCommInitAll(nullptr, 2, nullptr) == ncclInvalidArgument);
  CHECK(ncclCommSplit(comms[0], 0, 0, nullptr, nullptr) == ncclInvalidArgument);
  CHECK(ncclCommDestroy(nullptr) == ncclSuccess);  // as in NCCL
  void* handle = nullptr;
  CHECK(ncclCommRegister(comms[0], nullptr, 4, &handle) == ncclInvalidArgument);
  CHECK(ncclCommRegister(comms[0], &data, 4, nullptr) == ncclInvalidArgument);
  leave(comms);
}

TEST_CASE("an aborted communicator reports it on every rank") {
  auto const comms = joined(2);
  ncclResult_t state = ncclInternalError;
  CHECK((ncclCommGetAsyncError(comms[1], &state) == ncclSuccess && state == ncclSuccess));
  CHECK(ncclCommAbort(comms[0]) == ncclSuccess);
  CHECK((ncclCommGetAsyncError(comms[1], &state) == ncclSuccess && state == ncclRemoteError));
  float data = 0;
  CHECK(ncclAllReduce(&data, &data, 1, ncclFloat, ncclSum, comms[1], nullptr) == ncclRemoteError);
  CHECK(says("rank 0"));
  CHECK(ncclCommDestroy(comms[1]) == ncclSuccess);
}

TEST_CASE("a split gives each color a communicator, ordered by key") {
  auto const comms = joined(3);
  std::vector<ncclComm_t> parts(3);
  REQUIRE(ncclGroupStart() == ncclSuccess);
  int const colors[3] = {7, NCCL_SPLIT_NOCOLOR, 7};
  int const keys[3] = {2, 0, 1};
  for (std::size_t rank = 0; rank < 3; ++rank) {
    REQUIRE(ncclCommSplit(comms[rank], colors[rank], keys[rank], &parts[rank], nullptr) == ncclSuccess);
  }
  REQUIRE(ncclGroupEnd() == ncclSuccess);
  CHECK(parts[1] == nullptr);
  int rank = -1;
  CHECK((ncclCommUserRank(parts[0], &rank) == ncclSuccess && rank == 1));
  CHECK((ncclCommUserRank(parts[2], &rank) == ncclSuccess && rank == 0));
  float data[2] = {1, 2};
  REQUIRE(ncclAllReduce(&data[0], &data[0], 1, ncclFloat, ncclSum, parts[0], nullptr) == ncclSuccess);
  REQUIRE(ncclAllReduce(&data[1], &data[1], 1, ncclFloat, ncclSum, parts[2], nullptr) == ncclSuccess);
  CHECK((data[0] == 3 && data[1] == 3));
  leave({parts[0], parts[2]});
  leave(comms);
}

TEST_CASE("teams of a communicator are known without NCCL") {
  auto const comms = joined(3);
  auto const world = ncclTeamWorld(comms[2]);
  CHECK((world.ranks == 3 && world.rank == 2 && world.stride == 1));
  CHECK((ncclTeamLsa(comms[1]).ranks == 3 && ncclTeamLsa(comms[1]).rank == 1));
  auto const rail = ncclTeamRail(comms[1]);
  CHECK((rail.ranks == 1 && rail.rank == 0));
  CHECK(ncclTeamRankToWorld(comms[1], rail, 0) == 1);
  CHECK(ncclTeamRankToLsa(comms[2], world, 0) == 0);
  CHECK(ncclDevCommCreate(comms[0], nullptr, nullptr) == ncclInvalidUsage);
  CHECK(says("ncclDevCommCreate"));
  leave(comms);
}

TEST_CASE("configurations of older clients are read, what is none is refused") {
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  CHECK(chevron::nccl::KeptConfig::of(&config).has_value());
  config.size = 48;  // as of 2.18
  auto const kept = chevron::nccl::KeptConfig::of(&config);
  REQUIRE(kept.has_value());
  CHECK((kept->get() != &config && kept->get()->size == 48));
  CHECK(chevron::nccl::KeptConfig::of(nullptr)->get() == nullptr);
  config.size = 4;
  CHECK_FALSE(chevron::nccl::KeptConfig::of(&config).has_value());
  config = NCCL_CONFIG_INITIALIZER;
  config.magic = 0;
  CHECK_FALSE(chevron::nccl::KeptConfig::of(&config).has_value());
  ncclUniqueId id{};
  ncclComm_t comm = nullptr;
  REQUIRE(ncclGroupStart() == ncclSuccess);
  CHECK(ncclCommInitRankConfig(&comm, 2, id, 0, &config) == ncclInvalidArgument);
  CHECK(ncclGroupEnd() == ncclInvalidArgument);  // tells it again
  CHECK(says("NCCL_CONFIG_INITIALIZER"));
  int version = 0;
  CHECK((ncclGetVersion(&version) == ncclSuccess && version == NCCL_VERSION_CODE));
}
