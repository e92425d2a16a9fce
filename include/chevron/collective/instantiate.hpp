// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef CHEVRON_COLLECTIVE_INSTANTIATE_HPP
#define CHEVRON_COLLECTIVE_INSTANTIATE_HPP

//! @file
//! The calls of a selector or algorithm in one translation unit, for programs of many files.
//!
//! In a header that all of them include, behind the selector, and in one file, both outside of any namespace:
//! ```cpp
//! CHEVRON_DECLARE(all_reduce, chevron::HostThreads<2>, Ours);
//! CHEVRON_INSTANTIATE(all_reduce, chevron::HostThreads<2>, Ours);
//! ```
//! Then no other file compiles an algorithm or a kernel for these calls. The one file has all elements and operations that
//! the selector lists. On devices it is a .cu, and the header includes <chevron/chevron.cuh>.

#include <chevron/collective/call_fits.hpp>
#include <chevron/collective/chosen_body.hpp>
#include <chevron/collective/run_all_reduce.hpp>
#include <chevron/core/call.hpp>
#include <chevron/core/config.hpp>
#include <chevron/core/element.hpp>
#include <chevron/core/requirements.hpp>
#include <chevron/core/result.hpp>
#include <chevron/epilogue/identity.hpp>
#include <chevron/host/communicator.hpp>
#include <chevron/select/selector.hpp>
#include <chevron/transport/concept.hpp>

#include <cstddef>
#include <type_traits>

namespace chevron {

//! @brief A selector together with the epilogue that calls on it will have: for naming what is to be loaded or instantiated.
template <class Choice, class E>
struct WithEpilogue {};

namespace detail {

//! @brief Whether an instantiation was declared by CHEVRON_DECLARE: then this file has none of its own.
template <class Instantiation>
struct IsElsewhere : std::false_type {};

//! @brief The buffers of a call whose element is known by a number alone.
struct PlainCall {
  void const* in;
  void* out;
  std::size_t count;

  template <class T, class E>
  [[nodiscard]] Call<T, E> as(E const& epilogue) const {
    return {
        .in = static_cast<T const*>(in), .out = static_cast<T*>(out), .count = count, .epilogue = epilogue};
  }
};

//! @brief The place of a type in a list.
template <class Wanted, class First, class... Rest>
inline constexpr std::size_t index_of = std::is_same_v<Wanted, First> ? 0 : 1 + index_of<Wanted, Rest...>;
template <class Wanted, class Last>
inline constexpr std::size_t index_of<Wanted, Last> = 0;

//! @brief The calls that a Choice stands for: their elements and operations, which a number tells apart, and their epilogue.
template <class Choice>
struct CallsOf {  // an algorithm is for one element and operation
  using Chosen = Choice;
  using Traits = AlgorithmTraits<Choice>;
  using Epilogue = typename Traits::Epilogue;

  template <class T, class Op>
  static constexpr std::size_t number = 0;
  //! Calls `visit.template operator()<T, Op>()` for the number's element and operation.
  template <class Visit>
  static void visit_number(std::size_t /*number*/, Visit&& visit) {
    visit.template operator()<typename Traits::Element, typename Traits::Operation>();
  }
  //! The same for all of them.
  template <class Visit>
  static void for_each(Visit&& visit) {
    visit_number(0, visit);
  }
};
template <class Table, class Ranks, class... Ts, class... Ops, class Archs, Numerics Allowed, class E>
struct CallsOf<WithEpilogue<Selector<Table, Ranks, Elements<Ts...>, Operations<Ops...>, Archs, Allowed>, E>> {
  using Chosen = Selector<Table, Ranks, Elements<Ts...>, Operations<Ops...>, Archs, Allowed>;
  using Epilogue = E;

  template <class T, class Op>
  static constexpr std::size_t number = index_of<T, Ts...> * sizeof...(Ops) + index_of<Op, Ops...>;
  template <class Visit>
  static void visit_number(std::size_t wanted, Visit&& visit) {
    (visit_element<Ts>(wanted, visit), ...);
  }
  template <class Visit>
  static void for_each(Visit&& visit) {
    for (std::size_t i = 0; i < sizeof...(Ts) * sizeof...(Ops); ++i) visit_number(i, visit);
  }

 private:
  template <class T, class Visit>
  static void visit_element(std::size_t wanted, Visit&& visit) {
    ((wanted == number<T, Ops> ? visit.template operator()<T, Ops>() : void()), ...);
  }
};
template <class Table, class Ranks, class Types, class Ops, class Archs, Numerics Allowed>
struct CallsOf<Selector<Table, Ranks, Types, Ops, Archs, Allowed>>
    : CallsOf<WithEpilogue<Selector<Table, Ranks, Types, Ops, Archs, Allowed>, Identity>> {};

//! @brief By which name calls with an epilogue of a selector are declared.
template <class Choice, class E>
using named_with_t =
    std::conditional_t<is_selector<Choice> && !std::is_same_v<E, Identity>, WithEpilogue<Choice, E>, Choice>;

}  // namespace detail

//! @brief What CHEVRON_DECLARE and CHEVRON_INSTANTIATE name: one class for each collective, with all calls of a Choice on a
//! Transport. Their functions are not inline, or compilers would instantiate them to inline them.
namespace instantiation {

template <class Transport, class Choice, MemorySpace Space = Transport::memory_space>
struct all_reduce;

template <class Transport, class Choice>
struct all_reduce<Transport, Choice, MemorySpace::host> {
  using Calls = detail::CallsOf<Choice>;
  static Result<void> call(Communicator<Transport> const& communicator, std::size_t number,
                           detail::PlainCall const& plain, typename Calls::Epilogue const& epilogue);
};

template <class Transport, class Choice>
Result<void> all_reduce<Transport, Choice, MemorySpace::host>::call(
    Communicator<Transport> const& communicator, std::size_t number, detail::PlainCall const& plain,
    typename Calls::Epilogue const& epilogue) {
  using E = typename Calls::Epilogue;
  using Chosen = typename Calls::Chosen;
  Result<void> result;
  Calls::visit_number(number, [&]<class T, class Op>() {
    if constexpr (!is_selector<Chosen>) {
      if constexpr (detail::fits_algorithm<Chosen, Transport, T, Op, E>()) {
        result = detail::all_reduce_named<Chosen>(communicator, plain.as<T>(epilogue));
      }
    } else if constexpr (detail::fits_selector<Chosen, Transport, T, Op, E>()) {
      result =
          detail::all_reduce_selected<Chosen, detail::AnyCount>(communicator, plain.as<T>(epilogue), Op{});
    }
  });
  return result;
}

}  // namespace instantiation

}  // namespace chevron

#endif
