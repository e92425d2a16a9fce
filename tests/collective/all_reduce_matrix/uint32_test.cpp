// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <collective/all_reduce_matrix/matrix.hpp>

TEST_CASE("all-reduce of uint32, ranks are threads") { chevron::test::matrix<std::uint32_t, false>(); }
TEST_CASE("all-reduce of uint32, ranks are processes") { chevron::test::matrix<std::uint32_t, true>(); }
