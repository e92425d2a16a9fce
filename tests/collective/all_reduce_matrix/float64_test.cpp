// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <collective/all_reduce_matrix/matrix.hpp>

TEST_CASE("all-reduce of float64, ranks are threads") { chevron::test::matrix<double, false>(); }
TEST_CASE("all-reduce of float64, ranks are processes") { chevron::test::matrix<double, true>(); }
