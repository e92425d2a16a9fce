// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef CHEVRON_TESTS_NCCL_PRETENDED_HPP
#define CHEVRON_TESTS_NCCL_PRETENDED_HPP

//! @file
//! A backend without devices, for tests of the interface: a call is done when its last rank has launched it.

#include <chevron/nccl/backend.cuh>
#include <chevron/nccl/rendezvous.hpp>

#include <cstdlib>
#include <cstring>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

namespace chevron::test {

struct PretendedCall {
  void const* in;
  void* out;
  std::size_t count;
  cudaStream_t stream;
};

//! What the ranks of a group share.
struct PretendedGroup {
  explicit PretendedGroup(int ranks) : waiting(static_cast<std::size_t>(ranks)) {}

  std::mutex mutex{};
  std::vector<std::deque<PretendedCall>> waiting;
  std::optional<Error> failed{};

  void run_complete() {
    for (;;) {
      for (auto const& calls : waiting) {
        if (calls.empty()) return;
      }
      std::vector<float> sum(waiting[0].front().count);
      for (auto const& calls : waiting) {
        for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += static_cast<float const*>(calls.front().in)[i];
      }
      for (auto& calls : waiting) {
        if (!sum.empty()) std::memcpy(calls.front().out, sum.data(), sum.size() * sizeof(float));
        calls.pop_front();
      }
    }
  }
};

//! Sums of float alone.
class PretendedMember final : public nccl::Member {
 public:
  PretendedMember(int rank, std::shared_ptr<PretendedGroup> group) : rank_(rank), group_(std::move(group)) {}

  [[nodiscard]] bool can(ncclDataType_t type, ncclRedOp_t operation) const override {
    return type == ncclFloat32 && operation == ncclSum;
  }
  [[nodiscard]] Result<void> all_reduce(void const* in, void* out, std::size_t count, ncclDataType_t, ncclRedOp_t,
                                        cudaStream_t stream) override {
    std::lock_guard const lock(group_->mutex);
    if (group_->failed) return *group_->failed;
    group_->waiting[static_cast<std::size_t>(rank_)].push_back({in, out, count, stream});
    group_->run_complete();
    return {};
  }
  [[nodiscard]] Result<void> multiply(void const* in, void* out, std::size_t count, ncclDataType_t,
                                      nccl::Factor const& factor, cudaStream_t) override {
    float scalar = 0;
    std::memcpy(&scalar, factor.on_device != nullptr ? factor.on_device : &factor.bits, sizeof(scalar));
    for (std::size_t i = 0; i < count; ++i) {
      static_cast<float*>(out)[i] = static_cast<float const*>(in)[i] * scalar;
    }
    return {};
  }
  [[nodiscard]] Result<void> status() const override {
    std::lock_guard const lock(group_->mutex);
    if (group_->failed) return *group_->failed;
    return {};
  }
  void abort() override {
    std::lock_guard const lock(group_->mutex);
    group_->failed = Error{.code = Errc::aborted, .rank = static_cast<std::int16_t>(rank_), .during = "a test"};
  }
  [[nodiscard]] bool registers_alone() const override { return true; }
  [[nodiscard]] Result<std::uint32_t> register_window(void*, std::size_t) override { return windows_++; }
  void release(std::uint32_t) override { --windows_; }

 private:
  int rank_;
  std::shared_ptr<PretendedGroup> group_;
  std::uint32_t windows_ = 0;
};

//! On how many hosts ranks say that they are.
inline int& pretended_hosts() {
  static int hosts = 1;
  return hosts;
}

//! Groups of 2 and 3 ranks.
class PretendedBackend final : public nccl::Backend {
 public:
  [[nodiscard]] std::vector<int> rank_counts() const override { return {2, 3}; }
  [[nodiscard]] Result<std::unique_ptr<nccl::Member>> join(nccl::Seat const& seat) override {
    using Taken = std::shared_ptr<PretendedGroup>;
    auto met = meeting_.meet(seat.key.text(), seat.rank, seat.ranks, seat.device, seat.deadline,
                             [&](std::vector<int> const&) -> Result<std::vector<Taken>> {
                               return std::vector<Taken>(static_cast<std::size_t>(seat.ranks),
                                                         std::make_shared<PretendedGroup>(seat.ranks));
                             });
    if (!met) return met.error();
    return std::unique_ptr<nccl::Member>(std::make_unique<PretendedMember>(seat.rank, *met));
  }
  [[nodiscard]] Result<int> device() const override { return device_of_this_thread(); }
  [[nodiscard]] Result<void> set_device(int device) const override {
    device_of_this_thread() = device;
    return {};
  }
  [[nodiscard]] Result<void> synchronize(int) const override { return {}; }
  [[nodiscard]] Result<void*> allocate(std::size_t size_bytes) const override { return std::malloc(size_bytes); }
  [[nodiscard]] Result<void> free(void* data) const override {
    std::free(data);
    return {};
  }
  [[nodiscard]] std::optional<std::vector<std::uint64_t>> all_gather(ncclComm_t, int ranks,
                                                                    std::uint64_t mine) const override {
    std::vector<std::uint64_t> hosts(static_cast<std::size_t>(ranks), mine);
    if (pretended_hosts() > 1) hosts.back() = mine + 1;
    return hosts;
  }

 private:
  static int& device_of_this_thread() {
    thread_local int device = 0;
    return device;
  }
  nccl::Rendezvous<int, std::shared_ptr<PretendedGroup>> meeting_{};
};

}  // namespace chevron::test

chevron::nccl::Backend& chevron::nccl::backend() {
  static chevron::test::PretendedBackend backend;
  return backend;
}

#endif
