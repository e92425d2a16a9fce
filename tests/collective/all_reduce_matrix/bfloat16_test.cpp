// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <collective/all_reduce_matrix/matrix.hpp>

TEST_CASE("all-reduce of bfloat16, ranks are threads") { chevron::test::matrix<chevron::bfloat16, false>(); }
TEST_CASE("all-reduce of bfloat16, ranks are processes") { chevron::test::matrix<chevron::bfloat16, true>(); }
