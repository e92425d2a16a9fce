// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef CHEVRON_CHEVRON_HPP
#define CHEVRON_CHEVRON_HPP

//! @file
//! All of chevron that plain C++ can use.

#include <chevron/collective/all_reduce.hpp>
#include <chevron/core/element.hpp>
#include <chevron/core/element_cuda.hpp>
#include <chevron/core/error.hpp>
#include <chevron/core/op.hpp>
#include <chevron/core/result.hpp>
#include <chevron/host/communicator.hpp>
#include <chevron/select/explain.hpp>
#include <chevron/select/selector.hpp>
#include <chevron/select/tables/host.hpp>
#include <chevron/select/with_rank_count.hpp>
#include <chevron/transport/host_shared_memory.hpp>
#include <chevron/transport/host_threads.hpp>

#endif
