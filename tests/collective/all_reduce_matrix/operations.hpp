// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef CHEVRON_TESTS_COLLECTIVE_ALL_REDUCE_MATRIX_OPERATIONS_HPP
#define CHEVRON_TESTS_COLLECTIVE_ALL_REDUCE_MATRIX_OPERATIONS_HPP

//! @file
//! The operations and epilogues of the matrix: the library's, and a user's that show every exchange of two
//! ranks or of two places.

#include <chevron/core/config.hpp>
#include <chevron/core/element.hpp>
#include <chevron/core/op.hpp>
#include <chevron/epilogue/identity.hpp>

#include <cstddef>
#include <cstdint>
#include <tuple>
#include <type_traits>

namespace chevron::test {

//! Neither commutative nor associative: which rank is first, second, ... shows in every result, in narrow
//! floats as well as in integers. Floats take one addition and no product that could be fused with it;
//! integers wrap.
struct Steered {
  template <class A>
  CHEVRON_HD static constexpr A combine(A a, A b) {
    if constexpr (std::is_floating_point_v<A>) {
      return a > 0 ? a - b : a + b;
    } else {
      return static_cast<A>(3 * static_cast<std::uint64_t>(a) - static_cast<std::uint64_t>(b));
    }
  }
};

//! Depends on where the element is, and on a value that only exists at run time.
struct Shifted {
  std::uint64_t salt = 0;

  template <class A>
  CHEVRON_HD constexpr A operator()(A value, std::size_t index) const {
    std::uint64_t const place = index + salt;
    if constexpr (std::is_floating_point_v<A>) {
      return value + (static_cast<A>(place % 13) - A{6});
    } else {
      return static_cast<A>(static_cast<std::uint64_t>(value) + 5 * place);
    }
  }
};

//! What is tested, as a number that a plan can hold.
template <class Operation, class E>
struct Task {
  using Op = Operation;
  using Epilogue = E;
};
enum : int { task_sum, task_prod, task_min, task_max, task_avg, task_steered, task_avg_shifted, task_count };
inline constexpr char const* task_names[task_count] = {
    "sum", "prod", "min", "max", "avg", "steered", "avg then shifted"};

using Tasks = std::tuple<Task<Sum, Identity>, Task<Prod, Identity>, Task<Min, Identity>, Task<Max, Identity>,
                         Task<Avg, Identity>, Task<Steered, Identity>, Task<Avg, Shifted>>;
template <int Index>
using TaskAt = std::tuple_element_t<Index, Tasks>;
static_assert(std::tuple_size_v<Tasks> == task_count);

template <class E>
constexpr E make_epilogue(std::uint64_t salt) {
  if constexpr (std::is_same_v<E, Shifted>)
    return Shifted{salt};
  else
    return E{};
}

}  // namespace chevron::test

#endif
