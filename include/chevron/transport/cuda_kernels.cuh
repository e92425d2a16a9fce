// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef CHEVRON_TRANSPORT_CUDA_KERNELS_CUH
#define CHEVRON_TRANSPORT_CUDA_KERNELS_CUH

//! @file
//! How a device transport learns which kernels its communicators may launch.

#include <vector>

namespace chevron::detail {

//! @brief The kernels of a selector or algorithm on a transport, as addresses: `static void add_to(std::vector<void const*>&)`.
//! Each collective defines it for what can be its Choice.
template <class Choice, class Transport>
struct KernelsOf;

template <class Choice, class Transport>
void add_kernels(std::vector<void const*>& kernels) {
  KernelsOf<Choice, Transport>::add_to(kernels);
}

}  // namespace chevron::detail

#endif
