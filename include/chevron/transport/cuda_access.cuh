// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef CHEVRON_TRANSPORT_CUDA_ACCESS_CUH
#define CHEVRON_TRANSPORT_CUDA_ACCESS_CUH

//! @file
//! Accesses of a kernel to memory that ranks share. Every one goes through these, so that order and scope are visible
//! where they are used.

#include <chevron/core/bits.hpp>
#include <chevron/core/config.hpp>

// The names of the scopes alone: all of <cuda/atomic> would take more of a compilation than the rest of chevron.
#if __has_include(<cuda/std/__atomic/scopes.h>)
#include <cuda/std/__atomic/scopes.h>
#else
#include <cuda/atomic>
#endif

#include <cstdint>

namespace chevron {

//! @brief How a device lane touches shared memory: words of 32 or 64 bits, naturally aligned.
//! @tparam Scope  thread_scope_device where all ranks are on one device, thread_scope_system elsewhere
template <cuda::thread_scope Scope>
struct DeviceAccess {
  static_assert(Scope == cuda::thread_scope_device || Scope == cuda::thread_scope_system,
                "chevron: ranks share memory at device or system scope; got another thread_scope; see "
                "chevron/transport/cuda_access.cuh");

  //! Everything that the writer of the value did before it is visible after this load.
  template <class Word>
  CHEVRON_DEVICE static Word load_acquire(Word const& word) {
    Word value;
    if constexpr (is_long<Word> && is_on_device) {
      asm volatile("ld.acquire.gpu.b64 %0,[%1];" : "=l"(value) : "l"(&word) : "memory");
    } else if constexpr (is_long<Word>) {
      asm volatile("ld.acquire.sys.b64 %0,[%1];" : "=l"(value) : "l"(&word) : "memory");
    } else if constexpr (is_on_device) {
      asm volatile("ld.acquire.gpu.b32 %0,[%1];" : "=r"(value) : "l"(&word) : "memory");
    } else {
      asm volatile("ld.acquire.sys.b32 %0,[%1];" : "=r"(value) : "l"(&word) : "memory");
    }
    return value;
  }
  //! Everything done before is visible to whoever loads this value with acquire.
  template <class Word>
  CHEVRON_DEVICE static void store_release(Word& word, Word value) {
    if constexpr (is_long<Word> && is_on_device) {
      asm volatile("st.release.gpu.b64 [%0],%1;" ::"l"(&word), "l"(value) : "memory");
    } else if constexpr (is_long<Word>) {
      asm volatile("st.release.sys.b64 [%0],%1;" ::"l"(&word), "l"(value) : "memory");
    } else if constexpr (is_on_device) {
      asm volatile("st.release.gpu.b32 [%0],%1;" ::"l"(&word), "r"(value) : "memory");
    } else {
      asm volatile("st.release.sys.b32 [%0],%1;" ::"l"(&word), "r"(value) : "memory");
    }
  }
  //! For words that carry their own data, and values that nobody orders anything by.
  template <class Word>
  CHEVRON_DEVICE static Word load_relaxed(Word const& word) {
    Word value;
    if constexpr (is_long<Word> && is_on_device) {
      asm volatile("ld.relaxed.gpu.b64 %0,[%1];" : "=l"(value) : "l"(&word) : "memory");
    } else if constexpr (is_long<Word>) {
      asm volatile("ld.relaxed.sys.b64 %0,[%1];" : "=l"(value) : "l"(&word) : "memory");
    } else if constexpr (is_on_device) {
      asm volatile("ld.relaxed.gpu.b32 %0,[%1];" : "=r"(value) : "l"(&word) : "memory");
    } else {
      asm volatile("ld.relaxed.sys.b32 %0,[%1];" : "=r"(value) : "l"(&word) : "memory");
    }
    return value;
  }
  template <class Word>
  CHEVRON_DEVICE static void store_relaxed(Word& word, Word value) {
    if constexpr (is_long<Word> && is_on_device) {
      asm volatile("st.relaxed.gpu.b64 [%0],%1;" ::"l"(&word), "l"(value) : "memory");
    } else if constexpr (is_long<Word>) {
      asm volatile("st.relaxed.sys.b64 [%0],%1;" ::"l"(&word), "l"(value) : "memory");
    } else if constexpr (is_on_device) {
      asm volatile("st.relaxed.gpu.b32 [%0],%1;" ::"l"(&word), "r"(value) : "memory");
    } else {
      asm volatile("st.relaxed.sys.b32 [%0],%1;" ::"l"(&word), "r"(value) : "memory");
    }
  }
  //! Replaces `expected` by `value`; returns what was there.
  CHEVRON_DEVICE static std::uint64_t replace(std::uint64_t& word, std::uint64_t expected,
                                              std::uint64_t value) {
    std::uint64_t before;
    if constexpr (is_on_device) {
      asm volatile("atom.cas.acq_rel.gpu.b64 %0,[%1],%2,%3;"
                   : "=l"(before)
                   : "l"(&word), "l"(expected), "l"(value)
                   : "memory");
    } else {
      asm volatile("atom.cas.acq_rel.sys.b64 %0,[%1],%2,%3;"
                   : "=l"(before)
                   : "l"(&word), "l"(expected), "l"(value)
                   : "memory");
    }
    return before;
  }
  //! Puts a value there, and returns what was there: by then it is there.
  CHEVRON_DEVICE static std::uint64_t exchange_relaxed(std::uint64_t& word, std::uint64_t value) {
    std::uint64_t before;
    if constexpr (is_on_device) {
      asm volatile("atom.exch.relaxed.gpu.b64 %0,[%1],%2;"
                   : "=l"(before)
                   : "l"(&word), "l"(value)
                   : "memory");
    } else {
      asm volatile("atom.exch.relaxed.sys.b64 %0,[%1],%2;"
                   : "=l"(before)
                   : "l"(&word), "l"(value)
                   : "memory");
    }
    return before;
  }
  //! Adds, and returns what was there.
  CHEVRON_DEVICE static std::uint32_t add_relaxed(std::uint32_t& word, std::uint32_t more) {
    std::uint32_t before;  // by hand: the compiler would count the threads of the warp that do the same
    if constexpr (is_on_device) {
      asm volatile("atom.relaxed.gpu.global.add.u32 %0, [%1], %2;"
                   : "=r"(before)
                   : "l"(&word), "r"(more)
                   : "memory");
    } else {
      asm volatile("atom.relaxed.sys.global.add.u32 %0, [%1], %2;"
                   : "=r"(before)
                   : "l"(&word), "r"(more)
                   : "memory");
    }
    return before;
  }

