// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Conversions and operations give the same bits on the GPU as on the host, compiled with -use_fast_math too.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <type_traits>
#include <vector>

#include <cuda_runtime.h>

#include <chevron/core/element_cuda.hpp>
#include <chevron/core/op.hpp>

#include <support/catch.hpp>
#include <support/seed.hpp>

namespace {

using chevron::bfloat16;
using chevron::ElementTraits;
using chevron::float8_e4m3;
using chevron::float8_e5m2;
using chevron::detail::bit_cast;

void need_device() {
  int devices = 0;
  if (cudaGetDeviceCount(&devices) == cudaSuccess && devices > 0) return;
  std::puts("skipped: there is no CUDA device");
  std::exit(77);
}

template <class T>
class DeviceArray {
 public:
  explicit DeviceArray(std::vector<T> const& values) : count_(values.size()) {
    REQUIRE(cudaMalloc(&data_, count_ * sizeof(T)) == cudaSuccess);
    REQUIRE(cudaMemcpy(data_, values.data(), count_ * sizeof(T), cudaMemcpyHostToDevice) == cudaSuccess);
  }
  DeviceArray(DeviceArray const&) = delete;
  DeviceArray& operator=(DeviceArray const&) = delete;
  ~DeviceArray() { cudaFree(data_); }

  T* data() const { return data_; }
  std::vector<T> values() const {
    std::vector<T> copy(count_);
    REQUIRE(cudaDeviceSynchronize() == cudaSuccess);
    REQUIRE(cudaMemcpy(copy.data(), data_, count_ * sizeof(T), cudaMemcpyDeviceToHost) == cudaSuccess);
    return copy;
  }

 private:
  std::size_t count_;
  T* data_ = nullptr;
};

// -- every float, every narrow pattern ----------------------------------------------------------------

template <class T>
struct Twin;  // the Toolkit's type, and the code that GPUs without conversion instructions take
template <>
struct Twin<chevron::half> {
  static __device__ unsigned toolkit(float value) { return __half_as_ushort(__float2half_rn(value)); }
  static __device__ float toolkit(chevron::half value) { return __half2float(bit_cast<__half>(value)); }
  static __device__ unsigned portable(float value) {
    return chevron::detail::encode<chevron::detail::half_format>(value);
  }
  static __device__ float portable(chevron::half value) {
    return chevron::detail::decode<chevron::detail::half_format>(value.bits);
  }
};
template <>
struct Twin<bfloat16> {
  static __device__ unsigned toolkit(float value) { return __bfloat16_as_ushort(__float2bfloat16_rn(value)); }
  static __device__ float toolkit(bfloat16 value) { return __bfloat162float(bit_cast<__nv_bfloat16>(value)); }
  static __device__ unsigned portable(float value) { return chevron::detail::encode_bfloat16(value); }
  static __device__ float portable(bfloat16 value) { return value.to_float(); }
};
template <>
struct Twin<float8_e4m3> {
  static __device__ unsigned toolkit(float value) { return __nv_fp8_e4m3(value).__x; }
  static __device__ float toolkit(float8_e4m3 value) { return float(bit_cast<__nv_fp8_e4m3>(value)); }
  static __device__ unsigned portable(float value) {
    return chevron::detail::encode<chevron::detail::e4m3_format>(value);
  }
  static __device__ float portable(float8_e4m3 value) {
    return chevron::detail::decode<chevron::detail::e4m3_format>(value.bits);
  }
};
template <>
struct Twin<float8_e5m2> {
  static __device__ unsigned toolkit(float value) { return __nv_fp8_e5m2(value).__x; }
  static __device__ float toolkit(float8_e5m2 value) { return float(bit_cast<__nv_fp8_e5m2>(value)); }
  static __device__ unsigned portable(float value) {
    return chevron::detail::encode<chevron::detail::e5m2_format>(value);
  }
  static __device__ float portable(float8_e5m2 value) {
    return chevron::detail::decode<chevron::detail::e5m2_format>(value.bits);
  }
};

//! The same bits, or both NaN; written without float comparisons, which compiler flags may weaken.
__host__ __device__ bool same(float a, float b) {
  auto const x = bit_cast<std::uint32_t>(a);
  auto const y = bit_cast<std::uint32_t>(b);
  return x == y || ((x & 0x7fffffffu) > 0x7f800000u && (y & 0x7fffffffu) > 0x7f800000u);
}

__device__ void count_if(bool is_wrong, unsigned long long* counter) {
  if (is_wrong) atomicAdd(counter, 1ull);
}

template <class T>
__global__ void convert_everything(unsigned long long* wrong) {
  auto const threads = std::uint64_t{gridDim.x} * blockDim.x;
  for (auto bits = std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x; bits < (1ull << 32);
       bits += threads) {
    auto const value = bit_cast<float>(static_cast<std::uint32_t>(bits));
    auto const encoded = T::from_float(value).bits;
    count_if(encoded != Twin<T>::toolkit(value), &wrong[0]);
    count_if(encoded != Twin<T>::portable(value), &wrong[1]);
    if (bits >> (8 * sizeof(T)) == 0) {
      T const narrow = {static_cast<decltype(T::bits)>(bits)};
      count_if(!same(narrow.to_float(), Twin<T>::toolkit(narrow)), &wrong[2]);
      count_if(!same(narrow.to_float(), Twin<T>::portable(narrow)), &wrong[3]);
    }
  }
}

// -- operations ---------------------------------------------------------------------------------------

template <class A>
struct Combined {
  A sum, prod, min, max, avg_of_3, avg_of_4;
};

template <class A>
__host__ __device__ Combined<A> combine(A a, A b, int three, int four) {
  using namespace chevron;
  auto const sum = Avg::combine(a, b);
  return {Sum::combine(a, b),
          Prod::combine(a, b),
          Min::combine(a, b),
          Max::combine(a, b),
          detail::finish<Avg>(sum, three),
          detail::finish<Avg>(sum, four)};
}

template <class A>
__global__ void combine_all(A const* a, A const* b, Combined<A>* combined, int count, int three, int four) {
  int const i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < count) combined[i] = combine(a[i], b[i], three, four);
}

