// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef CHEVRON_CORE_CONFIG_HPP
#define CHEVRON_CORE_CONFIG_HPP

//! @file
//! The only macros of the library: execution-space marks that vanish without CUDA, and the version.

#define CHEVRON_VERSION_MAJOR 0
#define CHEVRON_VERSION_MINOR 1
#define CHEVRON_VERSION_PATCH 0

#if defined(__CUDACC__)
#define CHEVRON_HD __host__ __device__
#define CHEVRON_DEVICE __device__
#else
#define CHEVRON_HD
#define CHEVRON_DEVICE
#endif

//! Around the algorithms' bodies, which run on lanes of the host and of a device: nvcc would warn of each call of a lane's
//! function that the other side can't make, though nobody makes it.
#if defined(__CUDACC__)
#define CHEVRON_BODIES_BEGIN                                                                        \
  _Pragma("nv_diagnostic push") _Pragma("nv_diag_suppress 20011") _Pragma("nv_diag_suppress 20013") \
      _Pragma("nv_diag_suppress 20014") _Pragma("nv_diag_suppress 20015")
#define CHEVRON_BODIES_END _Pragma("nv_diagnostic pop")
#else
#define CHEVRON_BODIES_BEGIN
#define CHEVRON_BODIES_END
#endif

//! For a class whose values must be looked at. nvcc also warns of assignments to one, and so gets none of it.
#if defined(__CUDACC__)
#define CHEVRON_NODISCARD
#else
#define CHEVRON_NODISCARD [[nodiscard]]
#endif

//! An inlined function of the hot path: the loops around it only vectorise when it vanishes.
#define CHEVRON_INLINE CHEVRON_HD inline __attribute__((always_inline))

//! The same for a lambda, behind its parameters: GCC does not inline a long one that is called twice.
#define CHEVRON_INLINE_LAMBDA __attribute__((always_inline))

//! In a header, outside of any namespace, after the selector: the calls of a collective on a transport with a selector,
//! `WithEpilogue<Selector, E>` or an algorithm are compiled by another file, which says CHEVRON_INSTANTIATE with the same
//! words. The transport comes first; see collective/instantiate.hpp.
#define CHEVRON_DECLARE(collective, ...)                                                                    \
  template <>                                                                                               \
  struct chevron::detail::IsElsewhere<chevron::instantiation::collective<__VA_ARGS__>> : std::true_type {}; \
  extern template struct chevron::instantiation::collective<__VA_ARGS__>

//! In one file: compiles what CHEVRON_DECLARE has declared.
#define CHEVRON_INSTANTIATE(collective, ...) template struct chevron::instantiation::collective<__VA_ARGS__>

namespace chevron {

//! Version of the library, as one number that ranks compare when they meet: 10000 * major + 100 * minor +
//! patch.
inline constexpr int version =
    10000 * CHEVRON_VERSION_MAJOR + 100 * CHEVRON_VERSION_MINOR + CHEVRON_VERSION_PATCH;

}  // namespace chevron

#endif
