// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <collective/all_reduce_matrix/matrix.hpp>

TEST_CASE("all-reduce of uint64, ranks are threads") { chevron::test::matrix<std::uint64_t, false>(); }
TEST_CASE("all-reduce of uint64, ranks are processes") { chevron::test::matrix<std::uint64_t, true>(); }
