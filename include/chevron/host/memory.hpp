// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef CHEVRON_HOST_MEMORY_HPP
#define CHEVRON_HOST_MEMORY_HPP

//! @file
//! Memory in whole pages, private to a process or shared by file descriptor, released by its owner's
//! destructor.

#include <chevron/core/error.hpp>
#include <chevron/core/result.hpp>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <utility>

namespace chevron {

//! @brief A file descriptor that is closed by its owner.
class OwnedFd {
 public:
  OwnedFd() = default;
  explicit OwnedFd(int fd) : fd_(fd) {}
  OwnedFd(OwnedFd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  OwnedFd& operator=(OwnedFd&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~OwnedFd() {
    if (fd_ >= 0) ::close(fd_);
  }
  [[nodiscard]] int get() const { return fd_; }
  [[nodiscard]] explicit operator bool() const { return fd_ >= 0; }

 private:
  int fd_ = -1;
};

namespace detail {

inline constexpr std::size_t page_bytes = 4096;
inline constexpr std::size_t huge_page_bytes = std::size_t{2} << 20;

[[nodiscard]] constexpr std::size_t whole_pages(std::size_t size_bytes) {
  return size_bytes == 0 ? page_bytes : (size_bytes + page_bytes - 1) / page_bytes * page_bytes;
}

[[nodiscard]] inline Error system_error(char const* during, int native = errno) {
  return {.code = native == ENOMEM || native == ENOSPC ? Errc::no_memory : Errc::system,
          .native = native,
          .during = during};
}

}  // namespace detail

namespace detail {

//! @brief Bytes that can be had without taking memory from anybody: the kernel's own estimate.
[[nodiscard]] inline std::size_t available_bytes() {
  std::size_t kibibytes = 0;
  if (std::FILE* const file = std::fopen("/proc/meminfo", "re"); file != nullptr) {
    for (char line[128]; std::fgets(line, sizeof(line), file) != nullptr;) {
      if (std::sscanf(line, "MemAvailable: %zu kB", &kibibytes) == 1) break;
    }
    std::fclose(file);
    if (kibibytes != 0) return kibibytes << 10;
  }
  return static_cast<std::size_t>(::sysconf(_SC_AVPHYS_PAGES)) * page_bytes;
}

}  // namespace detail

//! @brief A mapping of whole pages, zeroed when new. Large ones ask for huge pages.
class MappedMemory {
 public:
  MappedMemory() = default;
  MappedMemory(MappedMemory&& other) noexcept
      : base_(std::exchange(other.base_, nullptr)), size_bytes_(std::exchange(other.size_bytes_, 0)) {}
  MappedMemory& operator=(MappedMemory&& other) noexcept {
    std::swap(base_, other.base_);
    std::swap(size_bytes_, other.size_bytes_);
    return *this;
  }
  ~MappedMemory() {
    if (base_ != nullptr) ::munmap(base_, size_bytes_);
  }

  [[nodiscard]] std::byte* data() const { return base_; }
  [[nodiscard]] std::size_t size_bytes() const { return size_bytes_; }

  //! Memory of this process alone.
  [[nodiscard]] static Result<MappedMemory> of_process(std::size_t size_bytes) {
    return map(size_bytes, MAP_PRIVATE | MAP_ANONYMOUS, -1);
  }

  //! The memory behind a descriptor that `shared_memory` made, here or in another process.
  [[nodiscard]] static Result<MappedMemory> of_file(OwnedFd const& fd, std::size_t size_bytes) {
    return map(size_bytes, MAP_SHARED, fd.get());
  }

 private:
  [[nodiscard]] static Result<MappedMemory> map(std::size_t size_bytes, int flags, int fd) {
    MappedMemory memory;
    memory.size_bytes_ = detail::whole_pages(size_bytes);
    void* const base = ::mmap(nullptr, memory.size_bytes_, PROT_READ | PROT_WRITE, flags, fd, 0);
    if (base == MAP_FAILED) {
      memory.size_bytes_ = 0;
      return detail::system_error("mapping memory");
    }
    memory.base_ = static_cast<std::byte*>(base);
    if (memory.size_bytes_ >= detail::huge_page_bytes) ::madvise(base, memory.size_bytes_, MADV_HUGEPAGE);
    return memory;
  }

  std::byte* base_ = nullptr;
  std::size_t size_bytes_ = 0;
};

//! @brief New shared memory that has no name anywhere, so nothing is left behind however its users end, and
//! nobody can open it who was not handed the descriptor. It can't be shrunk under its users.
[[nodiscard]] inline Result<OwnedFd> shared_memory(std::size_t size_bytes) {
  // To reserve more than there is would have the kernel end processes, this one or others, to make room.
  if (size_bytes > detail::available_bytes()) return detail::system_error("reserving shared memory", ENOMEM);
  OwnedFd fd(::memfd_create("chevron", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!fd) return detail::system_error("creating shared memory");
  auto const size = static_cast<off_t>(detail::whole_pages(size_bytes));
  // The pages are reserved now: later a lack of memory would be a signal, here it is an error.
  if (::fchmod(fd.get(), S_IRUSR | S_IWUSR) != 0) return detail::system_error("restricting shared memory");
  if (int const native = ::posix_fallocate(fd.get(), 0, size); native != 0) {
    return detail::system_error("reserving shared memory", native);
  }
  if (::fcntl(fd.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0) {
    return detail::system_error("sealing shared memory");
  }
  return fd;
}

}  // namespace chevron

#endif
