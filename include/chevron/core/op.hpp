// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef CHEVRON_CORE_OP_HPP
#define CHEVRON_CORE_OP_HPP

#include <concepts>
#include <cstdint>
#include <type_traits>

#include <chevron/core/arithmetic.hpp>
#include <chevron/core/config.hpp>
#include <chevron/core/element.hpp>
#include <chevron/core/hash.hpp>

//! @file
//! How the values of two ranks become one.
//!
//! An operation is an empty type with `static A combine(A, A)` on accumulators and, if the last result needs
//! one more step, `static A finish(A, int rank_count)`. The library folds in rank order, always:
//! `narrow(finish(combine(combine(widen(a0), widen(a1)), widen(a2)) ..., N))`. So an operation need be
//! neither commutative nor associative. In kernels both functions must be marked CHEVRON_HD.

namespace chevron {

//! @brief Addition; integers wrap.
struct Sum {
  static constexpr char const* name = "sum";
  template <detail::Addable A>
  CHEVRON_INLINE static constexpr A combine(A a, A b) noexcept {
    return detail::add(a, b);
  }
};

//! @brief Multiplication; integers wrap.
struct Prod {
  static constexpr char const* name = "prod";
  template <detail::Multipliable A>
  CHEVRON_INLINE static constexpr A combine(A a, A b) noexcept {
    return detail::multiply(a, b);
  }
};

//! @brief The smaller value. Floats as IEEE 754-2019 `minimum`: a NaN on either side gives a NaN, and -0 <
//! +0.
struct Min {
  static constexpr char const* name = "min";
  template <detail::StandardArithmetic A>
  CHEVRON_INLINE static constexpr A combine(A a, A b) noexcept {
    return detail::minimum(a, b);
  }
};

//! @brief The larger value. Floats as IEEE 754-2019 `maximum`: a NaN on either side gives a NaN, and -0 < +0.
struct Max {
  static constexpr char const* name = "max";
  template <detail::StandardArithmetic A>
  CHEVRON_INLINE static constexpr A combine(A a, A b) noexcept {
    return detail::maximum(a, b);
  }
};

//! @brief The sum over all ranks, divided once by the number of ranks in the accumulator type.
//! Integers: the sum wraps, and its quotient is truncated toward zero.
struct Avg {
  static constexpr char const* name = "avg";
  template <detail::Addable A>
  CHEVRON_INLINE static constexpr A combine(A a, A b) noexcept {
    return detail::add(a, b);
  }
  template <detail::DivisibleByCount A>
  CHEVRON_INLINE static constexpr A finish(A sum, int rank_count) noexcept {
    return detail::divide_by_count(sum, rank_count);
  }
};

namespace detail {

//! Operations are passed as types and take no room where they are kept.
template <class Op>
concept Stateless = std::is_empty_v<Op> && !std::is_final_v<Op>;

template <class Op, class A>
concept CombinesAccumulators = requires(A a, A b) {
  { Op::combine(a, b) } -> std::same_as<A>;
};

template <class Op, class A>
concept FinishesAccumulator = requires(A a, int rank_count) {
  { Op::finish(a, rank_count) } -> std::same_as<A>;
};

struct NamedFinish {
  int finish;
};
template <class Op>
struct WithNamedFinish : Op, NamedFinish {};

//! Op has a member called finish, of whatever kind: then the name is ambiguous here.
template <class Op>
concept NamesFinish = !requires {
  &WithNamedFinish<Op>::finish;
};

//! A finish that can't be called would otherwise be left out in silence.
template <class Op, class A>
concept FinishesOrHasNoFinish = FinishesAccumulator<Op, A> || !NamesFinish<Op>;

//! What a rank does to the combined value before it is narrowed.
template <class Op, class A>
requires CombinesAccumulators<Op, A> CHEVRON_INLINE constexpr A finish(A accumulator,
                                                                       int rank_count) noexcept {
  if constexpr (FinishesAccumulator<Op, A>) {
    return Op::finish(accumulator, rank_count);
  } else {
    return accumulator;
  }
}

}  // namespace detail

//! @brief An operation that can reduce elements of type T.
template <class Op, class T>
concept ReductionOp = Element<T> && detail::Stateless<Op> &&
    detail::CombinesAccumulators<Op, accumulator_t<T>> && detail::FinishesOrHasNoFinish<Op, accumulator_t<T>>;

namespace detail {

template <class Op>
concept NamesItself = requires {
  { Op::name } -> std::convertible_to<char const*>;
};

template <class Op>
consteval std::uint64_t hash_of_type() {
  return hash_of(__PRETTY_FUNCTION__);
}

}  // namespace detail

//! @brief A number by which ranks tell whether they were asked for the same operation.
//! The library's operations have 1..5, the others have the highest bit set: a hash of `Op::name` where there
//! is one, else of how the compiler spells the type. Compilers differ in that, so an operation that ranks
//! built by different compilers shall share needs a name.
template <class Op>
consteval std::uint64_t op_id() {
  if constexpr (std::same_as<Op, Sum>) {
    return 1;
  } else if constexpr (std::same_as<Op, Prod>) {
    return 2;
  } else if constexpr (std::same_as<Op, Min>) {
    return 3;
  } else if constexpr (std::same_as<Op, Max>) {
    return 4;
  } else if constexpr (std::same_as<Op, Avg>) {
    return 5;
  } else if constexpr (detail::NamesItself<Op>) {
    return hash_of(Op::name) | (std::uint64_t{1} << 63);
  } else {
    return detail::hash_of_type<Op>() | (std::uint64_t{1} << 63);
  }
}

//! @brief The kind of an operation, for selection tables. All of a user's own are of one kind.
enum class OperationKind : std::uint8_t { sum = 0, prod = 1, min = 2, max = 3, avg = 4, user = 5 };

//! @brief The enumerator's name, for tables and messages.
constexpr char const* name(OperationKind kind) noexcept {
  switch (kind) {
    case OperationKind::sum:
      return Sum::name;
    case OperationKind::prod:
      return Prod::name;
    case OperationKind::min:
      return Min::name;
    case OperationKind::max:
      return Max::name;
    case OperationKind::avg:
      return Avg::name;
    case OperationKind::user:
      return "user";
  }
  return "unknown";
}

//! @brief The kind of Op.
template <class Op>
inline constexpr OperationKind operation_kind = op_id<Op>() <= 5 ? static_cast<OperationKind>(op_id<Op>() - 1)
                                                                 : OperationKind::user;

}  // namespace chevron

#endif
