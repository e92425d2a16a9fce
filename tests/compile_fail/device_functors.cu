// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What kernels call must be there for the device. nvcc says it in its own sentence, which names the rule.
#include <chevron/chevron.cuh>

using namespace chevron;

struct Add {
#if defined(CASE_operation_of_the_host)  // expect-error: calling a __host__ function\("Add::combine\(float, float\)"\) from a __device__ function\(".*functions_of_operations_and_epilogues_must_be_CHEVRON_HD
  static float combine(float a, float b) { return a + b; }
#else
  static CHEVRON_HD float combine(float a, float b) { return a + b; }
#endif
#if defined(CASE_finish_of_the_host)  // expect-error: calling a __host__ function\("Add::finish\(float, int\)"\) from a __device__ function\(".*functions_of_operations_and_epilogues_must_be_CHEVRON_HD
  static float finish(float a, int) { return a; }
#else
  static CHEVRON_HD float finish(float a, int) { return a; }
#endif
};

struct Double {
#if defined(CASE_epilogue_of_the_host)  // expect-error: calling a __host__ function\("Double::operator ?\(\)\(float, unsigned long\) const"\) from a __device__ function\(".*functions_of_operations_and_epilogues_must_be_CHEVRON_HD
  float operator()(float value, std::size_t) const { return 2 * value; }
#else
  CHEVRON_HD float operator()(float value, std::size_t) const { return 2 * value; }
#endif
};

Result<void> call(Communicator<CudaPeer<2>> const& ranks, float* data) {
  return all_reduce<OneShotPush<2, float, Add, Double>>(ranks, data, data, 10, nullptr, Add{}, Double{});
}
