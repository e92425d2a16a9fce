// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A program of several files: its selector, and what one of them compiles for all.
#ifndef CHEVRON_TESTS_INSTANTIATE_OURS_HPP
#define CHEVRON_TESTS_INSTANTIATE_OURS_HPP

#include <chevron/chevron.hpp>

#include <array>
#include <cstddef>

struct Table {
  static constexpr auto rows() {
    using enum chevron::AllReduceAlgorithm;
    return std::array{
        chevron::Row{.bytes = {0, 1024}, .policy = {one_shot_push}},
        chevron::Row{.in_windows_only = true, .policy = {one_shot_pull}},
        chevron::Row{.policy = {reduce_scatter_all_gather}},
    };
  }
};
struct Twice {
  CHEVRON_HD float operator()(float value, std::size_t) const { return 2 * value; }
};

using Ours = chevron::Selector<Table, chevron::RankCounts<2>, chevron::Elements<float, double>,
                               chevron::Operations<chevron::Sum, chevron::Max>>;
using OursFloat = chevron::Selector<Table, chevron::RankCounts<2>, chevron::Elements<float>>;
using Named = chevron::TwoShotPush<2, float, chevron::Max>;

#if defined(__CUDACC__)
#include <chevron/chevron.cuh>
using Transport = chevron::CudaPeer<2>;
#else
using Transport = chevron::HostThreads<2>;
#endif

CHEVRON_DECLARE(all_reduce, Transport, Ours);
CHEVRON_DECLARE(all_reduce, Transport, chevron::WithEpilogue<OursFloat, Twice>);
CHEVRON_DECLARE(all_reduce, Transport, Named);

#endif
