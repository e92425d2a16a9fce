// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef CHEVRON_TESTS_COLLECTIVE_CUDA_MATRIX_PLAY_CUH
#define CHEVRON_TESTS_COLLECTIVE_CUDA_MATRIX_PLAY_CUH

//! @file
//! Makes all calls of a plan on the ranks' devices, and finds everything that is wrong afterwards. Results are compared there,
//! with what the plain reference gave on the host.

#include <collective/cuda_matrix/group.cuh>
#include <collective/cuda_matrix/plan.hpp>
#include <support/data.hpp>
#include <support/device.cuh>
#include <support/rank_devices.hpp>
#include <support/reference.hpp>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace chevron::test {

//! Every byte that nobody may touch has a value that follows from its place.
__host__ __device__ inline unsigned char paint_of(std::size_t offset, std::uint64_t seed) {
  return static_cast<unsigned char>((offset + seed) * 0x9e3779b97f4a7c15u >> 56);
}

//! What is wrong with one rank's results of one call.
struct Finding {
  unsigned long long wrong_results;
  unsigned long long changed_inputs;
  unsigned long long index;  //!< of some wrong result
  unsigned long long expected;
  unsigned long long got;
};

//! NaNs by their bits, which are all that is compared: without the sign, greater than the last that is none.
template <class Bits>
struct Nans {
  Bits magnitude;
  Bits last_number;

  template <class T>
  static Nans of() {
    constexpr FloatLayout layout = float_layout<T>;
    if constexpr (layout.exponent_bits == 0) {
      return {0, 0};  // no integer is greater
    } else {
      auto const magnitude =
          static_cast<Bits>((std::uint64_t{1} << (layout.exponent_bits + layout.mantissa_bits)) - 1);
      // Infinity; the largest number where there is none, as in e4m3.
      int bits = 0;
      auto const candidate = [&] { return static_cast<Bits>(magnitude - ((std::uint64_t{1} << bits) - 1)); };
      while (is_nan(from_bits<T>(candidate()))) ++bits;
      return {magnitude, candidate()};
    }
  }
  __device__ bool holds(Bits bits) const { return static_cast<Bits>(bits & magnitude) > last_number; }
};

//! Where the buffers of one call lie in a rank's canvas, and what should be there.
template <class Bits>
struct Sight {
  unsigned char* canvas;
  unsigned char const* original;  //!< the canvas as it was
  std::uint64_t seed;             //!< of the paint
  std::size_t in;
  std::size_t out;
  std::size_t count;
  Bits const* expected;
  Nans<Bits> nans;
  Finding* finding;
};

//! Looks at results and inputs, then paints both over: they are the caller's again, so what a peer still reads or writes
//! there shows in its results, or as a stain.
template <class Bits>
__global__ void take(Sight<Bits> sight) {
  std::size_t const stride = std::size_t{gridDim.x} * blockDim.x;
  for (std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x; i < sight.count; i += stride) {
    std::size_t const in_at = sight.in + i * sizeof(Bits);
    std::size_t const out_at = sight.out + i * sizeof(Bits);
    Bits const got = *reinterpret_cast<Bits const*>(sight.canvas + out_at);
    Bits const expected = sight.expected[i];
    bool const same = sight.nans.holds(expected) ? sight.nans.holds(got) : got == expected;
    if (!same && atomicAdd(&sight.finding->wrong_results, 1ull) == 0) {
      sight.finding->index = i;
      sight.finding->expected = expected;
      sight.finding->got = got;
    }
    if (sight.in != sight.out && *reinterpret_cast<Bits const*>(sight.canvas + in_at) !=
                                     *reinterpret_cast<Bits const*>(sight.original + in_at)) {
      atomicAdd(&sight.finding->changed_inputs, 1ull);
    }
    for (std::size_t k = 0; k < sizeof(Bits); ++k) {
      sight.canvas[in_at + k] = paint_of(in_at + k, sight.seed);
      sight.canvas[out_at + k] = paint_of(out_at + k, sight.seed);
    }
  }
}

[[maybe_unused]] static __global__ void paint(unsigned char* canvas, std::size_t size_bytes,
                                              std::uint64_t seed) {
  std::size_t const stride = std::size_t{gridDim.x} * blockDim.x;
  for (std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x; i < size_bytes; i += stride) {
    canvas[i] = paint_of(i, seed);
  }
}

