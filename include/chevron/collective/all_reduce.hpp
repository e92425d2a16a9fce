// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef CHEVRON_COLLECTIVE_ALL_REDUCE_HPP
#define CHEVRON_COLLECTIVE_ALL_REDUCE_HPP

//! @file
//! The all-reduce calls that users make.

#include <chevron/collective/run_on_host.hpp>
#include <chevron/core/call.hpp>
#include <chevron/core/element.hpp>
#include <chevron/core/op.hpp>
#include <chevron/core/hash.hpp>
#include <chevron/core/result.hpp>
#include <chevron/epilogue/identity.hpp>
#include <chevron/host/communicator.hpp>
#include <chevron/select/policy.hpp>
#include <chevron/select/selector.hpp>
#include <chevron/transport/concept.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>

namespace chevron {

namespace detail {

inline constexpr char const* all_reduce_name = "all_reduce";

template <class T, class Op, class E>
[[nodiscard]] CallIdentity identity_of(std::uint32_t algorithm, std::uint32_t table, std::size_t count) {
  constexpr std::uint32_t element = static_cast<std::uint32_t>(ElementTraits<T>::kind);
  constexpr std::uint32_t operation = mix(mix(hash32(all_reduce_name), op_id<Op>()), op_id<E>());
  return {.algorithm = algorithm, .element = element, .operation = operation, .table = table, .count = count};
}

//! @brief Runs a body by the windows of the call: one algorithm where everybody's buffers lie in windows,
//! another where somebody's do not. The arrival messages decide, alike on all ranks.
template <class InWindows, class Elsewhere, class Lane, class T, class E>
void run_by_windows(Lane& lane, Call<T, E> const& call, Stores stores_in_windows) {
  auto const all = lane.template arrive<T>(call);
  if (!lane.ok()) return;
  if (!all.direct()) return Elsewhere::run(lane, call);
  Call<T, E> in_windows = call;
  in_windows.stores = stores_in_windows;
  if constexpr (InWindows::needs.direct_access) {
    InWindows::move(lane, in_windows, all);
  } else {
    InWindows::run(lane, in_windows);
  }
}

//! @brief Calls `body.template operator()<A>()` for the chosen algorithm A. Only those that the selector can
//! choose are instantiated.
template <class Selector, int NRanks, class T, WindowState Windows, class Body>
void with_algorithm(AllReduceAlgorithm chosen, Body&& body) {
  auto const on = [&]<AllReduceAlgorithm A>() {
    if constexpr (Selector::reaches(NRanks, ElementTraits<T>::kind, Windows, A)) {
      if (chosen == A) body.template operator()<A>();
    }
  };
  using enum AllReduceAlgorithm;
  on.template operator()<one_shot_push>();
  on.template operator()<reduce_scatter_all_gather>();
  on.template operator()<reduce_scatter_all_gather_zero_copy>();
}

//! @brief The policies of one call: for buffers in windows, and for others. For most sizes they are the same.
struct Chosen {
  Policy in_windows;
  Policy elsewhere;
  bool windows_matter;
  [[nodiscard]] Stores stores() const { return windows_matter ? elsewhere.stores : in_windows.stores; }
};

template <class Selector, class Op, class Lane, class T, class E>
void run_chosen(Lane& lane, Call<T, E> const& call, Chosen const& chosen) {
  constexpr int ranks = Lane::ranks;
  with_algorithm<Selector, ranks, T, WindowState::all>(
      chosen.in_windows.algorithm, [&]<AllReduceAlgorithm A>() {
        using InWindows = algorithm_named_t<A, ranks, T, Op, E>;
        if (!chosen.windows_matter) return InWindows::run(lane, call);
        with_algorithm<Selector, ranks, T, WindowState::none>(
            chosen.elsewhere.algorithm, [&]<AllReduceAlgorithm B>() {
              using Elsewhere = algorithm_named_t<B, ranks, T, Op, E>;
              if constexpr (A != B)
                run_by_windows<InWindows, Elsewhere>(lane, call, chosen.in_windows.stores);
            });
      });
}

//! @brief A selector for one size: it reaches what it chooses for that size and nothing else.
template <class Selector, class T, std::size_t Elements>
struct AtCount {
  [[nodiscard]] static constexpr bool reaches(int ranks, ElementKind, WindowState windows,
                                              AllReduceAlgorithm a) {
    return Selector::template choose<T>(ranks, Elements * sizeof(T), windows).algorithm == a;
  }
};

template <class Selector, class Reachable, class Transport, class T, class Op, class E>
[[nodiscard]] Result<void> all_reduce_selected(Communicator<Transport> const& communicator, Call<T, E> call,
                                               Op) {
  constexpr int ranks = Transport::ranks;
  std::size_t const size_bytes =
      call.count * sizeof(T);  // if it overflows, the call is refused before it is used
  Chosen chosen{Selector::template choose<T, Op>(ranks, size_bytes, WindowState::all),
                Selector::template choose<T, Op>(ranks, size_bytes, WindowState::none), false};
  chosen.windows_matter = !communicator.endpoint().every_pointer_is_in_a_window() &&
                          chosen.in_windows.algorithm != chosen.elsewhere.algorithm;
  call.stores = chosen.stores();
  constexpr std::uint32_t by_selector = hash32("all_reduce by selector");
  return run_on_host(communicator, all_reduce_name,
                     identity_of<T, Op, E>(by_selector, Selector::fingerprint(), call.count), call,
                     [&](auto& lane) { run_chosen<Reachable, Op>(lane, call, chosen); });
}

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
  static constexpr bool value = ranks && element && operation;
};

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
  static constexpr bool value = RunsOn<Algorithm, Transport>;
};

