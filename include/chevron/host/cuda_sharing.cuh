// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef CHEVRON_HOST_CUDA_SHARING_CUH
#define CHEVRON_HOST_CUDA_SHARING_CUH

//! @file
//! Device memory of one process as another one reaches it, whatever it was allocated with.
//!
//! | memory                                        | what is handed over                                    |
//! |-----------------------------------------------|--------------------------------------------------------|
//! | cudaMalloc                                    | a CUDA IPC handle                                      |
//! | cudaMallocAsync, a pool made for sharing      | the pool's descriptor, and the pointer within the pool |
//! | cuMemCreate, one mapping or several in a row  | a descriptor for each                                  |

#include <chevron/core/error.hpp>
#include <chevron/core/result.hpp>
#include <chevron/host/cuda_driver.cuh>
#include <chevron/host/cuda_result.cuh>
#include <chevron/host/memory.hpp>

#include <cuda.h>
#include <cuda_runtime.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace chevron {

//! @brief What a process tells the others of a range of its memory.
struct CudaOffer {
  enum class Kind : std::uint8_t { nothing, ipc_handle, pool, mappings };

  Kind kind = Kind::nothing;
  std::uint32_t descriptors = 0;  //!< that come along, one per exchange
  std::uint64_t size_bytes = 0;   //!< of the range
  std::uint64_t offset = 0;       //!< of the range in its allocation
  std::uint64_t mapped_bytes = 0;
  cudaIpcMemHandle_t handle{};
  cudaMemPoolPtrExportData pointer{};
};

//! @brief A range of this process's memory, for others.
class CudaExport {
 public:
  //! @brief One allocation, or one of the mappings that the range lies in.
  struct Part {
    CUdeviceptr base = 0;
    std::size_t size_bytes = 0;
    std::uint64_t identity = 0;
  };

  //! Memory: `data` must be device memory, and stay what it is while others use it
  //! Errors: bad_argument where it is no device memory, or of a kind that can't be shared; cuda
  [[nodiscard]] static Result<CudaExport> of(CudaDriver const& driver, void* data, std::size_t size_bytes,
                                             char const* during) {
    CudaExport made;
    made.offer_.size_bytes = size_bytes;
    if (size_bytes == 0) return made;
    auto const bad = [&](char const* what) {
      return Error{.code = Errc::bad_argument, .during = during, .detail = what};
    };
    auto const at = reinterpret_cast<CUdeviceptr>(data);
    for (CUdeviceptr next = at; next < at + size_bytes;) {
      Part part;
      if (driver.address_range(&part.base, &part.size_bytes, next) != CUDA_SUCCESS) {
        return bad("a window must be device memory, and lie in allocations as a whole");
      }
      part.identity = driver.identity(next);
      next = part.base + part.size_bytes;
      made.parts_.push_back(part);
    }
    CUdeviceptr const base = made.parts_[0].base;
    made.offer_.offset = at - base;
    made.offer_.mapped_bytes = made.parts_.back().base + made.parts_.back().size_bytes - base;

    int has_ipc_handle = 0;
    (void)driver.pointer_attribute(&has_ipc_handle, CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE, at);
    CUmemoryPool pool = nullptr;
    (void)driver.pointer_attribute(&pool, CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE, at);
    bool const is_mapped = has_ipc_handle == 0 && pool == nullptr;
    if (!is_mapped && made.parts_.size() != 1) return bad("a window exceeds its allocation");
    if (has_ipc_handle != 0) {
      made.offer_.kind = CudaOffer::Kind::ipc_handle;
      auto const got =
          cuda_result(cudaIpcGetMemHandle(&made.offer_.handle, reinterpret_cast<void*>(base)), during);
      if (!got) return got.error();
    } else if (pool != nullptr) {
      made.offer_.kind = CudaOffer::Kind::pool;
      made.offer_.descriptors = 1;
      made.pool_ = pool;
      // Pointers can be exported once the pool has been.
      auto const pool_fd = made.descriptor(driver, 0, during);
      auto const got =
          pool_fd ? cuda_result(cudaMemPoolExportPointer(&made.offer_.pointer, reinterpret_cast<void*>(base)),
                                during)
                  : Result<void>(pool_fd.error());
      if (!got) {
        Error error = got.error();
        error.code = Errc::bad_argument;
        error.detail += "; the memory of a pool can be shared if the pool was made for POSIX descriptors";
        return error;
      }
    } else {
      made.offer_.kind = CudaOffer::Kind::mappings;
      made.offer_.descriptors = static_cast<std::uint32_t>(made.parts_.size());
    }
    return made;
  }

