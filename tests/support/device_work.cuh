// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef CHEVRON_TESTS_SUPPORT_DEVICE_WORK_CUH
#define CHEVRON_TESTS_SUPPORT_DEVICE_WORK_CUH

//! @file
//! What surrounds a call in tests of many calls: a kernel that looks at the results of the last one and makes the inputs of
//! the next. All of it stays on the device; what was wrong is counted.

#include <support/device.cuh>

#include <cstddef>
#include <cstdint>
#include <string>

namespace chevron::test {

//! Element `index` of a rank's input in a round: a float of either sign in [1, 2), so that sums round, but don't overflow.
__host__ __device__ inline float value_in(unsigned round, int rank, std::size_t index) {
  std::uint64_t x = index * 0x9e3779b97f4a7c15u + round * 0xbf58476d1ce4e5b9u +
                    static_cast<unsigned>(rank) * 0x94d049bb133111ebu + 1;
  x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
  x ^= x >> 27;
  union {
    std::uint32_t bits;
    float value;
  } both{static_cast<std::uint32_t>((x >> 63) << 31 | 127u << 23 | (x & 0x7fffff))};
  return both.value;
}

//! The sum over all ranks, in their order.
__device__ inline float sum_in(unsigned round, int ranks, std::size_t index) {
  float sum = value_in(round, 0, index);
  for (int rank = 1; rank < ranks; ++rank) sum = __fadd_rn(sum, value_in(round, rank, index));
  return sum;
}

//! What was wrong in all rounds so far, on one rank.
struct Mistakes {
  unsigned long long wrong;
  unsigned long long checked;
  unsigned long long index;  //!< of some wrong result
  unsigned round;
  float expected;
  float got;
};

//! Between two calls of a rank.
struct Turn {
  float* in = nullptr;            //!< gets the next round's input, null: no next round begins
  float* out = nullptr;           //!< is poisoned first, where it is another buffer than `in`
  float const* result = nullptr;  //!< of the current round; null: is not looked at
  std::size_t count = 0;
  int rank = 0;
  int ranks = 0;
  unsigned* rounds = nullptr;  //!< the current round, a word per block: replayed graphs go on counting
  Mistakes* mistakes = nullptr;
};

//! Looks at what the last call left, then overwrites its input at once. Lets the next kernel be launched early: its waiting
//! is what must order it.
[[maybe_unused]] static __global__ void take_turn(Turn turn) {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.wait;" ::: "memory");
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
  unsigned const round = turn.rounds[blockIdx.x];
  std::size_t const first = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  std::size_t const stride = std::size_t{gridDim.x} * blockDim.x;
  if (turn.result != nullptr) {
    for (std::size_t i = first; i < turn.count; i += stride) {
      float const expected = sum_in(round, turn.ranks, i);
      float const got = turn.result[i];
      if (__float_as_uint(expected) == __float_as_uint(got)) continue;
      if (atomicAdd(&turn.mistakes->wrong, 1ull) == 0) {
        turn.mistakes->index = i;
        turn.mistakes->round = round;
        turn.mistakes->expected = expected;
        turn.mistakes->got = got;
      }
    }
    if (first == 0) turn.mistakes->checked += turn.count;
  }
  __syncthreads();
  if (turn.in == nullptr) return;
  for (std::size_t i = first; i < turn.count; i += stride) {
    if (turn.out != turn.in) turn.out[i] = __uint_as_float(0x7fc0dead);
    turn.in[i] = value_in(round + 1, turn.rank, i);
  }
  if (threadIdx.x == 0) turn.rounds[blockIdx.x] = round + 1;
}

//! @param dependent  with programmatic dependent launch
inline void launch(Turn const& turn, unsigned blocks, Stream const& stream, bool dependent) {
  DeviceGuard const guard(stream.device());
  cudaLaunchAttribute attribute{};
  attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  attribute.val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(blocks);
  config.blockDim = dim3(256);
  config.stream = stream;
  config.attrs = &attribute;
  config.numAttrs = dependent ? 1 : 0;
  must(cudaLaunchKernelEx(&config, &take_turn, turn), "launching a turn");
}

//! How the buffers of a round lie in a worker's.
struct Lie {
  bool in_place = false;
  std::size_t in_askew = 0;  //!< elements
  std::size_t out_askew = 0;
  bool in_no_window = false;
};

//! A rank's stream, its rounds and its mistakes.
class Worker {
 public:
  Worker(int rank, int ranks, std::size_t most_elements, int device)
      : rank_(rank),
        ranks_(ranks),
        stream_(device),
        in_(most_elements + slack, device),
        out_(most_elements + slack, device),
        plain_in_(most_elements + slack, device),
        plain_out_(most_elements + slack, device),
        rounds_(most_blocks, device),
        mistakes_(1, device) {
    load_kernel(&take_turn);
  }

