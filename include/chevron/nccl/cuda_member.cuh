// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef CHEVRON_NCCL_CUDA_MEMBER_CUH
#define CHEVRON_NCCL_CUDA_MEMBER_CUH

//! @file
//! A rank of a communicator on a device; and one that is alone in its communicator.

#include <chevron/collective/all_reduce.cuh>
#include <chevron/core/error.hpp>
#include <chevron/core/result.hpp>
#include <chevron/host/communicator.hpp>
#include <chevron/host/cuda_result.cuh>
#include <chevron/nccl/backend.cuh>
#include <chevron/nccl/multiply.cuh>
#include <chevron/nccl/names.cuh>

#include <cuda_runtime.h>
#include <nccl.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <thread>
#include <utility>

namespace chevron::nccl::detail {

//! @brief A rank on a device, with the selectors that its calls are looked for in, one after the other.
template <class Transport, class... Selectors>
class CudaMember final : public Member {
 public:
  CudaMember(Communicator<Transport> communicator, bool one_process)
      : communicator_(std::move(communicator)), one_process_(one_process) {
    if (!one_process) watch_ = std::thread([this] { watch(); });
  }
  ~CudaMember() override {
    leaving_.store(true);
    if (watch_.joinable()) watch_.join();
  }

  [[nodiscard]] bool can(ncclDataType_t type, ncclRedOp_t operation) const override {
    bool known = false;
    with_call(type, operation, [&]<class Selector, class T, class Op>() { known = true; });
    return known;
  }
  [[nodiscard]] Result<void> all_reduce(void const* in, void* out, std::size_t count, ncclDataType_t type,
                                        ncclRedOp_t operation, cudaStream_t stream) override {
    Result<void> result;
    with_call(type, operation, [&]<class Selector, class T, class Op>() {
      result = chevron::all_reduce<Selector>(communicator_, static_cast<T const*>(in), static_cast<T*>(out), count,
                                             stream, Op{});
    });
    return result;
  }
  [[nodiscard]] Result<void> multiply(void const* in, void* out, std::size_t count, ncclDataType_t type,
                                      Factor const& factor, cudaStream_t stream) override {
    DeviceGuard const guard(communicator_.endpoint().device());
    return multiply_on_device(in, out, count, type, factor, stream);
  }
  [[nodiscard]] Result<void> status() const override { return communicator_.status(); }
  void abort() override { communicator_.abort(); }
  [[nodiscard]] bool registers_alone() const override { return one_process_; }
  [[nodiscard]] Result<std::uint32_t> register_window(void* data, std::size_t size_bytes) override {
    return communicator_.endpoint().register_window(data, size_bytes);
  }
  void release(std::uint32_t window) override { communicator_.endpoint().release(window); }

 private:
  //! Calls the function with the first selector that has the element and the operation; not at all where none has.
  template <class Function>
  static void with_call(ncclDataType_t type, ncclRedOp_t operation, Function&& function) {
    bool done = false;
    with_element(type, [&]<class T>() {
      with_operation(operation, [&]<class Op>() {
        auto const try_one = [&]<class Selector>() {
          if constexpr (Selector::Types::template contains<T> && Selector::OperationList::template contains<Op>) {
            if (!std::exchange(done, true)) function.template operator()<Selector, T, Op>();
          }
        };
        (try_one.template operator()<Selectors>(), ...);
      });
    });
  }

  //! A kernel can't see that a peer's process has ended. What the peer still did arrives in the time that is left.
  void watch() {
    constexpr std::chrono::milliseconds pause(20);
    constexpr int pauses_left_to_it = 25;
    auto& endpoint = communicator_.endpoint();
    std::array<int, Transport::ranks> seen{};
    while (!leaving_.load() && !endpoint.failure()) {
      for (int peer = 0; peer < Transport::ranks; ++peer) {
        int& pauses = seen[static_cast<std::size_t>(peer)];
        if (peer == communicator_.rank() || !endpoint.has_ended(peer)) continue;
        if (++pauses < pauses_left_to_it) continue;
        endpoint.fail({.code = Errc::peer_died,
                       .rank = static_cast<std::uint8_t>(peer),
                       .reporter = static_cast<std::uint8_t>(communicator_.rank())});
        return;
      }
      std::this_thread::sleep_for(pause);
    }
  }

  Communicator<Transport> communicator_;
  bool one_process_;
  std::atomic<bool> leaving_{false};
  std::thread watch_{};
};

//! @brief The only rank of a communicator: its input is the result, whatever the operation.
class LoneMember final : public Member {
 public:
  explicit LoneMember(int device) : device_(device) {}

  [[nodiscard]] bool can(ncclDataType_t, ncclRedOp_t) const override { return true; }
  [[nodiscard]] Result<void> all_reduce(void const* in, void* out, std::size_t count, ncclDataType_t type, ncclRedOp_t,
                                        cudaStream_t stream) override {
    if (auto ended = status(); !ended) return ended;
    if (in == out || count == 0) return {};
    constexpr char const* during = "all_reduce";
    if (in == nullptr || out == nullptr) return Error{.code = Errc::null_pointer, .during = during};
    DeviceGuard const guard(device_);
    return cuda_result(cudaMemcpyAsync(out, in, count * size_of(type), cudaMemcpyDeviceToDevice, stream), during);
  }
  [[nodiscard]] Result<void> multiply(void const* in, void* out, std::size_t count, ncclDataType_t type,
                                      Factor const& factor, cudaStream_t stream) override {
    DeviceGuard const guard(device_);
    return multiply_on_device(in, out, count, type, factor, stream);
  }
  [[nodiscard]] Result<void> status() const override {
    if (aborted_.load()) return Error{.code = Errc::aborted, .rank = 0, .during = "a communicator of one rank"};
    return {};
  }
  void abort() override { aborted_.store(true); }
  [[nodiscard]] bool registers_alone() const override { return true; }
  [[nodiscard]] Result<std::uint32_t> register_window(void*, std::size_t) override { return windows_++; }
  void release(std::uint32_t) override {}

 private:
  int device_;
  std::atomic<bool> aborted_{false};
  std::uint32_t windows_ = 0;
};

}  // namespace chevron::nccl::detail

#endif
