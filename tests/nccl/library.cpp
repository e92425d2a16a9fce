// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The library with a backend that pretends, to look at what it exports.
#include <chevron/nccl/exports.cuh>

#include <nccl/pretended.hpp>
