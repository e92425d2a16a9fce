// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef CHEVRON_NCCL_REAL_LIBRARY_CUH
#define CHEVRON_NCCL_REAL_LIBRARY_CUH

//! @file
//! NVIDIA's NCCL, for what chevron does not do itself: where it is found, and its functions.

#include <nccl.h>

#include <dlfcn.h>

#include <cstdlib>
#include <string>
#include <string_view>

namespace chevron::nccl {

//! @brief The NCCL behind this one, or none.
//!
//! CHEVRON_NCCL_FALLBACK names its file, `none` none at all. Where it is not set, the library that comes after this one in
//! the order of the linker is taken, as when this one is preloaded.
class RealLibrary {
 public:
  //! The process's.
  [[nodiscard]] static RealLibrary const& get() {
    static RealLibrary const library;
    return library;
  }

  [[nodiscard]] bool is_here() const { return handle_ != nullptr; }
  //! Why it is not here.
  [[nodiscard]] std::string const& reason() const { return reason_; }
  [[nodiscard]] std::string const& file() const { return file_; }

  //! One of its functions; null where it has none of that name.
  //! @tparam Function  the function's type, as nccl.h declares it
  template <class Function>
  [[nodiscard]] Function* find(char const* name) const {
    return handle_ == nullptr ? nullptr : reinterpret_cast<Function*>(::dlsym(handle_, name));
  }

 private:
  RealLibrary() {
    char const* const named = std::getenv("CHEVRON_NCCL_FALLBACK");
    if (named != nullptr && std::string_view(named) == "none") {
      reason_ = "CHEVRON_NCCL_FALLBACK=none";
    } else if (named != nullptr && named[0] != '\0') {
      open(named);
    } else if (void* const next = ::dlsym(RTLD_NEXT, "ncclGetVersion"); next != nullptr) {
      Dl_info where{};
      if (::dladdr(next, &where) != 0) open(where.dli_fname);
    } else {
      reason_ = "no other NCCL is linked, and CHEVRON_NCCL_FALLBACK names none";
    }
  }

  //! Its calls of itself stay its own: they find its own functions before those that were preloaded.
  void open(char const* file) {
    file_ = file;
    handle_ = ::dlopen(file, RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND);
    if (handle_ == nullptr) {
      char const* const said = ::dlerror();
      reason_ = said != nullptr ? said : std::string(file) + " can't be loaded";
      return;
    }
    void* const theirs = ::dlsym(handle_, "ncclGetVersion");
    if (theirs == nullptr || theirs == reinterpret_cast<void*>(&ncclGetVersion)) {
      reason_ = file_ + (theirs == nullptr ? " is no NCCL" : " is chevron itself");
      (void)::dlclose(handle_);
      handle_ = nullptr;
    }
  }

  void* handle_ = nullptr;
  std::string file_{};
  std::string reason_{};
};

}  // namespace chevron::nccl

#endif
