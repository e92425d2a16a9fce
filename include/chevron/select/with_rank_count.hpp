// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef CHEVRON_SELECT_WITH_RANK_COUNT_HPP
#define CHEVRON_SELECT_WITH_RANK_COUNT_HPP

//! @file
//! From a rank count that a program learns when it runs to one that it was compiled for.

#include <chevron/core/error.hpp>
#include <chevron/core/result.hpp>
#include <chevron/select/selector.hpp>

#include <string>
#include <type_traits>
#include <utility>

namespace chevron {

namespace detail {

template <class Function, int Count>
using result_for = std::invoke_result_t<Function&, std::integral_constant<int, Count>>;

//! A function that returns a Result keeps it; any other value is wrapped.
template <class Value>
struct AsResult {
  using type = Result<Value>;
};
template <class Value>
struct AsResult<Result<Value>> {
  using type = Result<Value>;
};

template <class Counts>
struct WithRankCount;
template <int FirstCount, int... MoreCounts>
struct WithRankCount<RankCounts<FirstCount, MoreCounts...>> {
  template <class Function>
  using Returns = typename AsResult<result_for<Function, FirstCount>>::type;

  template <class Function>
  static constexpr bool returns_one_type =
      (std::is_same_v<result_for<Function, FirstCount>, result_for<Function, MoreCounts>> && ...);

  template <class Function>
  static Returns<Function> call(int rank_count, Function& function) {
    static_assert(
        returns_one_type<Function>,
        "chevron: a function must return one type for all rank counts; got another type for one of them; see "
        "chevron/select/with_rank_count.hpp");
    std::string compiled = std::to_string(FirstCount);
    ((compiled += ", " + std::to_string(MoreCounts)), ...);
    if constexpr (returns_one_type<Function>) {
      return try_each<Function, FirstCount, MoreCounts...>(rank_count, function, compiled);
    } else {
      return Error{};
    }
  }

  template <class Function, int First, int... Rest>
  static Returns<Function> try_each(int rank_count, Function& function, std::string const& compiled) {
    if (rank_count == First) {
      if constexpr (std::is_void_v<result_for<Function, First>>) {
        function(std::integral_constant<int, First>{});
        return {};
      } else {
        return function(std::integral_constant<int, First>{});
      }
    } else if constexpr (sizeof...(Rest) > 0) {
      return try_each<Function, Rest...>(rank_count, function, compiled);
    } else {
      return Error{.code = Errc::rank_count_not_compiled,
                   .during = "choosing a rank count",
                   .detail = "asked for " + std::to_string(rank_count) + ", compiled are " + compiled};
    }
  }
};

}  // namespace detail

//! @brief Calls `function(std::integral_constant<int, N>{})` for the compiled N that equals `rank_count`.
//! @tparam Counts  RankCounts<...>
//! Errors: rank_count_not_compiled, whose detail lists the compiled ones
//! @return a Result of what the function returns, which must be of one type for all N
template <class Counts, class Function>
[[nodiscard]] auto with_rank_count(int rank_count, Function&& function) {
  return detail::WithRankCount<Counts>::call(rank_count, function);
}

}  // namespace chevron

#endif