[[maybe_unused]] static __global__ void copy_canvas(unsigned char* to, unsigned char const* from,
                                                    std::size_t size_bytes) {
  std::size_t const stride = std::size_t{gridDim.x} * blockDim.x;
  for (std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x; i < size_bytes; i += stride) {
    to[i] = from[i];
  }
}

//! The first byte that has lost its paint.
[[maybe_unused]] static __global__ void find_stain(unsigned char const* canvas, std::size_t size_bytes,
                                                   std::uint64_t seed, unsigned long long* first) {
  std::size_t const stride = std::size_t{gridDim.x} * blockDim.x;
  for (std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x; i < size_bytes; i += stride) {
    if (canvas[i] != paint_of(i, seed)) {
      atomicMin(first, static_cast<unsigned long long>(i));
      return;
    }
  }
}

//! Blocks for kernels of this test, few enough to leave room for the lanes.
inline unsigned blocks_for(std::size_t items) {
  std::size_t const blocks = (items + 255) / 256;
  return static_cast<unsigned>(blocks < 1 ? 1 : blocks > 64 ? 64 : blocks);
}

//! What a call of the plan must give, on all ranks.
template <class T>
std::vector<T> expectation_of(Plan const& plan, PlannedCall const& call) {
  std::vector<T> expected(call.count);
  std::vector<T> by_rank(static_cast<std::size_t>(plan.ranks));
  auto const fill = [&]<int Index>() {
    using Op = typename TaskAt<Index>::Op;
    auto const epilogue = make_epilogue<typename TaskAt<Index>::Epilogue>(call.seed);
    for (std::size_t i = 0; i < call.count; ++i) {
      for (int rank = 0; rank < plan.ranks; ++rank) {
        by_rank[static_cast<std::size_t>(rank)] = value_of<T>(call.data, call.seed, rank, i);
      }
      expected[i] = reference<Op, T>(std::span<T const>(by_rank), epilogue, i);
    }
  };
  [&]<int... Index>(std::integer_sequence<int, Index...>) {
    ((call.task == Index ? fill.template operator()<Index>() : void()), ...);
  }
  (std::make_integer_sequence<int, task_count>{});
  return expected;
}

//! Plays one plan on a group.
template <class T>
class Player {
  using Bits = bits_t<T>;

 public:
  explicit Player(Plan const& plan)
      : plan_(plan), devices_(devices_of(plan)), streams_(streams_on(devices_)) {
    load_kernel(&take<Bits>);
    load_kernel(&paint);
    load_kernel(&copy_canvas);
    load_kernel(&find_stain);
    load_kernel(&dawdle);
    auto const ranks = static_cast<std::size_t>(plan.ranks);
    expected_.resize(ranks);
    for (std::size_t rank = 0; rank < ranks; ++rank) {
      findings_.emplace_back(plan.calls.size(), devices_[rank]);
      stains_.emplace_back(std::vector<unsigned long long>(1, ~0ull), devices_[rank]);
    }
    for (PlannedCall const& call : plan.calls) {
      auto const expected = expectation_of<T>(plan, call);
      std::vector<Bits> bits(expected.size());
      for (std::size_t i = 0; i < bits.size(); ++i) bits[i] = bits_of(expected[i]);
      for (std::size_t rank = 0; rank < ranks; ++rank) {
        if (first_on_device_of(rank) == rank) expected_[rank].emplace_back(bits, devices_[rank]);
      }
    }
    for (std::size_t rank = 0; rank < ranks; ++rank) prepare(rank);
    must(synchronise_devices(), "preparing the canvases");
  }

  //! The first complaint; empty where everything is as it should be.
  std::string play(DeviceGroup<T>& group) {
    if (std::string bad = make_windows(group); !bad.empty()) return bad;
    std::string complaint = plan_.captured ? play_captured(group) : play_eagerly(group);
    if (cudaError_t const done = synchronise_devices(); done != cudaSuccess && complaint.empty()) {
      complaint = plan_.text(0) + "\n  the device says: " + cudaGetErrorString(done);
    }
    if (std::string const bad = group.status(); complaint.empty() && !bad.empty())
      complaint = plan_.text(0) + bad;
    return complaint.empty() ? look() : complaint;
  }

 private:
  static constexpr int replays = 3;