template <class A>
bool same_value(A a, A b) {
  if constexpr (std::is_floating_point_v<A>) {
    return (std::isnan(a) && std::isnan(b)) || std::memcmp(&a, &b, sizeof(A)) == 0;
  } else {
    return a == b;
  }
}

//! Random bits; of the floats, half are of small magnitude, so that many results are subnormal.
template <class A>
std::vector<A> operands(std::size_t count, std::uint32_t seed) {
  std::mt19937_64 random(seed);
  std::vector<A> values(count);
  for (std::size_t i = 0; i < count; ++i) {
    auto bits = random();
    if (std::is_floating_point_v<A> && i % 2 == 0)
      bits &= sizeof(A) == 4 ? 0x81ffffffull : 0x803fffffffffffffull;
    std::memcpy(&values[i], &bits, sizeof(A));
  }
  return values;
}

}  // namespace

TEMPLATE_TEST_CASE("every float encodes, and every pattern decodes, as with the Toolkit", "[device]",
                   chevron::half, bfloat16, float8_e4m3, float8_e5m2) {
  need_device();
  DeviceArray<unsigned long long> const wrong(std::vector<unsigned long long>(4, 0));
  convert_everything<TestType><<<1024, 256>>>(wrong.data());
  auto const counts = wrong.values();
  INFO("encode: Toolkit, portable; decode: Toolkit, portable");
  CHECK(counts == std::vector<unsigned long long>(4, 0));
}

TEMPLATE_TEST_CASE("operations give the host's bits", "[device]", float, double, std::int8_t, std::uint8_t,
                   std::int32_t, std::uint32_t, std::int64_t, std::uint64_t) {
  need_device();
  INFO("CHEVRON_TEST_SEED=" << chevron::test::seed());
  int const count = 1 << 20;
  auto const a = operands<TestType>(count, chevron::test::seed());
  auto const b = operands<TestType>(count, chevron::test::seed() + 1);
  DeviceArray<TestType> const device_a(a);
  DeviceArray<TestType> const device_b(b);
  DeviceArray<Combined<TestType>> const device_combined{std::vector<Combined<TestType>>(count)};
  combine_all<<<count / 256, 256>>>(device_a.data(), device_b.data(), device_combined.data(), count, 3, 4);
  auto const got = device_combined.values();

  std::vector<int> wrong(6, 0);
  for (std::size_t i = 0; i < got.size(); ++i) {
    auto const wanted = combine(a[i], b[i], 3, 4);
    wrong[0] += !same_value(got[i].sum, wanted.sum);
    wrong[1] += !same_value(got[i].prod, wanted.prod);
    wrong[2] += !same_value(got[i].min, wanted.min);
    wrong[3] += !same_value(got[i].max, wanted.max);
    wrong[4] += !same_value(got[i].avg_of_3, wanted.avg_of_3);
    wrong[5] += !same_value(got[i].avg_of_4, wanted.avg_of_4);
  }
  CHECK(wrong == std::vector<int>(6, 0));
}
