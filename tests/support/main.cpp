// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Catch2's main, built once for all tests: version 3 where there is one, else 2.13 (which brings its whole
// implementation along here).
#if __has_include(<catch2/catch_session.hpp>)
#include <catch2/catch_session.hpp>
#else
#define CATCH_CONFIG_RUNNER
#include <catch2/catch.hpp>
#endif

int main(int argc, char* argv[]) { return Catch::Session().run(argc, argv); }
