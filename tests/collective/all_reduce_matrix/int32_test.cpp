// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <collective/all_reduce_matrix/matrix.hpp>

TEST_CASE("all-reduce of int32, ranks are threads") { chevron::test::matrix<std::int32_t, false>(); }
TEST_CASE("all-reduce of int32, ranks are processes") { chevron::test::matrix<std::int32_t, true>(); }
