// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef CHEVRON_NCCL_CONFIG_CUH
#define CHEVRON_NCCL_CONFIG_CUH

//! @file
//! What a program gives when a communicator is made, in whichever version it was compiled with.

#include <chevron/core/error.hpp>
#include <chevron/core/result.hpp>

#include <nccl.h>

#include <cstddef>
#include <memory>
#include <string>

namespace chevron::nccl {

//! @brief A copy of a configuration, since the program's may be gone when a group ends; or none.
class KeptConfig {
 public:
  //! Of any version from 2.14 on: its first fields are the same, and it says how long it is.
  //! Errors: bad_argument where NCCL_CONFIG_INITIALIZER did not begin it
  [[nodiscard]] static Result<KeptConfig> of(ncclConfig_t const* config) {
    KeptConfig kept;
    if (config == nullptr) return kept;
    constexpr std::size_t least = offsetof(ncclConfig_t, blocking) + sizeof(int);
    constexpr std::size_t most = 4096;
    constexpr unsigned int magic = 0xcafebeef;
    if (config->magic != magic || config->size < least || config->size > most) {
      return Error{.code = Errc::bad_argument,
                   .during = "joining",
                   .detail = "the ncclConfig_t was not begun with NCCL_CONFIG_INITIALIZER"};
    }
    kept.bytes_ = std::make_shared<std::string>(reinterpret_cast<char const*>(config), config->size);
    return kept;
  }

  //! Null where the program gave none.
  [[nodiscard]] ncclConfig_t* get() const {
    return bytes_ == nullptr ? nullptr : reinterpret_cast<ncclConfig_t*>(bytes_->data());
  }

 private:
  std::shared_ptr<std::string> bytes_{};
};

}  // namespace chevron::nccl

#endif
