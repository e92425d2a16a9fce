// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef CHEVRON_COLLECTIVE_ALL_REDUCE_HPP
#define CHEVRON_COLLECTIVE_ALL_REDUCE_HPP

//! @file
//! The all-reduce calls that users make.

#include <chevron/collective/call_fits.hpp>
#include <chevron/collective/chosen_body.hpp>
#include <chevron/collective/instantiate.hpp>
#include <chevron/collective/run_all_reduce.hpp>
#include <chevron/core/call.hpp>
#include <chevron/core/op.hpp>
#include <chevron/core/result.hpp>
#include <chevron/epilogue/identity.hpp>
#include <chevron/host/communicator.hpp>
#include <chevron/select/selector.hpp>
#include <chevron/transport/concept.hpp>

#include <concepts>
#include <cstddef>
#include <span>
#include <type_traits>

namespace chevron {

namespace detail {

template <class Size>
concept RunTimeCount = std::same_as<Size, AnyCount>;

}  // namespace detail

//! @brief Reduces one buffer per rank, element by element in rank order, and gives every rank the result.
//! @tparam Choice   a Selector, which chooses by size, or an algorithm such as ReduceScatterAllGatherZeroCopy<2, float>
//! @param in        [count] elements on each rank
//! @param out       [count]; `in` itself, or a buffer that does not overlap it
//! @param operation Sum{}, Prod{}, Min{}, Max{}, Avg{} or one's own
//! @param epilogue  applied to each reduced value before it is rounded; the same on all ranks
//! Memory: any, aligned to the element; buffers in windows are used in place, others may go through the mailboxes
//! Sync:   collective and blocking; on return out is complete and both buffers are the caller's again
//! Errors: at run time null_pointer, misaligned, size_overflow, buffers_overlap, concurrent_use, timeout, peer_died,
//!         aborted and the mismatches of count, element, operation, algorithm and table; all but concurrent_use end the
//!         communicator, on all ranks, with the same error. At compile time: types that do not fit together
//! Cost:   see the algorithms
template <class Choice, detail::RunTimeCount Size = detail::AnyCount, HostTransport Transport, class T,
          class Op = detail::operation_of_t<Choice>, class E = Identity>
[[nodiscard]] Result<void> all_reduce(Communicator<Transport> const& communicator,
                                      std::type_identity_t<T> const* in, T* out, std::size_t count,
                                      Op operation = {}, E const& epilogue = {}) {
  using Elsewhere = instantiation::all_reduce<Transport, detail::named_with_t<Choice, E>>;
  if constexpr (is_selector<Choice>) {
    if constexpr (!detail::fits_selector<Choice, Transport, T, Op, E>()) {
      return {};
    } else if constexpr (detail::IsElsewhere<Elsewhere>::value) {
      return Elsewhere::call(communicator, Elsewhere::Calls::template number<T, Op>, {in, out, count},
                             epilogue);
    } else {
      return detail::all_reduce_selected<Choice, Size>(
          communicator, Call<T, E>{.in = in, .out = out, .count = count, .epilogue = epilogue}, operation);
    }
  } else if constexpr (!detail::fits_algorithm<Choice, Transport, T, Op, E>()) {
    return {};
  } else if constexpr (detail::IsElsewhere<Elsewhere>::value) {
    return Elsewhere::call(communicator, 0, {in, out, count}, epilogue);
  } else {
    return detail::all_reduce_named<Choice>(
        communicator, Call<T, E>{.in = in, .out = out, .count = count, .epilogue = epilogue});
  }
}

//! @brief The same for a count that is known when the program is compiled: the compiler chooses, and only what it chose
//! is instantiated.
template <class Selector, class Size, HostTransport Transport, class T, class Op = Sum, class E = Identity>
requires is_selector<Selector> Result<void> all_reduce(Communicator<Transport> const& communicator,
                                                       std::type_identity_t<T> const* in, T* out,
                                                       Op operation = {}, E const& epilogue = {}) {
  using Elsewhere = instantiation::all_reduce<Transport, detail::named_with_t<Selector, E>>;
  if constexpr (!detail::fits_selector<Selector, Transport, T, Op, E, Size>()) {
    return {};
  } else if constexpr (detail::IsElsewhere<Elsewhere>::value) {
    return Elsewhere::call(communicator, Elsewhere::Calls::template number<T, Op>, {in, out, Size::value},
                           epilogue);
  } else {
    return detail::all_reduce_selected<Selector, Size>(
        communicator, Call<T, E>{.in = in, .out = out, .count = Size::value, .epilogue = epilogue},
        operation);
  }
}

//! @brief The same on spans, which must be of one size on a rank.
template <class Choice, detail::RunTimeCount Size = detail::AnyCount, HostTransport Transport, class T,
          class Op = detail::operation_of_t<Choice>, class E = Identity>
[[nodiscard]] Result<void> all_reduce(Communicator<Transport> const& communicator, std::span<T const> in,
                                      std::span<T> out, Op operation = {}, E const& epilogue = {}) {
  if (in.size() != out.size()) {
    auto& endpoint = communicator.endpoint();
    auto const me = static_cast<std::uint8_t>(endpoint.rank());
    return endpoint.template fail<HostAccess>({.code = Errc::bad_argument, .rank = me, .reporter = me})
        .error("all_reduce on spans of different sizes");
  }
  return all_reduce<Choice>(communicator, in.data(), out.data(), in.size(), operation, epilogue);
}

//! @brief The same in place.
template <class Choice, detail::RunTimeCount Size = detail::AnyCount, HostTransport Transport, class T,
          class Op = detail::operation_of_t<Choice>, class E = Identity>
[[nodiscard]] Result<void> all_reduce(Communicator<Transport> const& communicator, std::span<T> in_and_out,
                                      Op operation = {}, E const& epilogue = {}) {
  return all_reduce<Choice>(communicator, in_and_out.data(), in_and_out.data(), in_and_out.size(), operation,
                            epilogue);
}

}  // namespace chevron

#endif
