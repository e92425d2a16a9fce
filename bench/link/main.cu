// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! @file
//! chevron-link-rates: what the link between each two GPUs carries, for kernels and for copy engines: the yardstick for
//! collective operations. No chevron in it.
//!
//! ```
//! chevron-link-rates [--bytes SIZE] [--json FILE]
//! ```

#include <cuda_runtime.h>

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <functional>
#include <string>
#include <vector>

#include <perf/cuda/cuda_check.hpp>
#include <perf/cuda/stage.hpp>

namespace perf {

namespace {

constexpr char const* during = "measuring links";
constexpr int in_flight = 4;
constexpr int threads = 512;

//! @brief What a kernel makes its link carry.
enum class Traffic { loads, stores, mixed };

constexpr char const* name(Traffic traffic) {
  return traffic == Traffic::loads ? "loads" : traffic == Traffic::stores ? "stores" : "mixed";
}

__device__ void copy(uint4* to, uint4 const* from, std::size_t packs) {
  std::size_t const stride = std::size_t{gridDim.x} * blockDim.x;
  std::size_t i = blockIdx.x * std::size_t{blockDim.x} + threadIdx.x;
  for (; i + (in_flight - 1) * stride < packs; i += in_flight * stride) {
    uint4 held[in_flight];
#pragma unroll
    for (int k = 0; k < in_flight; ++k) {
      asm volatile("ld.relaxed.sys.global.v4.u32 {%0, %1, %2, %3}, [%4];"
                   : "=r"(held[k].x), "=r"(held[k].y), "=r"(held[k].z), "=r"(held[k].w)
                   : "l"(from + i + k * stride)
                   : "memory");
    }
#pragma unroll
    for (int k = 0; k < in_flight; ++k) to[i + k * stride] = held[k];
  }
  for (; i < packs; i += stride) to[i] = from[i];
}

//! Moves `packs` packs over the link: into the peer's memory, out of it, or half of them each way, as a reduce-scatter that
//! loads and an all-gather that stores do.
__global__ void __launch_bounds__(threads) move(Traffic traffic, uint4 const* in, uint4* out,
                                                uint4 const* peer_in, uint4* peer_out, std::size_t packs) {
  if (traffic == Traffic::loads) return copy(out, peer_in, packs);
  if (traffic == Traffic::stores) return copy(peer_out, in, packs);
  copy(out, peer_in, packs / 2);
  copy(peer_out, in, packs / 2);
}

struct Row {
  int from, to;  //!< devices
  std::string what;
  int blocks;                   //!< 0: copy engines
  double gigabytes_per_second;  //!< each way
};

class Links {
 public:
  Links(int first, int second, std::size_t bytes)
      : devices_{first, second}, bytes_(bytes), stage_({first, second}) {
    stage_.for_each_rank([&](int rank) {
      if (first != second) (void)cudaDeviceEnablePeerAccess(devices_[1 - rank], 0);
      (void)cudaGetLastError();
      check_cuda(cudaMalloc(&in_[rank], bytes), during);
      check_cuda(cudaMalloc(&out_[rank], bytes), during);
      check_cuda(cudaMemset(in_[rank], 1, bytes), during);
      check_cuda(cudaDeviceSynchronize(), during);
    });
  }
  ~Links() {
    for (int const rank : {0, 1}) {
      (void)cudaFree(in_[rank]);
      (void)cudaFree(out_[rank]);
    }
  }
  Links(Links const&) = delete;
  Links& operator=(Links const&) = delete;

  //! @return GB/s each way, the median of several
  double engines(bool both_ways) {
    return rate([&] {
      for (int rank = 0; rank < (both_ways ? 2 : 1); ++rank) {
        check_cuda(
            cudaMemcpyAsync(out_[1 - rank], in_[rank], bytes_, cudaMemcpyDeviceToDevice, stage_.stream(rank)),
            during);
      }
    });
  }
  double kernels(Traffic traffic, int blocks) {
    return rate([&] {
      stage_.for_each_rank([&](int rank) {
        move<<<static_cast<unsigned>(blocks), threads, 0, stage_.stream(rank)>>>(
            traffic, in_[rank], out_[rank], in_[1 - rank], out_[1 - rank], bytes_ / sizeof(uint4));
        check_cuda(cudaGetLastError(), during);
      });
    });
  }