  // Two 64-bit words in one instruction. Each word is read or written whole, the two together need not be.

  //! Never from a cache that a peer's write does not reach.
  CHEVRON_DEVICE static ulonglong2 load_pair_relaxed(void const* from) {
    ulonglong2 pair;
    if constexpr (is_on_device) {
      asm volatile("ld.relaxed.gpu.global.v2.b64 {%0, %1}, [%2];"
                   : "=l"(pair.x), "=l"(pair.y)
                   : "l"(from)
                   : "memory");
    } else {
      asm volatile("ld.relaxed.sys.global.v2.b64 {%0, %1}, [%2];"
                   : "=l"(pair.x), "=l"(pair.y)
                   : "l"(from)
                   : "memory");
    }
    return pair;
  }
  CHEVRON_DEVICE static void store_pair_relaxed(void* to, ulonglong2 pair) {
    if constexpr (is_on_device) {
      asm volatile("st.relaxed.gpu.global.v2.b64 [%0], {%1, %2};" ::"l"(to), "l"(pair.x), "l"(pair.y)
                   : "memory");
    } else {
      asm volatile("st.relaxed.sys.global.v2.b64 [%0], {%1, %2};" ::"l"(to), "l"(pair.x), "l"(pair.y)
                   : "memory");
    }
  }

 private:
  static constexpr bool is_on_device = Scope == cuda::thread_scope_device;
  template <class Word>
  requires(sizeof(Word) == 4 || sizeof(Word) == 8) static constexpr bool is_long = sizeof(Word) == 8;
};

namespace detail {

//! Programmatic dependent launch: waits for everything before this kernel in its stream; does nothing in a kernel that was
//! not launched so. No read of anybody's data, and no word to a peer, may come before it.
CHEVRON_DEVICE inline void wait_for_earlier_kernels() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

//! Lets the next kernel of the stream be launched; it waits for this one's end before it reads anything. Only after
//! wait_for_earlier_kernels: else generations of kernels would pile up.
CHEVRON_DEVICE inline void let_next_kernel_launch() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}

[[nodiscard]] CHEVRON_DEVICE inline std::uint64_t nanoseconds_now() {
  std::uint64_t now = 0;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  return now;
}

}  // namespace detail

}  // namespace chevron

#endif