  [[nodiscard]] static std::vector<int> devices_of(Plan const& plan) {
    std::vector<int> devices(static_cast<std::size_t>(plan.ranks), 0);
    for (int rank = 0; plan.system_scope && rank < plan.ranks; ++rank)
      devices[static_cast<std::size_t>(rank)] = device_of(rank);
    return devices;
  }
  //! The rank that holds what all ranks of a device read.
  [[nodiscard]] std::size_t first_on_device_of(std::size_t rank) const {
    std::size_t first = 0;
    while (devices_[first] != devices_[rank]) ++first;
    return first;
  }

  //! Each buffer that must lie in a window has one of its own; the others lie in none.
  std::string make_windows(DeviceGroup<T>& group) {
    for (std::size_t rank = 0; rank < canvases_.size(); ++rank) {
      for (std::size_t index = 0; index < plan_.calls.size(); ++index) {
        PlannedCall const& call = plan_.calls[index];
        if (!needs_windows(call.algorithm)) continue;
        for (std::size_t const at : {call.places[rank].in, call.places[rank].out}) {
          auto const data = reinterpret_cast<T*>(canvases_[rank].data() + at);
          auto const made = group.make_window(static_cast<int>(rank), data, call.count);
          if (!made) return plan_.text(index) + "\n  a window: " + made.error().message();
        }
      }
    }
    return "";
  }

  void prepare(std::size_t rank) {
    DeviceGuard const guard(devices_[rank]);
    std::size_t const size_bytes = plan_.canvas_bytes[rank] + 200;
    canvases_.emplace_back(size_bytes, devices_[rank]);
    originals_.emplace_back(size_bytes, devices_[rank]);
    auto const original = originals_.back().data();
    paint<<<1024, 256>>>(original, size_bytes, seed_of(rank));
    must(cudaGetLastError(), "painting a canvas");
    must(cudaDeviceSynchronize(), "painting a canvas");
    for (PlannedCall const& call : plan_.calls) {
      std::vector<Bits> values(call.count);
      for (std::size_t i = 0; i < call.count; ++i) {
        values[i] = bits_of(value_of<T>(call.data, call.seed, static_cast<int>(rank), i));
      }
      must(cudaMemcpy(original + call.places[rank].in, values.data(), call.count * sizeof(Bits),
                      cudaMemcpyHostToDevice),
           "filling an input");
    }
  }

  std::string play_eagerly(DeviceGroup<T> const& group) {
    for (std::size_t rank = 0; rank < canvases_.size(); ++rank) restore(rank);
    for (std::size_t call = 0; call < plan_.calls.size(); ++call) {
      for (std::size_t rank = 0; rank < canvases_.size(); ++rank) {
        if (std::string bad = make_call(group, rank, call); !bad.empty()) return bad;
        if (!plan_.in_a_row) look_at(rank, call);
      }
    }
    if (plan_.in_a_row) {
      for (std::size_t rank = 0; rank < canvases_.size(); ++rank) look_at_all(rank);
    }
    return "";
  }

  std::string play_captured(DeviceGroup<T> const& group) {
    std::string complaint;
    std::vector<Graph> graphs;
    for (std::size_t rank = 0; rank < canvases_.size(); ++rank) {
      graphs.emplace_back(streams_[rank], [&] {
        restore(rank);
        for (std::size_t call = 0; call < plan_.calls.size() && complaint.empty(); ++call) {
          complaint = make_call(group, rank, call);
          if (!plan_.in_a_row) look_at(rank, call);
        }
        if (plan_.in_a_row) look_at_all(rank);
      });
      if (!complaint.empty()) return complaint;
      graphs.back().upload(streams_[rank]);
    }
    must(synchronise_devices(), "uploading graphs");
    for (int replay = 0; replay < replays; ++replay) {
      for (std::size_t rank = 0; rank < graphs.size(); ++rank) graphs[rank].launch(streams_[rank]);
    }
    // Graphs go before their streams and after their last run.
    must(synchronise_devices(), "running graphs");
    return "";
  }

  void restore(std::size_t rank) {
    DeviceGuard const guard(devices_[rank]);
    std::size_t const size_bytes = canvases_[rank].count();
    copy_canvas<<<blocks_for(size_bytes), 256, 0, streams_[rank]>>>(canvases_[rank].data(),
                                                                    originals_[rank].data(), size_bytes);
    must(cudaGetLastError(), "restoring a canvas");
  }