//! @brief What an all-reduce algorithm was instantiated for.
template <class Algorithm>
struct AlgorithmTraits;
template <template <int, class, class, class> class Algorithm, int NRanks, class T, class Op, class E>
struct AlgorithmTraits<Algorithm<NRanks, T, Op, E>> {
  static constexpr int ranks = NRanks;
  using Element = T;
  using Operation = Op;
  using Epilogue = E;
};

//! @brief Whether a Choice is the algorithm for exactly this call.
template <class Algorithm, int NRanks, class T, class E>
struct CallFitsAlgorithm {
  using Traits = AlgorithmTraits<Algorithm>;
  static_assert(
      Traits::ranks == NRanks,
      "chevron: an algorithm must be instantiated for the communicator's rank count; got another NRanks; "
      "see chevron/collective/all_reduce.hpp");
  static_assert(std::is_same_v<typename Traits::Element, T>,
                "chevron: an algorithm must be instantiated for the element of the call; got another T; see "
                "chevron/collective/all_reduce.hpp");
  static_assert(std::is_same_v<typename Traits::Epilogue, E>,
                "chevron: an algorithm must be instantiated for the epilogue of the call; got another E; see "
                "chevron/collective/all_reduce.hpp");
  static constexpr bool value = Traits::ranks == NRanks && std::is_same_v<typename Traits::Element, T> &&
                                std::is_same_v<typename Traits::Epilogue, E>;
};

template <class Algorithm, class Transport, class T, class E>
[[nodiscard]] Result<void> all_reduce_named(Communicator<Transport> const& communicator, Call<T, E> call) {
  using Op = typename AlgorithmTraits<Algorithm>::Operation;
  return run_on_host(communicator, all_reduce_name,
                     identity_of<T, Op, E>(hash32(Algorithm::name), 0, call.count), call,
                     [&](auto& lane) { Algorithm::run(lane, call); });
}

//! @brief Stands where a Count<n> may stand, for a count that is known when the program runs.
struct AnyCount {};
template <class Size>
concept RunTimeCount = std::same_as<Size, AnyCount>;

//! @brief The operation of a call: the selector's default is a sum, an algorithm brings its own.
template <class Choice>
struct OperationOf {
  using type = typename AlgorithmTraits<Choice>::Operation;
};
template <class Choice>
requires is_selector<Choice>
struct OperationOf<Choice> {
  using type = Sum;
};

}  // namespace detail

