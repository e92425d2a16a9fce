// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef CHEVRON_TRANSPORT_CUDA_KERNELS_CUH
#define CHEVRON_TRANSPORT_CUDA_KERNELS_CUH

//! @file
//! How a device transport learns which kernels its communicators may launch.

#include <chevron/core/error.hpp>

#include <optional>
#include <string>
#include <vector>

namespace chevron::detail {

//! @brief The kernels of a selector or algorithm on a transport, as addresses: `static void add_to(std::vector<void const*>&)`;
//! and whether it was made for an architecture: `static bool is_for(int)`. Each collective defines it for what can be its
//! Choice.
template <class Choice, class Transport>
struct KernelsOf;

template <class Choice, class Transport>
void add_kernels(std::vector<void const*>& kernels) {
  KernelsOf<Choice, Transport>::add_to(kernels);
}

//! @brief The error of a group of devices that one of the Choices leaves out.
template <class Transport, class... Choices>
[[nodiscard]] std::optional<Error> not_compiled_for(int architecture, char const* during) {
  if ((KernelsOf<Choices, Transport>::is_for(architecture) && ...)) return std::nullopt;
  return Error{.code = Errc::not_compiled_for_device,
               .during = during,
               .detail = "compute capability " + std::to_string(architecture / 10) + "." +
                         std::to_string(architecture % 10) + " is not among a selector's Architectures"};
}

}  // namespace chevron::detail

#endif
