// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <every_header.hpp>

int const* version_in_the_other_unit() { return &chevron::version; }