  [[nodiscard]] CudaOffer const& offer() const { return offer_; }
  [[nodiscard]] std::vector<Part> const& parts() const { return parts_; }

  //! One of the descriptors that the offer promises.
  [[nodiscard]] Result<OwnedFd> descriptor(CudaDriver const& driver, std::size_t index,
                                           char const* during) const {
    int fd = -1;
    CUresult status = CUDA_SUCCESS;
    if (offer_.kind == CudaOffer::Kind::pool) {
      status = static_cast<CUresult>(
          cudaMemPoolExportToShareableHandle(&fd, pool_, cudaMemHandleTypePosixFileDescriptor, 0));
      (void)cudaGetLastError();
    } else {
      CUmemGenericAllocationHandle handle{};
      status = driver.retain_handle(&handle, reinterpret_cast<void*>(parts_[index].base));
      if (status == CUDA_SUCCESS) {
        status = driver.export_handle(&fd, handle, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0);
        (void)driver.release_handle(handle);
      }
    }
    if (status != CUDA_SUCCESS) {
      Error error = driver_result(status, during).error();
      error.detail += "; only memory that was made for POSIX descriptors can be shared";
      return error;
    }
    return OwnedFd(fd);
  }

 private:
  CudaOffer offer_{};
  std::vector<Part> parts_{};
  cudaMemPool_t pool_ = nullptr;
};

//! @brief Another process's range, mapped into this one. The calling thread's device is the one that shall reach it.
class CudaImport {
 public:
  CudaImport() = default;
  CudaImport(CudaImport&& other) noexcept { *this = std::move(other); }
  CudaImport& operator=(CudaImport&& other) noexcept {
    std::swap(driver_, other.driver_);
    std::swap(offer_, other.offer_);
    std::swap(device_, other.device_);
    std::swap(base_, other.base_);
    std::swap(mapped_bytes_, other.mapped_bytes_);
    std::swap(sizes_, other.sizes_);
    std::swap(pool_, other.pool_);
    return *this;
  }
  ~CudaImport() {
    if (base_ == 0 && pool_ == nullptr) return;
    DeviceGuard const guard(device_);
    auto const address = reinterpret_cast<void*>(base_);
    switch (offer_.kind) {
      case CudaOffer::Kind::nothing:
        break;
      case CudaOffer::Kind::ipc_handle:
        (void)cudaIpcCloseMemHandle(address);
        break;
      case CudaOffer::Kind::pool:
        if (address != nullptr) (void)cudaFree(address);
        (void)cudaMemPoolDestroy(pool_);
        break;
      case CudaOffer::Kind::mappings:
        for (CUdeviceptr at = base_; std::size_t const size : sizes_) {
          (void)driver_.unmap(at, size);
          at += size;
        }
        (void)driver_.free_addresses(base_, offer_.mapped_bytes);
        break;
    }
    (void)cudaGetLastError();  // a process that ends may have no device left
  }

  //! Begins to map what a process offers to `device`; what comes with descriptors is there when all have come.
  [[nodiscard]] static Result<CudaImport> of(CudaDriver const& driver, CudaOffer const& offer, int device,
                                             char const* during) {
    CudaImport mapped;
    mapped.driver_ = driver;
    mapped.offer_ = offer;
    mapped.device_ = device;
    Result<void> done;
    if (offer.kind == CudaOffer::Kind::ipc_handle) {
      void* address = nullptr;
      done =
          cuda_result(cudaIpcOpenMemHandle(&address, offer.handle, cudaIpcMemLazyEnablePeerAccess), during);
      mapped.base_ = reinterpret_cast<CUdeviceptr>(address);
    } else if (offer.kind == CudaOffer::Kind::mappings) {
      done =
          driver_result(driver.reserve_addresses(&mapped.base_, offer.mapped_bytes, huge_page, 0, 0), during);
    }
    if (!done) return done.error();
    return mapped;
  }

