// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <chevron/core/error.hpp>
#include <chevron/core/result.hpp>

#include <support/catch.hpp>

#include <memory>
#include <string>
#include <type_traits>
#include <utility>

namespace {

using namespace chevron;

static_assert(sizeof(Result<void>) == sizeof(void*), "success costs nothing to return");
static_assert(std::is_nothrow_move_constructible_v<Result<void>>);
static_assert(!std::is_convertible_v<Result<int>, bool>, "only where a condition is asked for");
static_assert(std::is_same_v<Result<int>::value_type, int> && std::is_same_v<Result<void>::value_type, void>);
static_assert(!std::is_copy_constructible_v<Result<std::unique_ptr<int>>>);

Error some_error() { return {.code = Errc::timeout, .rank = 2, .during = "testing"}; }

}  // namespace

TEST_CASE("A result holds a value") {
  Result<std::string> result = std::string("value");
  REQUIRE(result);
  CHECK(result.has_value());
  CHECK(*result == "value");
  CHECK(result->size() == 5);
  *result += "s";
  CHECK(result.value() == "values");
  std::string const taken = *std::move(result);
  CHECK(taken == "values");
}

TEST_CASE("A result holds an error instead") {
  Result<int> const result = some_error();
  REQUIRE_FALSE(result);
  CHECK(result.error().code == Errc::timeout);
  CHECK(result.error().rank == 2);
}

TEST_CASE("A value that can't be copied moves in and out") {
  Result<std::unique_ptr<int>> result = std::make_unique<int>(7);
  REQUIRE(result);
  Result<std::unique_ptr<int>> other = std::move(result);
  std::unique_ptr<int> const taken = *std::move(other);
  CHECK(*taken == 7);
}

TEST_CASE("A local is returned as a result without a copy") {
  auto const make = [](bool well) -> Result<std::unique_ptr<int>> {
    auto value = std::make_unique<int>(3);
    if (!well) return some_error();
    return value;
  };
  CHECK(**make(true) == 3);
  CHECK_FALSE(make(false));
}

TEST_CASE("A result of nothing is success or an error, and moves") {
  Result<void> success;
  CHECK(success);
  Result<void> failure = some_error();
  REQUIRE_FALSE(failure);
  CHECK(failure.error().code == Errc::timeout);
  success = std::move(failure);
  REQUIRE_FALSE(success);
  CHECK(success.error().during == std::string("testing"));
}