//! @brief Reduces one buffer per rank, element by element in rank order, and gives every rank the result.
//! @tparam Choice  a Selector, which chooses by size, or an algorithm such as
//! ReduceScatterAllGatherZeroCopy<2, float>
//! @param in        [count] elements on each rank
//! @param out       [count]; `in` itself, or a buffer that does not overlap it
//! @param operation Sum{}, Prod{}, Min{}, Max{}, Avg{} or one's own
//! @param epilogue  applied to each reduced value before it is rounded; the same on all ranks
//! Memory: any, aligned to the element; buffers in windows are used in place, others may go through the
//! mailboxes Sync:   collective and blocking; on return out is complete and both buffers are the caller's
//! again Errors: at run time null_pointer, misaligned, size_overflow, buffers_overlap, concurrent_use,
//! timeout, peer_died,
//!         aborted and the mismatches of count, element, operation, algorithm and table; all but
//!         concurrent_use end the communicator, on all ranks, with the same error. At compile time: a
//!         selector that does not cover the call
//! Cost:   see the algorithms
template <class Choice, detail::RunTimeCount Size = detail::AnyCount, TransportPolicy Transport, Element T,
          class Op = typename detail::OperationOf<Choice>::type, class E = Identity>
requires ReductionOp<Op, T> && ElementEpilogue<E, T> Result<void> all_reduce(
    Communicator<Transport> const& communicator, std::type_identity_t<T> const* in, T* out, std::size_t count,
    Op operation = {}, E const& epilogue = {}) {
  Call<T, E> const call{.in = in, .out = out, .count = count, .epilogue = epilogue};
  if constexpr (is_selector<Choice>) {
    if constexpr (detail::CallFitsSelector<Choice, Transport, T, Op>::value) {
      return detail::all_reduce_selected<Choice, Choice>(communicator, call, operation);
    } else {
      return {};
    }
  } else if constexpr (detail::CallFitsAlgorithm<Choice, Transport::ranks, T, E>::value &&
                       detail::AlgorithmFitsTransport<Choice, Transport>::value) {
    return detail::all_reduce_named<Choice>(communicator, call);
  } else {
    return {};
  }
}

//! @brief The same for a count that is known when the program is compiled: the compiler chooses, and only
//! what it chose is instantiated.
template <class Selector, class Size, TransportPolicy Transport, Element T, class Op = Sum,
          class E = Identity>
requires is_selector<Selector> && ReductionOp<Op, T> && ElementEpilogue<E, T> Result<void> all_reduce(
    Communicator<Transport> const& communicator, std::type_identity_t<T> const* in, T* out, Op operation = {},
    E const& epilogue = {}) {
  if constexpr (detail::CallFitsSelector<Selector, Transport, T, Op>::value) {
    return detail::all_reduce_selected<Selector, detail::AtCount<Selector, T, Size::value>>(
        communicator, Call<T, E>{.in = in, .out = out, .count = Size::value, .epilogue = epilogue},
        operation);
  } else {
    return {};
  }
}

//! @brief The same on spans, which must be of one size on a rank.
template <class Choice, detail::RunTimeCount Size = detail::AnyCount, TransportPolicy Transport, Element T,
          class Op = typename detail::OperationOf<Choice>::type, class E = Identity>
Result<void> all_reduce(Communicator<Transport> const& communicator, std::span<T const> in, std::span<T> out,
                        Op operation = {}, E const& epilogue = {}) {
  if (in.size() != out.size()) {
    auto& endpoint = communicator.endpoint();
    auto const me = static_cast<std::uint8_t>(endpoint.rank());
    return endpoint.template fail<HostAccess>({.code = Errc::bad_argument, .rank = me, .reporter = me})
        .error("all_reduce on spans of different sizes");
  }
  return all_reduce<Choice>(communicator, in.data(), out.data(), in.size(), operation, epilogue);
}

//! @brief The same in place.
template <class Choice, detail::RunTimeCount Size = detail::AnyCount, TransportPolicy Transport, Element T,
          class Op = typename detail::OperationOf<Choice>::type, class E = Identity>
Result<void> all_reduce(Communicator<Transport> const& communicator, std::span<T> in_and_out,
                        Op operation = {}, E const& epilogue = {}) {
  return all_reduce<Choice>(communicator, in_and_out.data(), in_and_out.data(), in_and_out.size(), operation,
                            epilogue);
}

}  // namespace chevron

#endif
