// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef CHEVRON_CHEVRON_CUH
#define CHEVRON_CHEVRON_CUH

//! @file
//! All of chevron.

#include <chevron/chevron.hpp>
#include <chevron/collective/all_reduce.cuh>
#include <chevron/select/tables/hopper.hpp>
#include <chevron/select/tables/one_gpu.hpp>
#include <chevron/transport/cuda_ipc.cuh>
#include <chevron/transport/cuda_peer.cuh>

#endif
