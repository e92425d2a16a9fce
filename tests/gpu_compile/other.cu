// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <chevron/chevron.cuh>

bool works_elsewhere() {
  return chevron::CudaPeer<2>::create<chevron::ReduceScatterAllGather<2, float>>({0, 0}).has_value();
}

void const* kernel_elsewhere() {
  using Body = chevron::detail::Anywhere<chevron::ReduceScatterAllGather<2, float>>;
  return chevron::detail::kernel_of<chevron::CudaPeer<2>, Body, float, chevron::Identity>();
}
