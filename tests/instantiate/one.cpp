// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Compiles what ours.hpp declares; as it is for a host, with nvcc for devices.
#include "ours.hpp"

CHEVRON_INSTANTIATE(all_reduce, Transport, Ours);
CHEVRON_INSTANTIATE(all_reduce, Transport, chevron::WithEpilogue<OursFloat, Twice>);
CHEVRON_INSTANTIATE(all_reduce, Transport, Named);