  [[nodiscard]] Stream const& stream() const { return stream_; }
  [[nodiscard]] float* in(std::size_t askew = 0) const { return in_.data() + askew; }
  [[nodiscard]] float* out(std::size_t askew = 0) const { return out_.data() + askew; }
  [[nodiscard]] float* in(Lie const& lie) const {
    return (lie.in_no_window ? plain_in_ : in_).data() + lie.in_askew;
  }
  [[nodiscard]] float* out(Lie const& lie) const {
    return lie.in_place ? in(lie) : (lie.in_no_window ? plain_out_ : out_).data() + lie.out_askew;
  }
  //! Calls `make(data, count)` for each buffer that shall lie in a window.
  template <class Make>
  void for_each_window(Make&& make) const {
    make(in_.data(), in_.count());
    make(out_.data(), out_.count());
  }

  //! Makes the next round's input. All turns of a worker have as many blocks.
  void begin(float* in, float* out, std::size_t count, unsigned blocks = 1, bool dependent = false) const {
    Turn turn = this->turn(count);
    turn.in = in;
    turn.out = out;
    launch(turn, blocks, stream_, dependent);
  }
  //! Looks at the current round's result.
  void end(float const* out, std::size_t count, unsigned blocks = 1, bool dependent = false) const {
    Turn turn = this->turn(count);
    turn.result = out;
    launch(turn, blocks, stream_, dependent);
  }
  //! Both in one kernel.
  void go_on(float* in, float* out, std::size_t count, unsigned blocks, bool dependent) const {
    Turn turn = this->turn(count);
    turn.result = out;
    turn.in = in;
    turn.out = out;
    launch(turn, blocks, stream_, dependent);
  }

  //! After everything has run: what is wrong; empty where nothing is. `checked` elements at least must have been looked at.
  [[nodiscard]] std::string complaint(unsigned long long checked = 0) const {
    Mistakes const found = mistakes_.values()[0];
    auto const who = "rank " + std::to_string(rank_) + ": ";
    if (found.wrong != 0) {
      return who + std::to_string(found.wrong) + " of " + std::to_string(found.checked) +
             " elements wrong, one of them in round " + std::to_string(found.round) + " at index " +
             std::to_string(found.index) + ": expected " + std::to_string(found.expected) + ", got " +
             std::to_string(found.got);
    }
    if (found.checked < checked) {
      return who + "only " + std::to_string(found.checked) + " elements of " + std::to_string(checked) +
             " were looked at";
    }
    return "";
  }
  [[nodiscard]] unsigned long long checked() const { return mistakes_.values()[0].checked; }

  static constexpr std::size_t slack = 16;  //!< elements by which buffers may be askew
  static constexpr unsigned most_blocks = 64;

 private:
  [[nodiscard]] Turn turn(std::size_t count) const {
    Turn turn;
    turn.count = count;
    turn.rank = rank_;
    turn.ranks = ranks_;
    turn.rounds = rounds_.data();
    turn.mistakes = mistakes_.data();
    return turn;
  }

  int rank_;
  int ranks_;
  Stream stream_;
  DeviceBuffer<float> in_;
  DeviceBuffer<float> out_;
  DeviceBuffer<float> plain_in_;  //!< these lie in no window
  DeviceBuffer<float> plain_out_;
  DeviceBuffer<unsigned> rounds_;
  DeviceBuffer<Mistakes> mistakes_;
};

}  // namespace chevron::test

#endif
