// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <every_header.hpp>

// Both units see the same object, so what a header defines is defined once.
int main() { return version_in_the_other_unit() == &chevron::version ? 0 : 1; }