 private:
  double rate(std::function<void()> const& once) {
    constexpr int calls = 4;
    constexpr int rounds = 9;
    std::vector<double> seconds;
    for (int round = 0; round <= rounds; ++round) {
      double const elapsed = stage_.time(
          [&] {
            for (int i = 0; i < calls; ++i) once();
          },
          true);
      if (round > 0) seconds.push_back(elapsed / calls);
    }
    std::nth_element(seconds.begin(), seconds.begin() + rounds / 2, seconds.end());
    return 1e-9 * static_cast<double>(bytes_) / seconds[rounds / 2];
  }

  int devices_[2];
  std::size_t bytes_;
  Stage stage_;
  uint4* in_[2] = {};
  uint4* out_[2] = {};
};

std::vector<Row> measure(int first, int second, std::size_t bytes) {
  std::vector<Row> rows;
  auto const add = [&](std::string what, int blocks, double rate) {
    rows.push_back({first, second, std::move(what), blocks, rate});
    std::printf("%4d %4d  %-22s %6d %10.1f\n", first, second, rows.back().what.c_str(), blocks, rate);
    std::fflush(stdout);
  };
  Links links(first, second, bytes);
  add("copy, one way", 0, links.engines(false));
  add("copy, both ways", 0, links.engines(true));
  int processors = 0;
  check_cuda(cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, first), during);
  for (auto const traffic : {Traffic::loads, Traffic::stores, Traffic::mixed})
    for (int const blocks : {8, 16, 32, 64, processors})
      add(std::string(name(traffic)) + ", both ways", blocks, links.kernels(traffic, blocks));
  return rows;
}

bool write_json(char const* file, std::size_t bytes, std::vector<Row> const& rows) {
  std::FILE* const out = std::fopen(file, "w");
  if (out == nullptr) return false;
  std::fprintf(out, "{\"bytes\": %zu, \"rows\": [", bytes);
  char const* separator = "\n";
  for (auto const& row : rows) {
    std::fprintf(out, "%s  {\"from\": %d, \"to\": %d, \"what\": \"%s\", \"blocks\": %d, \"gb_per_s\": %.2f}",
                 separator, row.from, row.to, row.what.c_str(), row.blocks, row.gigabytes_per_second);
    separator = ",\n";
  }
  std::fprintf(out, "\n]}\n");
  return std::fclose(out) == 0;
}

int run(int argc, char** argv) {
  std::size_t bytes = std::size_t{256} << 20;
  char const* json = nullptr;
  for (int i = 1; i < argc; ++i) {
    if (i + 1 < argc && std::strcmp(argv[i], "--bytes") == 0) {
      bytes = std::strtoull(argv[++i], nullptr, 10) / 512 * 512;
    } else if (i + 1 < argc && std::strcmp(argv[i], "--json") == 0) {
      json = argv[++i];
    } else {
      std::fprintf(stderr, "chevron-link-rates: unknown option %s (there are --bytes N, --json FILE)\n",
                   argv[i]);
      return 2;
    }
  }
  int devices = 0;
  if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
    std::puts("chevron-link-rates: skipped, there is no GPU here");
    return 77;
  }
  std::printf("# %zu bytes each way, %d threads a block, %d packs of 16 bytes in flight\n", bytes, threads,
              in_flight);
  std::puts("#from   to  what                   blocks  GB/s each way");
  std::vector<Row> rows;
  for (int first = 0; first < devices; ++first) {
    for (int second = first + 1; second < devices; ++second) {
      int reached = 0;
      check_cuda(cudaDeviceCanAccessPeer(&reached, first, second), during);
      if (reached == 0) {
        std::printf("%4d %4d  no peer access\n", first, second);
        continue;
      }
      auto const of_pair = measure(first, second, bytes);
      rows.insert(rows.end(), of_pair.begin(), of_pair.end());
    }
  }
  if (devices == 1) rows = measure(0, 0, bytes);
  if (json != nullptr && !write_json(json, bytes, rows)) {
    std::fprintf(stderr, "chevron-link-rates: can't write %s\n", json);
    return 1;
  }
  return 0;
}

}  // namespace

}  // namespace perf

int main(int argc, char** argv) try { return perf::run(argc, argv); } catch (std::exception const& failure) {
  std::fprintf(stderr, "chevron-link-rates: %s\n", failure.what());
  return 1;
}
