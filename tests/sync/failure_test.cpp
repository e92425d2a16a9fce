// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <chevron/sync/failure.hpp>

#include <support/catch.hpp>
#include <support/noise.hpp>
#include <support/seed.hpp>

#include <cstdint>
#include <string>

namespace {

using chevron::describe;
using chevron::Epoch;
using chevron::Errc;
using chevron::Error;
using chevron::Failure;
using chevron::test::Rng;
using chevron::test::seed;

TEST_CASE("a failure is one word and back") {
  Rng rng(seed());
  for (int i = 0; i < 10'000; ++i) {
    Failure const failure{
        .code = static_cast<Errc>(rng.between(1, static_cast<int>(Errc::system))),
        .rank = static_cast<std::uint8_t>(rng.one_of<std::size_t>({0, rng.below(32), Failure::none})),
        .reporter = static_cast<std::uint8_t>(rng.below(32)),
        .lane = static_cast<std::uint8_t>(rng.one_of<std::size_t>({rng.below(64), Failure::none})),
        .epoch = static_cast<Epoch>(rng())};
    INFO("CHEVRON_TEST_SEED=" << seed());
    REQUIRE(failure.word() != 0);  // 0 says that there is none
    Failure const back = Failure::of(failure.word());
    REQUIRE(back.code == failure.code);
    REQUIRE(back.rank == failure.rank);
    REQUIRE(back.reporter == failure.reporter);
    REQUIRE(back.lane == failure.lane);
    REQUIRE(back.epoch == failure.epoch);
  }
}

TEST_CASE("a failure's error says who, where and during what") {
  Error const error =
      Failure{.code = Errc::timeout, .rank = 3, .reporter = 1, .lane = 2, .epoch = 77}.error("all_reduce");
  REQUIRE(error.code == Errc::timeout);
  REQUIRE(error.rank == 3);
  REQUIRE(error.reporter == 1);
  REQUIRE(error.lane == 2);
  REQUIRE(error.epoch == 77);
  std::string const text = error.message();
  for (char const* const part :
       {describe(Errc::timeout), "rank 3", "all_reduce", "by rank 1", "lane 2", "epoch 77"}) {
    INFO(text);
    REQUIRE(text.find(part) != std::string::npos);
  }
}

TEST_CASE("what a failure leaves open is -1 in its error, and not in its message") {
  Error const error = Failure{.code = Errc::aborted}.error("");
  REQUIRE(error.rank == -1);
  REQUIRE(error.reporter == -1);
  REQUIRE(error.lane == -1);
  REQUIRE(error.message() == std::string("chevron: ") + describe(Errc::aborted));
}

TEST_CASE("every code has words of its own") {
  for (int a = 0; a <= static_cast<int>(Errc::system); ++a) {
    REQUIRE(std::string(describe(static_cast<Errc>(a))) != describe(static_cast<Errc>(255)));
    for (int b = 0; b < a; ++b) {
      REQUIRE(std::string(describe(static_cast<Errc>(a))) != describe(static_cast<Errc>(b)));
    }
  }
}

}  // namespace
