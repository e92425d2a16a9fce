// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef CHEVRON_NCCL_WINDOWS_CUH
#define CHEVRON_NCCL_WINDOWS_CUH

//! @file
//! Registered buffers: windows of chevron, and of the real library where the communicator has a twin there. The handle is
//! then the real one's, for programs give it to kernels that read it.

#include <chevron/nccl/communicator.cuh>
#include <chevron/nccl/errors.cuh>

#include <nccl.h>

#include <cstddef>
#include <memory>
#include <utility>

namespace chevron::nccl {

//! @brief ncclCommWindowRegister and ncclCommRegister, on a communicator of chevron.
//! @param together       whether all ranks make this call, so that a window can be made that needs them all
//! @param register_real  does it in the real library: given the twin and where the handle goes. What that library cannot
//!                       register is still a window of chevron
template <class RegisterReal>
[[nodiscard]] ncclResult_t make_window(ncclComm& comm, void* data, std::size_t size_bytes, bool together, void** to,
                                       RegisterReal&& register_real) {
  if (data == nullptr || size_bytes == 0 || to == nullptr) {
    return fail(ncclInvalidArgument, "chevron: registering a window: a null pointer, or no bytes");
  }
  RegisteredWindow window;
  if (together || comm.member->registers_alone()) {
    auto const number = comm.member->register_window(data, size_bytes);
    if (!number) return fail(number.error());
    window.number = *number;
  }
  void* handle = nullptr;
  if (comm.real != nullptr && register_real(comm.real, &handle) != ncclSuccess) handle = nullptr;
  window.is_also_real = handle != nullptr;
  if (!window.is_also_real) {
    window.handle = std::make_unique<std::byte>();
    handle = window.handle.get();
  }
  comm.windows.emplace(handle, std::move(window));
  *to = handle;
  return ncclSuccess;
}

//! @brief Their ends.
template <class DeregisterReal>
[[nodiscard]] ncclResult_t end_window(ncclComm& comm, void* handle, DeregisterReal&& deregister_real) {
  if (handle == nullptr) return ncclSuccess;
  auto const known = comm.windows.find(handle);
  if (known == comm.windows.end()) {
    return fail(ncclInvalidArgument, "chevron: the handle is of no window of this communicator");
  }
  RegisteredWindow const window = std::move(known->second);
  comm.windows.erase(known);
  if (window.number) comm.member->release(*window.number);
  return window.is_also_real ? deregister_real(comm.real, handle) : ncclSuccess;
}

}  // namespace chevron::nccl

#endif
