// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef CHEVRON_HOST_CUDA_DRIVER_CUH
#define CHEVRON_HOST_CUDA_DRIVER_CUH

//! @file
//! The few functions of the CUDA driver that the runtime has no counterpart of, looked up at run time: nothing but the
//! runtime is linked.

#include <chevron/core/error.hpp>
#include <chevron/core/result.hpp>
#include <chevron/host/cuda_result.cuh>

#include <cuda.h>
#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace chevron {

//! @brief A failed driver call as an error. The driver's codes are the runtime's.
[[nodiscard]] inline Result<void> driver_result(CUresult status, char const* during) {
  return cuda_result(static_cast<cudaError_t>(status), during);
}

//! @brief What is asked of the driver. `decltype` names a function without linking it.
struct CudaDriver {
  decltype(cuMemGetAddressRange)* address_range = nullptr;
  decltype(cuPointerGetAttribute)* pointer_attribute = nullptr;
  decltype(cuMemRetainAllocationHandle)* retain_handle = nullptr;
  decltype(cuMemRelease)* release_handle = nullptr;
  decltype(cuMemExportToShareableHandle)* export_handle = nullptr;
  decltype(cuMemImportFromShareableHandle)* import_handle = nullptr;
  decltype(cuMemAddressReserve)* reserve_addresses = nullptr;
  decltype(cuMemAddressFree)* free_addresses = nullptr;
  decltype(cuMemMap)* map = nullptr;
  decltype(cuMemUnmap)* unmap = nullptr;
  decltype(cuMemSetAccess)* set_access = nullptr;

  [[nodiscard]] static Result<CudaDriver> load(char const* during) {
    CudaDriver driver;
    cudaError_t status = cudaSuccess;
    auto const find = [&](char const* symbol, auto*& function) {
      if (status != cudaSuccess) return;
      void* found = nullptr;
      cudaDriverEntryPointQueryResult answer = cudaDriverEntryPointSymbolNotFound;
      // All of these have had their form since before 12.0.
      status = cudaGetDriverEntryPointByVersion(symbol, &found, 12000, cudaEnableDefault, &answer);
      if (status == cudaSuccess && answer != cudaDriverEntryPointSuccess) status = cudaErrorSymbolNotFound;
      function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(found);
    };
    find("cuMemGetAddressRange", driver.address_range);
    find("cuPointerGetAttribute", driver.pointer_attribute);
    find("cuMemRetainAllocationHandle", driver.retain_handle);
    find("cuMemRelease", driver.release_handle);
    find("cuMemExportToShareableHandle", driver.export_handle);
    find("cuMemImportFromShareableHandle", driver.import_handle);
    find("cuMemAddressReserve", driver.reserve_addresses);
    find("cuMemAddressFree", driver.free_addresses);
    find("cuMemMap", driver.map);
    find("cuMemUnmap", driver.unmap);
    find("cuMemSetAccess", driver.set_access);
    if (auto loaded = cuda_result(status, during); !loaded) return loaded.error();
    return driver;
  }

  //! A number that no other allocation of this process ever has; 0 where there is no allocation.
  [[nodiscard]] std::uint64_t identity(CUdeviceptr address) const {
    unsigned long long identity = 0;
    CUresult const known = pointer_attribute(&identity, CU_POINTER_ATTRIBUTE_BUFFER_ID, address);
    return known == CUDA_SUCCESS ? identity : 0;
  }
};

}  // namespace chevron

#endif
