// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <collective/all_reduce_matrix/matrix.hpp>

TEST_CASE("all-reduce of float16, ranks are threads") { chevron::test::matrix<chevron::half, false>(); }
TEST_CASE("all-reduce of float16, ranks are processes") { chevron::test::matrix<chevron::half, true>(); }
