// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef CHEVRON_COLLECTIVE_CALL_FITS_HPP
#define CHEVRON_COLLECTIVE_CALL_FITS_HPP

//! @file
//! Whether a call's types fit together, said in one sentence where they do not. All of it is decided by the compiler.

#include <chevron/collective/chosen_body.hpp>
#include <chevron/core/element.hpp>
#include <chevron/core/op.hpp>
#include <chevron/epilogue/identity.hpp>
#include <chevron/epilogue/scope.hpp>
#include <chevron/select/policy.hpp>
#include <chevron/select/selector.hpp>
#include <chevron/select/table.hpp>
#include <chevron/transport/concept.hpp>

#include <cstddef>
#include <type_traits>
#include <utility>

namespace chevron::detail {

//! @brief One sentence for each way in which the arguments of a call are not what a collective reduces.
template <class T, class Op, class E>
struct ArgumentsFit {
  static constexpr bool element = Element<T>;
  static constexpr bool operation = !element || ReductionOp<Op, T>;
  static constexpr bool epilogue = !element || RowEpilogue<E> || ElementEpilogue<E, T>;
  static_assert(
      element,
      "chevron: a buffer must hold elements; got a T without ElementTraits; see chevron/core/element.hpp");
  static_assert(
      operation,
      "chevron: a reduction operation must be an empty type with static combine(A, A) on the accumulator of "
      "the element; got an Op that is not; see chevron/core/op.hpp");
  static_assert(
      epilogue,
      "chevron: an epilogue must be a trivially copyable value with operator()(A, index) const that returns "
      "A, the accumulator of the element; got an E that is not; see chevron/epilogue/identity.hpp");
  static constexpr bool value = element && operation && epilogue;
};

//! @brief One sentence for each way in which a selector and a call don't fit.
template <class Selector, class Transport, class T, class Op>
struct CallFitsSelector {
  static constexpr bool ranks = Selector::Ranks::contains(Transport::ranks);
  static constexpr bool element = Selector::Types::template contains<T>;
  static constexpr bool operation = Selector::OperationList::template contains<Op>;
  static_assert(
      ranks,
      "chevron: a selector's RankCounts must contain the communicator's rank count; got a Transport with "
      "another one; see chevron/select/selector.hpp");
  static_assert(
      element,
      "chevron: a selector's Elements must contain the element of the call; got a T that is not listed; see "
      "chevron/select/selector.hpp");
  static_assert(
      operation,
      "chevron: a selector's Operations must contain the operation of the call; got an Op that is not "
      "listed; see chevron/select/selector.hpp");
  static constexpr bool on_device = Transport::memory_space == MemorySpace::device;
  static constexpr bool architecture =
      Selector::ArchitectureList::meets(on_device ? host_architecture + 1 : host_architecture,
                                        on_device ? ArchitectureRange::unlimited : host_architecture + 1);
  static_assert(
      architecture,
      "chevron: a selector's Architectures must contain one of the transport's, 0 on a host and a compute "
      "capability times ten on a device; got none of them; see chevron/select/selector.hpp");
  static constexpr bool value = ranks && element && operation && architecture;
};

//! @brief One sentence for each thing that the algorithm of row `Row` of a table needs and a transport lacks.
template <class Table, std::size_t Row, class Algorithm, class Transport>
struct RowRunsOn {
  static_assert(
      DirectAccessIsOffered<Algorithm, Transport>,
      "chevron: a row that calls reach must have an algorithm that runs on their transport; got a Row of "
      "this "
      "RowRunsOn that loads from and stores to peers' windows, where direct_access is not offered; see "
      "chevron/core/requirements.hpp");
  static_assert(PacketsAreOffered<Algorithm, Transport>,
                "chevron: a row that calls reach must have an algorithm that runs on their transport; got a "
                "Row of this "
                "RowRunsOn that pushes flagged packets, where packets are not offered; see "
                "chevron/core/requirements.hpp");
  static_assert(MailboxIsOffered<Algorithm, Transport>,
                "chevron: a row that calls reach must have an algorithm that runs on their transport; got a "
                "Row of this "
                "RowRunsOn that stages chunks in mailboxes, where a mailbox is not offered; see "
                "chevron/core/requirements.hpp");
  static_assert(MulticastIsOffered<Algorithm, Transport>,
                "chevron: a row that calls reach must have an algorithm that runs on their transport; got a "
                "Row of this "
                "RowRunsOn that stores to all ranks at once, where multicast is not offered; see "
                "chevron/core/requirements.hpp");
  static constexpr bool value = RunsOn<Algorithm, Transport>;
};

//! @brief Whether a row runs on the transport, if a call can reach it.
template <class Selector, class Bodies, class Transport, class T, class Op, class E, std::size_t Row,
          bool Reached = Bodies::reaches_row(static_cast<int>(Row))>
inline constexpr bool row_runs_on = true;
template <class Selector, class Bodies, class Transport, class T, class Op, class E, std::size_t Row>
inline constexpr bool row_runs_on<Selector, Bodies, Transport, T, Op, E, Row, true> = RowRunsOn<
    typename Selector::Table, Row,
    algorithm_named_t<rows_of<typename Selector::Table>[Row].policy.algorithm, Transport::ranks, T, Op, E>,
    Transport>::value;

template <class Selector, class Size, class Transport, class T, class Op, class E,
          class Rows = std::make_index_sequence<rows_of<typename Selector::Table>.size()>>
inline constexpr bool rows_run_on = false;
template <class Selector, class Size, class Transport, class T, class Op, class E, std::size_t... Rows>
inline constexpr bool rows_run_on<Selector, Size, Transport, T, Op, E, std::index_sequence<Rows...>> =
    (row_runs_on<Selector, BodiesOf<Selector, Size, Transport, T, Op, E>, Transport, T, Op, E, Rows> && ...);

//! @brief One sentence for each way in which an algorithm and a call don't fit.
template <class Algorithm, class Transport>
struct AlgorithmFitsTransport {
  static_assert(
      DirectAccessIsOffered<Algorithm, Transport>,
      "chevron: this algorithm loads from and stores to peers' windows; got a transport that does not offer "
      "direct_access; see chevron/core/requirements.hpp");
  static_assert(
      PacketsAreOffered<Algorithm, Transport>,
      "chevron: this algorithm pushes flagged packets; got a transport that does not offer packets; see "
      "chevron/core/requirements.hpp");
  static_assert(
      MailboxIsOffered<Algorithm, Transport>,
      "chevron: this algorithm stages chunks in mailboxes; got a transport that does not offer a mailbox; "
      "see chevron/core/requirements.hpp");
  static_assert(
      MulticastIsOffered<Algorithm, Transport>,
      "chevron: this algorithm stores to all ranks at once; got a transport that does not offer multicast; "
      "see chevron/core/requirements.hpp");
  static constexpr bool value = RunsOn<Algorithm, Transport>;
};

//! @brief What an all-reduce algorithm was instantiated for; nothing for a type that is none.
template <class Algorithm>
struct AlgorithmTraits {
  static constexpr int ranks = 0;
  using Element = void;
  using Operation = Sum;
  using Epilogue = void;
};
template <template <int, class, class, class> class Algorithm, int NRanks, class T, class Op, class E>
struct AlgorithmTraits<Algorithm<NRanks, T, Op, E>> {
  static constexpr int ranks = NRanks;
  using Element = T;
  using Operation = Op;
  using Epilogue = E;
};

//! @brief Whether a Choice is the algorithm for exactly this call.
template <class Algorithm, int NRanks, class T, class Op, class E>
struct CallFitsAlgorithm {
  using Traits = AlgorithmTraits<Algorithm>;
  static_assert(
      Traits::ranks == NRanks,
      "chevron: an algorithm must be instantiated for the communicator's rank count; got another NRanks; "
      "see chevron/collective/all_reduce.hpp");
  static_assert(std::is_same_v<typename Traits::Element, T>,
                "chevron: an algorithm must be instantiated for the element of the call; got another T; see "
                "chevron/collective/all_reduce.hpp");
  static_assert(
      std::is_same_v<typename Traits::Operation, Op>,
      "chevron: an algorithm must be instantiated for the operation of the call; got another Op; see "
      "chevron/collective/all_reduce.hpp");
  static_assert(std::is_same_v<typename Traits::Epilogue, E>,
                "chevron: an algorithm must be instantiated for the epilogue of the call; got another E; see "
                "chevron/collective/all_reduce.hpp");
  static_assert(
      ScopeIsServed<Algorithm, E>,
      "chevron: an epilogue of row scope needs an algorithm whose ranks own whole rows; got an algorithm "
      "without owns_whole_rows; see chevron/epilogue/scope.hpp");
  static constexpr bool value =
      ScopeIsServed<Algorithm, E> && Traits::ranks == NRanks && std::is_same_v<typename Traits::Element, T> &&
      std::is_same_v<typename Traits::Operation, Op> && std::is_same_v<typename Traits::Epilogue, E>;
};

//! @brief The operation of a call: a sum where nothing else is said; an algorithm brings its own.
template <class Choice>
using operation_of_t = typename AlgorithmTraits<Choice>::Operation;

//! @brief Everything about a call whose Choice is a selector.
template <class Selector, class Transport, class T, class Op, class E, class Size = AnyCount>
[[nodiscard]] consteval bool fits_selector() {
  if constexpr (Selector::total && ArgumentsFit<T, Op, E>::value) {
    if constexpr (CallFitsSelector<Selector, Transport, T, Op>::value) {
      if constexpr (Selector::template total_for<epilogue_scope<E>>) {
        return rows_run_on<Selector, Size, Transport, T, Op, E>;
      }
    }
  }
  return false;
}

//! @brief Everything about a call whose Choice is an algorithm.
template <class Algorithm, class Transport, class T, class Op, class E>
[[nodiscard]] consteval bool fits_algorithm() {
  constexpr bool is_algorithm = AlgorithmTraits<Algorithm>::ranks != 0;
  static_assert(
      is_algorithm,
      "chevron: the first template argument of a collective must be a Selector or one of its algorithms; got "
      "another type; see chevron/collective/all_reduce.hpp");
  if constexpr (is_algorithm && ArgumentsFit<T, Op, E>::value) {
    if constexpr (CallFitsAlgorithm<Algorithm, Transport::ranks, T, Op, E>::value) {
      return AlgorithmFitsTransport<Algorithm, Transport>::value;
    }
  }
  return false;
}

}  // namespace chevron::detail

#endif
