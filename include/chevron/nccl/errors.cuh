// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef CHEVRON_NCCL_ERRORS_CUH
#define CHEVRON_NCCL_ERRORS_CUH

//! @file
//! chevron's errors as NCCL's codes, with the sentence kept for ncclGetLastError; and what the environment asks for.

#include <chevron/core/error.hpp>
#include <chevron/core/result.hpp>

#include <nccl.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>

namespace chevron::nccl {

[[nodiscard]] constexpr ncclResult_t code_of(Errc code) {
  switch (code) {
    case Errc::ok:
      return ncclSuccess;
    case Errc::null_pointer:
    case Errc::misaligned:
    case Errc::size_overflow:
    case Errc::buffers_overlap:
    case Errc::bad_argument:
    case Errc::duplicate_rank:
    case Errc::no_device:
      return ncclInvalidArgument;
    case Errc::not_in_window:
    case Errc::unknown_window:
    case Errc::concurrent_use:
    case Errc::count_mismatch:
    case Errc::element_mismatch:
    case Errc::operation_mismatch:
    case Errc::algorithm_mismatch:
    case Errc::table_mismatch:
    case Errc::version_mismatch:
    case Errc::ranks_mismatch:
    case Errc::lanes_mismatch:
    case Errc::mailbox_mismatch:
    case Errc::wrong_user:
    case Errc::rank_count_not_compiled:
    case Errc::not_compiled_for_device:
      return ncclInvalidUsage;
    case Errc::timeout:
    case Errc::peer_died:
    case Errc::aborted:
      return ncclRemoteError;
    case Errc::cuda:
      return ncclUnhandledCudaError;
    case Errc::no_memory:
    case Errc::system:
    case Errc::no_peer_access:
    case Errc::not_resident:
      return ncclSystemError;
    case Errc::not_loaded:
      return ncclInternalError;
  }
  return ncclInternalError;
}

//! @brief The calling thread's last error, in words.
[[nodiscard]] inline std::string& last_error() {
  thread_local std::string text;
  return text;
}

//! @brief Keeps a sentence, gives its code.
inline ncclResult_t fail(ncclResult_t code, std::string text) {
  last_error() = std::move(text);
  return code;
}
inline ncclResult_t fail(Error const& error) { return fail(code_of(error.code), error.message()); }
template <class Value>
[[nodiscard]] ncclResult_t code_of(Result<Value> const& result) {
  return result ? ncclSuccess : fail(result.error());
}

//! @brief Tells a value where the caller wants it.
template <class Value>
[[nodiscard]] ncclResult_t give(char const* function, Value* to, Value value) {
  if (to == nullptr) return fail(ncclInvalidArgument, std::string("chevron: ") + function + ": a null pointer");
  *to = value;
  return ncclSuccess;
}

//! @brief What the environment asks for; read once.
struct Settings {
  bool log = false;               //!< CHEVRON_NCCL_LOG=1: say of every call on standard error what does it
  bool always_fall_back = false;  //!< CHEVRON_NCCL_FORCE_FALLBACK=1: chevron does nothing
  std::chrono::milliseconds deadline{600'000};  //!< CHEVRON_NCCL_TIMEOUT, in seconds: for joining and for every wait
  int communicators = 1;  //!< CHEVRON_NCCL_COMMUNICATORS: that have calls on a device at the same time

  [[nodiscard]] static Settings const& get() {
    static Settings const settings = [] {
      Settings read;
      read.log = number("CHEVRON_NCCL_LOG", 0) != 0;
      read.always_fall_back = number("CHEVRON_NCCL_FORCE_FALLBACK", 0) != 0;
      if (long const seconds = number("CHEVRON_NCCL_TIMEOUT", 0); seconds > 0) {
        read.deadline = std::chrono::seconds(seconds);
      }
      if (long const wanted = number("CHEVRON_NCCL_COMMUNICATORS", 1); wanted > 0 && wanted <= 64) {
        read.communicators = static_cast<int>(wanted);
      }
      return read;
    }();
    return settings;
  }

 private:
  [[nodiscard]] static long number(char const* name, long otherwise) {
    char const* const text = std::getenv(name);
    if (text == nullptr || text[0] == '\0') return otherwise;
    char* end = nullptr;
    long const value = std::strtol(text, &end, 10);
    return *end == '\0' ? value : otherwise;
  }
};

//! @brief Says what does a call, where that was asked for.
inline void log_call(char const* function, std::string const& what, char const* who) {
  if (!Settings::get().log) return;
  std::fprintf(stderr, "chevron: %s%s%s: %s\n", function, what.empty() ? "" : " ", what.c_str(), who);
}

}  // namespace chevron::nccl

#endif
