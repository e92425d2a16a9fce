// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A program that uses chevron on devices, for compiling only: another file of it uses the same headers, other.cu.
#include <chevron/chevron.cuh>

#include <array>
#include <cstddef>
#include <cstdio>

bool works_elsewhere();
void const* kernel_elsewhere();

namespace {

struct Table {
  static constexpr auto rows() {
    using enum chevron::AllReduceAlgorithm;
    return std::array{
        chevron::Row{.bytes = {0, 4096}, .policy = {one_shot_push}},
        chevron::Row{.bytes = {4096, 1 << 20},
                     .in_windows_only = true,
                     .policy = {reduce_scatter_all_gather_zero_copy}},
        chevron::Row{.bytes = {1 << 20}, .in_windows_only = true, .policy = {reduce_scatter_all_gather_push}},
        chevron::Row{.bytes = {4096}, .policy = {two_shot_push}},
    };
  }
};
using Selector = chevron::Selector<Table, chevron::RankCounts<2>, chevron::Elements<chevron::bfloat16>>;
using Staged = chevron::ReduceScatterAllGather<2, float>;

}  // namespace

int main() {
  // What one file has loaded another one may launch.
  using Body = chevron::detail::Anywhere<Staged>;
  if (chevron::detail::kernel_of<chevron::CudaPeer<2>, Body, float, chevron::Identity>() !=
      kernel_elsewhere()) {
    std::puts("two files have two addresses for one kernel");
    return 1;
  }
  auto made = chevron::CudaPeer<2>::create<Selector, Staged>({0, 0});
  if (!made) {
    std::puts(made.error().message().c_str());
    return 77;
  }
  bool good = works_elsewhere();
  for (auto& communicator : *made) {
    auto narrow = communicator.allocate<chevron::bfloat16>(1000);
    auto wide = communicator.allocate<float>(1000);
    if (!narrow || !wide) return 1;
    auto* const a = narrow->data();
    auto* const b = wide->data();
    good = good && chevron::all_reduce<Selector>(communicator, a, a, 1000, nullptr) &&
           chevron::all_reduce<Staged>(communicator, b, b, 1000, nullptr);
  }
  return good ? 0 : 1;
}
