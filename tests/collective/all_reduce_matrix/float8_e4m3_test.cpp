// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <collective/all_reduce_matrix/matrix.hpp>

TEST_CASE("all-reduce of float8_e4m3, ranks are threads") {
  chevron::test::matrix<chevron::float8_e4m3, false>();
}
TEST_CASE("all-reduce of float8_e4m3, ranks are processes") {
  chevron::test::matrix<chevron::float8_e4m3, true>();
}
