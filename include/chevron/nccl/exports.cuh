// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef CHEVRON_NCCL_EXPORTS_CUH
#define CHEVRON_NCCL_EXPORTS_CUH

//! @file
//! The functions of nccl.h, and those of nccl_device.h for the host, defined: to be included by the one file that becomes libchevron-nccl.so, which also defines
//! `chevron::nccl::backend()`. A communicator of the real library goes through to it, and so does what chevron has not.

#include <chevron/nccl/calls.cuh>
#include <chevron/nccl/communicator.cuh>
#include <chevron/nccl/config.cuh>
#include <chevron/nccl/device_functions.cuh>
#include <chevron/nccl/errors.cuh>
#include <chevron/nccl/group.cuh>
#include <chevron/nccl/lifetime.cuh>
#include <chevron/nccl/real_library.cuh>
#include <chevron/nccl/windows.cuh>

#include <nccl.h>

#include <cstddef>

// A call that goes to the real library, with all of its arguments; `c` is the communicator there.
#define CHEVRON_ON_REAL(function, comm, ...) \
  chevron::nccl::on_real<decltype(function)>( \
      #function, comm, [&](auto* real, [[maybe_unused]] ncclComm_t c) { return real(__VA_ARGS__); })
// The same for one without a communicator.
#define CHEVRON_ON_REAL_ALONE(function, ...) \
  chevron::nccl::on_real_alone<decltype(function)>(#function, [&](auto* real) { return real(__VA_ARGS__); })
// The second name that every function of NCCL has, for profilers.
#define CHEVRON_ALSO_AS(other, function) \
  extern "C" [[gnu::visibility("default")]] decltype(function) other __attribute__((alias(#function)))

extern "C" {
// One of them is deprecated, but a function of the library all the same.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
#pragma GCC visibility push(default)

// ---- the library

ncclResult_t ncclGetVersion(int* version) {
  if (version == nullptr) return chevron::nccl::fail(ncclInvalidArgument, "chevron: ncclGetVersion: a null pointer");
  if (chevron::nccl::RealLibrary::get().is_here()) return CHEVRON_ON_REAL_ALONE(ncclGetVersion, version);
  *version = NCCL_VERSION_CODE;
  return ncclSuccess;
}
char const* ncclGetErrorString(ncclResult_t result) {
  switch (result) {
    case ncclSuccess:
      return "no error";
    case ncclUnhandledCudaError:
      return "a CUDA call failed";
    case ncclSystemError:
      return "a call of the system failed";
    case ncclInternalError:
      return "internal error";
    case ncclInvalidArgument:
      return "an argument is outside its domain";
    case ncclInvalidUsage:
      return "a call that is not possible here; ncclGetLastError says why";
    case ncclRemoteError:
      return "another rank failed, ended or did not come";
    case ncclInProgress:
      return "an operation is in progress";
    default:
      return "unknown result code";
  }
}
char const* ncclGetLastError(ncclComm_t comm) {
  if (comm != nullptr && !chevron::nccl::is_ours(comm)) {
    auto* const real =
        chevron::nccl::RealLibrary::get().find<decltype(ncclGetLastError)>("ncclGetLastError");
    return real == nullptr ? "" : real(comm);
  }
  return chevron::nccl::last_error().c_str();
}
void ncclResetDebugInit() {}

ncclResult_t ncclMemAlloc(void** data, std::size_t size) {
  if (data == nullptr) return chevron::nccl::fail(ncclInvalidArgument, "chevron: ncclMemAlloc: a null pointer");
  if (chevron::nccl::RealLibrary::get().is_here()) return CHEVRON_ON_REAL_ALONE(ncclMemAlloc, data, size);
  auto const memory = chevron::nccl::backend().allocate(size);
  if (memory) *data = *memory;
  return chevron::nccl::code_of(memory);
}
ncclResult_t ncclMemFree(void* data) {
  if (chevron::nccl::RealLibrary::get().is_here()) return CHEVRON_ON_REAL_ALONE(ncclMemFree, data);
  return chevron::nccl::code_of(chevron::nccl::backend().free(data));
}

// ---- communicators

ncclResult_t ncclGetUniqueId(ncclUniqueId* id) { return chevron::nccl::make_id(id); }
ncclResult_t ncclCommInitRank(ncclComm_t* comm, int ranks, ncclUniqueId id, int rank) {
  if (chevron::nccl::InsideReal::now()) return CHEVRON_ON_REAL_ALONE(ncclCommInitRank, comm, ranks, id, rank);
  return chevron::nccl::join_by_id(comm, ranks, id, rank, nullptr);
}
ncclResult_t ncclCommInitRankConfig(ncclComm_t* comm, int ranks, ncclUniqueId id, int rank, ncclConfig_t* config) {
  if (chevron::nccl::InsideReal::now()) {
    return CHEVRON_ON_REAL_ALONE(ncclCommInitRankConfig, comm, ranks, id, rank, config);
  }
  return chevron::nccl::join_by_id(comm, ranks, id, rank, config);
}
ncclResult_t ncclCommInitRankScalable(ncclComm_t* comm, int ranks, int rank, int id_count, ncclUniqueId* ids,
                                      ncclConfig_t* config) {
  if (ids == nullptr || id_count < 1) {
    return chevron::nccl::fail(ncclInvalidArgument, "chevron: ncclCommInitRankScalable: no id");
  }
  return chevron::nccl::join_by_id(comm, ranks, ids[0], rank, config);
}
ncclResult_t ncclCommInitAll(ncclComm_t* comms, int ranks, int const* devices) {
  return chevron::nccl::join_all(comms, ranks, devices);
}
ncclResult_t ncclCommSplit(ncclComm_t comm, int color, int key, ncclComm_t* to, ncclConfig_t* config) {
  if (!chevron::nccl::is_ours(comm)) return CHEVRON_ON_REAL(ncclCommSplit, comm, c, color, key, to, config);
  auto& group = chevron::nccl::Group::of_this_thread();
  if (to == nullptr) {
    return group.refuse(chevron::nccl::fail(ncclInvalidArgument, "chevron: ncclCommSplit: a null pointer"));
  }
  auto const kept = chevron::nccl::KeptConfig::of(config);
  if (!kept) return group.refuse(chevron::nccl::fail(kept.error()));
  return group.join([=, config = *kept] { return chevron::nccl::split(*comm, color, key, to, config); });
}
ncclResult_t ncclCommShrink(ncclComm_t comm, int* excluded, int excluded_count, ncclComm_t* to, ncclConfig_t* config,
                            int flags) {
  return CHEVRON_ON_REAL(ncclCommShrink, comm, c, excluded, excluded_count, to, config, flags);
}
ncclResult_t ncclCommRevoke(ncclComm_t comm, int flags) {
  if (!chevron::nccl::is_ours(comm)) return CHEVRON_ON_REAL(ncclCommRevoke, comm, c, flags);
  comm->member->abort();
  return comm->real == nullptr ? ncclSuccess : CHEVRON_ON_REAL(ncclCommRevoke, comm, c, flags);
}
ncclResult_t ncclCommFinalize(ncclComm_t comm) {
  if (!chevron::nccl::is_ours(comm)) return CHEVRON_ON_REAL(ncclCommFinalize, comm, c);
  return chevron::nccl::finalize(*comm);
}
ncclResult_t ncclCommDestroy(ncclComm_t comm) {
  if (comm == nullptr) return ncclSuccess;
  if (!chevron::nccl::is_ours(comm)) return CHEVRON_ON_REAL(ncclCommDestroy, comm, c);
  return chevron::nccl::leave(comm, false);
}
ncclResult_t ncclCommAbort(ncclComm_t comm) {
  if (comm == nullptr) return ncclSuccess;
  if (!chevron::nccl::is_ours(comm)) return CHEVRON_ON_REAL(ncclCommAbort, comm, c);
  return chevron::nccl::leave(comm, true);
}
ncclResult_t ncclCommGetAsyncError(ncclComm_t comm, ncclResult_t* error) {
  if (!chevron::nccl::is_ours(comm)) return CHEVRON_ON_REAL(ncclCommGetAsyncError, comm, c, error);
  if (error == nullptr) {
    return chevron::nccl::fail(ncclInvalidArgument, "chevron: ncclCommGetAsyncError: a null pointer");
  }
  *error = chevron::nccl::code_of(comm->member->status());
  if (*error != ncclSuccess || comm->real == nullptr) return ncclSuccess;
  return CHEVRON_ON_REAL(ncclCommGetAsyncError, comm, c, error);
}
ncclResult_t ncclCommCount(ncclComm_t const comm, int* count) {
  if (!chevron::nccl::is_ours(comm)) return CHEVRON_ON_REAL(ncclCommCount, comm, c, count);
  return chevron::nccl::give("ncclCommCount", count, comm->ranks);
}
ncclResult_t ncclCommCuDevice(ncclComm_t const comm, int* device) {
  if (!chevron::nccl::is_ours(comm)) return CHEVRON_ON_REAL(ncclCommCuDevice, comm, c, device);
  return chevron::nccl::give("ncclCommCuDevice", device, comm->device);
}
ncclResult_t ncclCommUserRank(ncclComm_t const comm, int* rank) {
  if (!chevron::nccl::is_ours(comm)) return CHEVRON_ON_REAL(ncclCommUserRank, comm, c, rank);
  return chevron::nccl::give("ncclCommUserRank", rank, comm->rank);
}

// ---- windows

ncclResult_t ncclCommRegister(ncclComm_t const comm, void* data, std::size_t size, void** handle) {
  if (!chevron::nccl::is_ours(comm)) return CHEVRON_ON_REAL(ncclCommRegister, comm, c, data, size, handle);
  return chevron::nccl::make_window(*comm, data, size, false, handle, [&](ncclComm_t twin, void** its) {
    return CHEVRON_ON_REAL(ncclCommRegister, twin, c, data, size, its);
  });
}
ncclResult_t ncclCommDeregister(ncclComm_t const comm, void* handle) {
  if (!chevron::nccl::is_ours(comm)) return CHEVRON_ON_REAL(ncclCommDeregister, comm, c, handle);
  return chevron::nccl::end_window(*comm, handle, [](ncclComm_t twin, void* its) {
    return CHEVRON_ON_REAL(ncclCommDeregister, twin, c, its);
  });
}
ncclResult_t ncclCommWindowRegister(ncclComm_t comm, void* data, std::size_t size, ncclWindow_t* window, int flags) {
  if (!chevron::nccl::is_ours(comm)) return CHEVRON_ON_REAL(ncclCommWindowRegister, comm, c, data, size, window, flags);
  return chevron::nccl::Group::of_this_thread().join([=] {
    void* handle = nullptr;
    ncclResult_t const made = chevron::nccl::make_window(
        *comm, data, size, true, window == nullptr ? nullptr : &handle, [&](ncclComm_t twin, void** its) {
          return CHEVRON_ON_REAL(ncclCommWindowRegister, twin, c, data, size, reinterpret_cast<ncclWindow_t*>(its),
                                 flags);
        });
    if (made == ncclSuccess) *window = static_cast<ncclWindow_t>(handle);
    return made;
  });
}
ncclResult_t ncclCommWindowDeregister(ncclComm_t comm, ncclWindow_t window) {
  if (!chevron::nccl::is_ours(comm)) return CHEVRON_ON_REAL(ncclCommWindowDeregister, comm, c, window);
  return chevron::nccl::end_window(*comm, window, [](ncclComm_t twin, void* its) {
    return CHEVRON_ON_REAL(ncclCommWindowDeregister, twin, c, static_cast<ncclWindow_t>(its));
  });
}

// ---- groups

ncclResult_t ncclGroupStart() {
  if (chevron::nccl::InsideReal::now()) return CHEVRON_ON_REAL_ALONE(ncclGroupStart);
  chevron::nccl::Group::of_this_thread().start();
  return ncclSuccess;
}
ncclResult_t ncclGroupEnd() {
  if (chevron::nccl::InsideReal::now()) return CHEVRON_ON_REAL_ALONE(ncclGroupEnd);
  return chevron::nccl::Group::of_this_thread().end();
}
ncclResult_t ncclGroupSimulateEnd(ncclSimInfo_t* info) {
  return CHEVRON_ON_REAL_ALONE(ncclGroupSimulateEnd, info);
}

// ---- reductions

ncclResult_t ncclRedOpCreatePreMulSum(ncclRedOp_t* op, void* scalar, ncclDataType_t type,
                                      ncclScalarResidence_t residence, ncclComm_t comm) {
  if (!chevron::nccl::is_ours(comm)) {
    return CHEVRON_ON_REAL(ncclRedOpCreatePreMulSum, comm, op, scalar, type, residence, c);
  }
  return chevron::nccl::make_operation(op, scalar, type, residence, comm);
}
ncclResult_t ncclRedOpDestroy(ncclRedOp_t op, ncclComm_t comm) {
  if (!chevron::nccl::is_ours(comm)) return CHEVRON_ON_REAL(ncclRedOpDestroy, comm, op, c);
  return chevron::nccl::destroy_operation(op, comm);
}
ncclResult_t ncclAllReduce(void const* in, void* out, std::size_t count, ncclDataType_t type, ncclRedOp_t op,
                           ncclComm_t comm, cudaStream_t stream) {
  return chevron::nccl::all_reduce(in, out, count, type, op, comm, stream);
}

// ---- what is the real library's

ncclResult_t ncclReduce(void const* in, void* out, std::size_t count, ncclDataType_t type, ncclRedOp_t op, int root,
                        ncclComm_t comm, cudaStream_t stream) {
  ncclRedOp_t const its = chevron::nccl::real_operation(comm, op);
  return CHEVRON_ON_REAL(ncclReduce, comm, in, out, count, type, its, root, c, stream);
}
ncclResult_t ncclReduceScatter(void const* in, void* out, std::size_t count, ncclDataType_t type, ncclRedOp_t op,
                               ncclComm_t comm, cudaStream_t stream) {
  ncclRedOp_t const its = chevron::nccl::real_operation(comm, op);
  return CHEVRON_ON_REAL(ncclReduceScatter, comm, in, out, count, type, its, c, stream);
}
ncclResult_t ncclBcast(void* data, std::size_t count, ncclDataType_t type, int root, ncclComm_t comm,
                       cudaStream_t stream) {
  return CHEVRON_ON_REAL(ncclBcast, comm, data, count, type, root, c, stream);
}
ncclResult_t ncclBroadcast(void const* in, void* out, std::size_t count, ncclDataType_t type, int root,
                           ncclComm_t comm, cudaStream_t stream) {
  return CHEVRON_ON_REAL(ncclBroadcast, comm, in, out, count, type, root, c, stream);
}
ncclResult_t ncclAllGather(void const* in, void* out, std::size_t count, ncclDataType_t type, ncclComm_t comm,
                           cudaStream_t stream) {
  return CHEVRON_ON_REAL(ncclAllGather, comm, in, out, count, type, c, stream);
}
ncclResult_t ncclAlltoAll(void const* in, void* out, std::size_t count, ncclDataType_t type, ncclComm_t comm,
                          cudaStream_t stream) {
  return CHEVRON_ON_REAL(ncclAlltoAll, comm, in, out, count, type, c, stream);
}
ncclResult_t ncclGather(void const* in, void* out, std::size_t count, ncclDataType_t type, int root, ncclComm_t comm,
                        cudaStream_t stream) {
  return CHEVRON_ON_REAL(ncclGather, comm, in, out, count, type, root, c, stream);
}
ncclResult_t ncclScatter(void const* in, void* out, std::size_t count, ncclDataType_t type, int root, ncclComm_t comm,
                         cudaStream_t stream) {
  return CHEVRON_ON_REAL(ncclScatter, comm, in, out, count, type, root, c, stream);
}
ncclResult_t ncclSend(void const* data, std::size_t count, ncclDataType_t type, int peer, ncclComm_t comm,
                      cudaStream_t stream) {
  return CHEVRON_ON_REAL(ncclSend, comm, data, count, type, peer, c, stream);
}
ncclResult_t ncclRecv(void* data, std::size_t count, ncclDataType_t type, int peer, ncclComm_t comm,
                      cudaStream_t stream) {
  return CHEVRON_ON_REAL(ncclRecv, comm, data, count, type, peer, c, stream);
}

#pragma GCC visibility pop
}  // extern "C"

CHEVRON_ALSO_AS(pncclMemAlloc, ncclMemAlloc);
CHEVRON_ALSO_AS(pncclMemFree, ncclMemFree);
CHEVRON_ALSO_AS(pncclGetVersion, ncclGetVersion);
CHEVRON_ALSO_AS(pncclGetUniqueId, ncclGetUniqueId);
CHEVRON_ALSO_AS(pncclCommInitRankConfig, ncclCommInitRankConfig);
CHEVRON_ALSO_AS(pncclCommInitRank, ncclCommInitRank);
CHEVRON_ALSO_AS(pncclCommInitAll, ncclCommInitAll);
CHEVRON_ALSO_AS(pncclCommFinalize, ncclCommFinalize);
CHEVRON_ALSO_AS(pncclCommDestroy, ncclCommDestroy);
CHEVRON_ALSO_AS(pncclCommAbort, ncclCommAbort);
CHEVRON_ALSO_AS(pncclCommRevoke, ncclCommRevoke);
CHEVRON_ALSO_AS(pncclCommSplit, ncclCommSplit);
CHEVRON_ALSO_AS(pncclCommShrink, ncclCommShrink);
CHEVRON_ALSO_AS(pncclCommInitRankScalable, ncclCommInitRankScalable);
CHEVRON_ALSO_AS(pncclGetErrorString, ncclGetErrorString);
CHEVRON_ALSO_AS(pncclGetLastError, ncclGetLastError);
CHEVRON_ALSO_AS(pncclResetDebugInit, ncclResetDebugInit);
CHEVRON_ALSO_AS(pncclCommGetAsyncError, ncclCommGetAsyncError);
CHEVRON_ALSO_AS(pncclCommCount, ncclCommCount);
CHEVRON_ALSO_AS(pncclCommCuDevice, ncclCommCuDevice);
CHEVRON_ALSO_AS(pncclCommUserRank, ncclCommUserRank);
CHEVRON_ALSO_AS(pncclCommRegister, ncclCommRegister);
CHEVRON_ALSO_AS(pncclCommDeregister, ncclCommDeregister);
CHEVRON_ALSO_AS(pncclCommWindowRegister, ncclCommWindowRegister);
CHEVRON_ALSO_AS(pncclCommWindowDeregister, ncclCommWindowDeregister);
CHEVRON_ALSO_AS(pncclRedOpCreatePreMulSum, ncclRedOpCreatePreMulSum);
CHEVRON_ALSO_AS(pncclRedOpDestroy, ncclRedOpDestroy);
CHEVRON_ALSO_AS(pncclReduce, ncclReduce);
CHEVRON_ALSO_AS(pncclBcast, ncclBcast);
CHEVRON_ALSO_AS(pncclBroadcast, ncclBroadcast);
CHEVRON_ALSO_AS(pncclAllReduce, ncclAllReduce);
CHEVRON_ALSO_AS(pncclReduceScatter, ncclReduceScatter);
CHEVRON_ALSO_AS(pncclAllGather, ncclAllGather);
CHEVRON_ALSO_AS(pncclAlltoAll, ncclAlltoAll);
CHEVRON_ALSO_AS(pncclGather, ncclGather);
CHEVRON_ALSO_AS(pncclScatter, ncclScatter);
CHEVRON_ALSO_AS(pncclSend, ncclSend);
CHEVRON_ALSO_AS(pncclRecv, ncclRecv);
CHEVRON_ALSO_AS(pncclGroupStart, ncclGroupStart);
CHEVRON_ALSO_AS(pncclGroupEnd, ncclGroupEnd);
CHEVRON_ALSO_AS(pncclGroupSimulateEnd, ncclGroupSimulateEnd);

#pragma GCC diagnostic pop

#undef CHEVRON_ON_REAL
#undef CHEVRON_ON_REAL_ALONE
#undef CHEVRON_ALSO_AS

#endif
