// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef CHEVRON_NCCL_GROUP_CUH
#define CHEVRON_NCCL_GROUP_CUH

//! @file
//! ncclGroupStart and ncclGroupEnd: what a thread asks for between them is done at the end. Ranks that join do so side by
//! side, each on a thread of its own, for each waits for the others; calls are launched one after the other.

#include <chevron/nccl/errors.cuh>
#include <chevron/nccl/real_library.cuh>

#include <nccl.h>

#include <functional>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

namespace chevron::nccl {

//! @brief Marks that the calling thread is inside the real library: its calls of exported functions are its own business.
class InsideReal {
 public:
  InsideReal() { ++depth(); }
  InsideReal(InsideReal const&) = delete;
  InsideReal& operator=(InsideReal const&) = delete;
  ~InsideReal() { --depth(); }

  [[nodiscard]] static bool now() { return depth() > 0; }

 private:
  static int& depth() {
    thread_local int depth = 0;
    return depth;
  }
};

//! @brief A thread's group.
class Group {
 public:
  using Work = std::function<ncclResult_t()>;

  [[nodiscard]] static Group& of_this_thread() {
    thread_local Group group;
    return group;
  }

  [[nodiscard]] bool is_open() const { return depth_ > 0; }

  void start() { ++depth_; }

  //! Now, or at the end of the group that is open.
  ncclResult_t call(Work work) {
    if (!is_open()) return work();
    calls_.push_back(std::move(work));
    return ncclSuccess;
  }
  //! The same for what waits for other ranks.
  ncclResult_t join(Work work) {
    if (!is_open()) return work();
    joins_.push_back(std::move(work));
    return ncclSuccess;
  }
  //! Notes what was refused inside a group: its end tells it again, and launches nothing.
  ncclResult_t refuse(ncclResult_t code) {
    if (is_open() && refused_ == ncclSuccess) {
      refused_ = code;
      why_ = last_error();
    }
    return code;
  }

  //! Opens the real library's group as well, before the first call that goes there.
  ncclResult_t open_real() {
    if (!is_open() || real_is_open_) return ncclSuccess;
    auto* const start = RealLibrary::get().find<decltype(ncclGroupStart)>("ncclGroupStart");
    InsideReal const inside;
    ncclResult_t const started = start == nullptr ? ncclInternalError : start();
    real_is_open_ = started == ncclSuccess;
    return started;
  }

  ncclResult_t end() {
    if (depth_ == 0) return fail(ncclInvalidUsage, "chevron: ncclGroupEnd without a ncclGroupStart");
    if (--depth_ > 0) return refused_;
    auto const joins = std::exchange(joins_, {});
    auto const calls = std::exchange(calls_, {});
    ncclResult_t result = std::exchange(refused_, ncclSuccess);
    if (result != ncclSuccess) last_error() = why_;
    if (result == ncclSuccess) result = run_side_by_side(joins);
    for (Work const& work : calls) {
      if (result == ncclSuccess) result = work();
    }
    if (std::exchange(real_is_open_, false)) {
      auto* const end = RealLibrary::get().find<decltype(ncclGroupEnd)>("ncclGroupEnd");
      InsideReal const inside;
      ncclResult_t const ended = end == nullptr ? ncclInternalError : end();
      if (result == ncclSuccess) result = ended;
    }
    return result;
  }

 private:
  [[nodiscard]] static ncclResult_t run_side_by_side(std::vector<Work> const& joins) {
    struct Outcome {
      ncclResult_t code = ncclSuccess;
      std::string why{};
    };
    std::vector<Outcome> outcomes(joins.size());
    std::vector<std::thread> threads;
    try {
      for (std::size_t i = 0; i < joins.size(); ++i) {
        threads.emplace_back([&joins, &outcomes, i] {
          outcomes[i].code = joins[i]();
          outcomes[i].why = last_error();
        });
      }
    } catch (std::system_error const&) {  // those that were started wait for the others until their deadline
      outcomes[threads.size()] = {ncclSystemError, "chevron: no thread could be had for a rank that joins"};
    }
    for (std::thread& thread : threads) thread.join();
    for (Outcome& outcome : outcomes) {
      if (outcome.code != ncclSuccess) return fail(outcome.code, std::move(outcome.why));
    }
    return ncclSuccess;
  }

  int depth_ = 0;
  bool real_is_open_ = false;
  ncclResult_t refused_ = ncclSuccess;
  std::string why_{};
  std::vector<Work> joins_{};
  std::vector<Work> calls_{};
};

}  // namespace chevron::nccl

#endif