  //! Maps what the next descriptor stands for.
  [[nodiscard]] Result<void> add(OwnedFd const& descriptor, std::size_t size_bytes, char const* during) {
    return offer_.kind == CudaOffer::Kind::pool ? add_pool(descriptor, during)
                                                : add_mapping(descriptor, size_bytes, during);
  }

  //! Where the range begins.
  [[nodiscard]] std::byte* data() const {
    return base_ == 0 ? nullptr : reinterpret_cast<std::byte*>(base_) + offer_.offset;
  }

 private:
  static constexpr std::size_t huge_page = std::size_t{2} << 20;

  // The driver takes a descriptor in the place of a pointer.
  [[nodiscard]] static void* as_handle(OwnedFd const& descriptor) {
    return reinterpret_cast<void*>(static_cast<std::intptr_t>(descriptor.get()));
  }

  [[nodiscard]] Result<void> add_pool(OwnedFd const& descriptor, char const* during) {
    cudaError_t status = cudaMemPoolImportFromShareableHandle(&pool_, as_handle(descriptor),
                                                              cudaMemHandleTypePosixFileDescriptor, 0);
    if (status == cudaSuccess) {
      cudaMemAccessDesc access{};
      access.location.type = cudaMemLocationTypeDevice;
      access.location.id = device_;
      access.flags = cudaMemAccessFlagsProtReadWrite;
      status = cudaMemPoolSetAccess(pool_, &access, 1);
    }
    void* address = nullptr;
    if (status == cudaSuccess) status = cudaMemPoolImportPointer(&address, pool_, &offer_.pointer);
    base_ = reinterpret_cast<CUdeviceptr>(address);
    return cuda_result(status, during);
  }

  [[nodiscard]] Result<void> add_mapping(OwnedFd const& descriptor, std::size_t size_bytes,
                                         char const* during) {
    if (size_bytes == 0 || size_bytes > offer_.mapped_bytes - mapped_bytes_) {
      return Error{.code = Errc::bad_argument, .during = during, .detail = "a mapping has another size"};
    }
    CUmemGenericAllocationHandle handle{};
    CUresult status =
        driver_.import_handle(&handle, as_handle(descriptor), CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR);
    if (status != CUDA_SUCCESS) return driver_result(status, during);
    CUdeviceptr const at = base_ + mapped_bytes_;
    status = driver_.map(at, size_bytes, 0, handle, 0);
    (void)driver_.release_handle(handle);  // the mapping keeps the memory
    if (status != CUDA_SUCCESS) return driver_result(status, during);
    sizes_.push_back(size_bytes);
    mapped_bytes_ += size_bytes;
    CUmemAccessDesc access{};
    access.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    access.location.id = device_;
    access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
    return driver_result(driver_.set_access(at, size_bytes, &access, 1), during);
  }

  CudaDriver driver_{};
  CudaOffer offer_{};
  int device_ = 0;
  CUdeviceptr base_ = 0;
  std::size_t mapped_bytes_ = 0;
  std::vector<std::size_t> sizes_{};
  cudaMemPool_t pool_ = nullptr;
};

//! @brief Whether a part is still the allocation that was shared, and no later one at its address.
[[nodiscard]] inline bool is_what_it_was(CudaDriver const& driver, CudaExport::Part const& part,
                                         void const* from, std::size_t size_bytes) {
  auto const at = reinterpret_cast<CUdeviceptr>(from);
  if (at + size_bytes <= part.base || at >= part.base + part.size_bytes) return true;  // not asked for
  return driver.identity(std::max(at, part.base)) == part.identity;
}

}  // namespace chevron

#endif
