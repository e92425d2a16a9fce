// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef CHEVRON_TESTS_COLLECTIVE_CUDA_MATRIX_GROUP_CUH
#define CHEVRON_TESTS_COLLECTIVE_CUDA_MATRIX_GROUP_CUH

//! @file
//! All ranks of a group, behind an interface that knows only the element: what plays a plan is compiled once. With
//! thread_scope_device they are on device 0, else where the environment says.

#include <chevron/collective/all_reduce.cuh>
#include <chevron/transport/cuda_peer.cuh>

#include <collective/cuda_matrix/plan.hpp>
#include <support/rank_devices.hpp>

#include <array>
#include <cstddef>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace chevron::test {

template <class T>
class DeviceGroup {
 public:
  virtual ~DeviceGroup() = default;
  //! What is wrong with the communicators; empty where nothing is.
  [[nodiscard]] virtual std::string status() const = 0;
  //! Makes memory of a rank's a window that is there until the group goes. All ranks make as many.
  [[nodiscard]] virtual Result<void> make_window(int rank, T* data, std::size_t count) = 0;
  [[nodiscard]] virtual Result<void> call(int rank, PlannedCall const& call, T const* in, T* out,
                                          cudaStream_t stream) const = 0;
};

namespace detail {

template <class... Cs>
struct Choices {};

template <class... Lists>
struct Joined;
template <class... As>
struct Joined<Choices<As...>> {
  using type = Choices<As...>;
};
template <class... As, class... Bs, class... Lists>
struct Joined<Choices<As...>, Choices<Bs...>, Lists...> : Joined<Choices<As..., Bs...>, Lists...> {};

}  // namespace detail

//! @brief A group whose communicators have loaded every call that the matrix compiles for them.
template <class T, int NRanks, bool SystemScope>
class GroupOnDevice final : public DeviceGroup<T> {
  using Transport = CudaPeer<NRanks, SystemScope ? cuda::thread_scope_system : cuda::thread_scope_device>;
  using Function = Result<void> (*)(Communicator<Transport> const&, PlannedCall const&, T const*, T*,
                                    cudaStream_t);

  template <int Index>
  static constexpr int task = Index / algorithm_count;
  template <int Index>
  static constexpr int algorithm = Index % algorithm_count;
  template <int Index>
  static constexpr bool is_there = is_compiled(NRanks, element_kind<T>, task<Index>, algorithm<Index>,
                                               SystemScope);
  template <int Index>
  using ChoiceAt =
      algorithm_named_t<static_cast<AllReduceAlgorithm>(algorithm<Index>), NRanks, T,
                        typename TaskAt<task<Index>>::Op, typename TaskAt<task<Index>>::Epilogue>;
  using Indices = std::make_integer_sequence<int, task_count * algorithm_count>;

  template <int Index>
  static auto choices_at() {
    if constexpr (is_there<Index>) {
      return detail::Choices<ChoiceAt<Index>>{};
    } else {
      return detail::Choices<>{};
    }
  }
  template <int... Is>
  static auto all_choices(std::integer_sequence<int, Is...>) {
    return typename detail::Joined<decltype(choices_at<Is>())...>::type{};
  }

 public:
  static Result<std::unique_ptr<DeviceGroup<T>>> make(CudaOptions const& options) {
    std::unique_ptr<GroupOnDevice> group(new GroupOnDevice);
    auto made = create(options, decltype(all_choices(Indices{})){});
    if (!made) return made.error();
    group->communicators_ = std::move(*made);
    return std::unique_ptr<DeviceGroup<T>>(std::move(group));
  }

  [[nodiscard]] std::string status() const override {
    std::string text;
    for (auto const& communicator : communicators_) {
      auto const good = communicator.status();
      if (!good)
        text += "\n  rank " + std::to_string(communicator.rank()) + " says: " + good.error().message();
    }
    return text;
  }

  [[nodiscard]] Result<void> make_window(int rank, T* data, std::size_t count) override {
    auto window = communicators_[static_cast<std::size_t>(rank)].register_window(data, count);
    if (!window) return window.error();
    windows_.push_back(std::move(*window));
    return {};
  }

  [[nodiscard]] Result<void> call(int rank, PlannedCall const& call, T const* in, T* out,
                                  cudaStream_t stream) const override {
    Function const function = functions(Indices{})[static_cast<std::size_t>(call.task * algorithm_count) +
                                                   static_cast<std::size_t>(call.algorithm)];
    if (function == nullptr) return Error{.code = Errc::not_loaded, .during = "looking for a planned call"};
    return function(communicators_[static_cast<std::size_t>(rank)], call, in, out, stream);
  }

 private:
  template <class... Cs>
  static auto create(CudaOptions const& options, detail::Choices<Cs...>) {
    std::array<int, NRanks> devices{};
    if constexpr (SystemScope) devices = devices_of_ranks<NRanks>();
    return Transport::template create<Cs...>(devices, options);
  }

  template <int Index>
  static Result<void> call_one(Communicator<Transport> const& communicator, PlannedCall const& call,
                               T const* in, T* out, cudaStream_t stream) {
    using Task = TaskAt<task<Index>>;
    return all_reduce<ChoiceAt<Index>>(communicator, in, out, call.count, stream, typename Task::Op{},
                                       make_epilogue<typename Task::Epilogue>(call.seed), call.geometry);
  }
  template <int Index>
  static constexpr Function function_at() {
    if constexpr (is_there<Index>) {
      return &call_one<Index>;
    } else {
      return nullptr;
    }
  }
  template <int... Is>
  static std::array<Function, sizeof...(Is)> const& functions(std::integer_sequence<int, Is...>) {
    static std::array<Function, sizeof...(Is)> const all{function_at<Is>()...};
    return all;
  }

  std::vector<Communicator<Transport>> communicators_{};
  std::vector<typename Communicator<Transport>::template Window<T>> windows_{};
};

}  // namespace chevron::test

#endif
