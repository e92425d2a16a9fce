// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <chevron/core/error.hpp>
#include <chevron/core/rank.hpp>
#include <chevron/core/result.hpp>
#include <chevron/select/selector.hpp>
#include <chevron/select/with_rank_count.hpp>

#include <support/catch.hpp>

#include <memory>
#include <string>
#include <type_traits>
#include <utility>

namespace {

using namespace chevron;

template <int... Zero>
RankCounts<(Zero + 1)...> counts_from_one(std::integer_sequence<int, Zero...>);
using AllCounts = decltype(counts_from_one(std::make_integer_sequence<int, max_ranks>{}));

template <class Function>
using ReturnedBy = decltype(with_rank_count<RankCounts<2, 4>>(2, std::declval<Function>()));

auto const gives_int = [](auto n) { return n() * 10; };
auto const gives_result = [](auto n) -> Result<int> { return n() * 10; };
auto const gives_nothing = [](auto) {};
auto const gives_result_of_nothing = [](auto) -> Result<void> { return {}; };
static_assert(std::is_same_v<ReturnedBy<decltype(gives_int)>, Result<int>>);
static_assert(std::is_same_v<ReturnedBy<decltype(gives_result)>, Result<int>>, "not a Result of a Result");
static_assert(std::is_same_v<ReturnedBy<decltype(gives_nothing)>, Result<void>>);
static_assert(std::is_same_v<ReturnedBy<decltype(gives_result_of_nothing)>, Result<void>>);

}  // namespace

TEST_CASE("Every compiled rank count is found, and the function called once for it") {
  for (int wanted = 1; wanted <= max_ranks; ++wanted) {
    int calls = 0;
    auto const result = with_rank_count<AllCounts>(wanted, [&](auto n) {
      static_assert(n() >= 1 && n() <= max_ranks, "known to the compiler");
      ++calls;
      return n();
    });
    REQUIRE(result);
    CHECK(*result == wanted);
    CHECK(calls == 1);
  }
}

TEST_CASE("A rank count that was not compiled is refused, with a list of those that were") {
  bool called = false;
  for (int const wanted : {3, 1, 0, -2, 33}) {
    auto const result = with_rank_count<RankCounts<2, 4, 8>>(wanted, [&](auto) { called = true; });
    REQUIRE_FALSE(result);
    CHECK(result.error().code == Errc::rank_count_not_compiled);
    CHECK(result.error().detail.find("asked for " + std::to_string(wanted)) != std::string::npos);
    CHECK(result.error().detail.find("2, 4, 8") != std::string::npos);
    CHECK(result.error().message().find("this rank count was not compiled") != std::string::npos);
  }
  CHECK_FALSE(called);
}

TEST_CASE("What the function returns comes back: a value, a Result, an error, nothing") {
  CHECK(*with_rank_count<RankCounts<2, 4>>(4, gives_int) == 40);
  CHECK(*with_rank_count<RankCounts<2, 4>>(4, gives_result) == 40);
  CHECK(with_rank_count<RankCounts<2, 4>>(4, gives_nothing));
  CHECK(with_rank_count<RankCounts<2, 4>>(4, gives_result_of_nothing));

  auto const failing = [](auto) -> Result<int> { return Error{.code = Errc::timeout, .rank = 3}; };
  auto const failed = with_rank_count<RankCounts<2, 4>>(2, failing);
  REQUIRE_FALSE(failed);
  CHECK(failed.error().code == Errc::timeout);
  CHECK(failed.error().rank == 3);

  auto const moved = with_rank_count<RankCounts<2>>(2, [](auto n) { return std::make_unique<int>(n()); });
  REQUIRE(moved);
  CHECK(**moved == 2);
}

TEST_CASE("The function is used where it stands, not copied") {
  struct Counting {
    Counting() = default;
    Counting(Counting const&) = delete;
    int calls = 0;
    void operator()(std::integral_constant<int, 2>) { ++calls; }
  };
  Counting counting;
  CHECK(with_rank_count<RankCounts<2>>(2, counting));
  CHECK(with_rank_count<RankCounts<2>>(2, counting));
  CHECK(counting.calls == 2);
}