  std::string make_call(DeviceGroup<T> const& group, std::size_t rank, std::size_t index) {
    PlannedCall const& call = plan_.calls[index];
    Place const& place = call.places[rank];
    if (place.dawdle_ns != 0) dawdle_on(streams_[rank], place.dawdle_ns);
    auto const made = group.call(static_cast<int>(rank), call,
                                 reinterpret_cast<T const*>(canvases_[rank].data() + place.in),
                                 reinterpret_cast<T*>(canvases_[rank].data() + place.out), streams_[rank]);
    if (made) return "";
    return plan_.text(index) + "\n  rank " + std::to_string(rank) + ": " + made.error().message();
  }

  void look_at(std::size_t rank, std::size_t index) {
    PlannedCall const& call = plan_.calls[index];
    Place const& place = call.places[rank];
    DeviceGuard const guard(devices_[rank]);
    take<Bits><<<blocks_for(call.count), 256, 0, streams_[rank]>>>(
        Sight<Bits>{canvases_[rank].data(), originals_[rank].data(), seed_of(rank), place.in, place.out,
                    call.count, expected_[first_on_device_of(rank)][index].data(),
                    Nans<Bits>::template of<T>(), findings_[rank].data() + index});
    must(cudaGetLastError(), "looking at a result");
  }
  void look_at_all(std::size_t rank) {
    for (std::size_t call = 0; call < plan_.calls.size(); ++call) look_at(rank, call);
  }

  std::string look() {
    std::vector<Finding> findings;
    std::vector<unsigned long long> stains;
    for (std::size_t rank = 0; rank < canvases_.size(); ++rank) {
      DeviceGuard const guard(devices_[rank]);
      find_stain<<<1024, 256>>>(canvases_[rank].data(), canvases_[rank].count(), seed_of(rank),
                                stains_[rank].data());
      must(cudaGetLastError(), "looking for stains");
      for (Finding const& finding : findings_[rank].values()) findings.push_back(finding);
      stains.push_back(stains_[rank].values()[0]);
    }
    for (std::size_t i = 0; i < findings.size(); ++i) {
      Finding const& found = findings[i];
      std::size_t const call = i % plan_.calls.size();
      std::string const who = plan_.text(call) + "\n  rank " + std::to_string(i / plan_.calls.size());
      if (found.wrong_results != 0) {
        return who + ": " + std::to_string(found.wrong_results) + " wrong results, one of them at index " +
               std::to_string(found.index) + ": expected " + hex(found.expected) + ", got " + hex(found.got);
      }
      if (found.changed_inputs != 0) {
        return who + ": the call changed " + std::to_string(found.changed_inputs) + " of its inputs";
      }
    }
    for (std::size_t rank = 0; rank < stains.size(); ++rank) {
      if (stains[rank] == ~0ull) continue;
      return nearest(rank, stains[rank]) + "\n  rank " + std::to_string(rank) + ": byte " +
             std::to_string(stains[rank]) + " was written to outside of a call's buffers, or after its end";
    }
    return "";
  }

  //! The call whose buffer is the nearest to an offset.
  [[nodiscard]] std::string nearest(std::size_t rank, std::size_t offset) const {
    std::size_t found = 0;
    std::size_t smallest = ~std::size_t{0};
    for (std::size_t call = 0; call < plan_.calls.size(); ++call) {
      Place const& place = plan_.calls[call].places[rank];
      for (std::size_t const begin : {place.in, place.out}) {
        std::size_t const end = begin + plan_.calls[call].count * sizeof(T);
        std::size_t const distance = offset < begin ? begin - offset : offset < end ? 0 : offset - end;
        if (distance >= smallest) continue;
        smallest = distance;
        found = call;
      }
    }
    return plan_.text(found);
  }

  [[nodiscard]] std::uint64_t seed_of(std::size_t rank) const { return plan_.seed + rank; }
  [[nodiscard]] static std::string hex(unsigned long long value) {
    char text[24];
    std::snprintf(text, sizeof(text), "0x%llx", value);
    return text;
  }

  Plan const& plan_;
  std::vector<int> devices_;  //!< of the ranks
  std::vector<Stream> streams_;
  std::vector<DeviceBuffer<unsigned char>> canvases_{};
  std::vector<DeviceBuffer<unsigned char>> originals_{};
  std::vector<std::vector<DeviceBuffer<Bits>>> expected_{};  //!< of the first rank on each device, by call
  std::vector<DeviceBuffer<Finding>> findings_{};            //!< by rank, then by call
  std::vector<DeviceBuffer<unsigned long long>> stains_{};
};

}  // namespace chevron::test

#endif
