// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef CHEVRON_COLLECTIVE_ALL_REDUCE_CUH
#define CHEVRON_COLLECTIVE_ALL_REDUCE_CUH

//! @file
//! The all-reduce calls that users make on devices.

#include <chevron/collective/all_reduce.hpp>
#include <chevron/collective/call_fits.hpp>
#include <chevron/collective/chosen_body.hpp>
#include <chevron/collective/run_all_reduce.hpp>
#include <chevron/collective/run_on_device.cuh>
#include <chevron/core/call.hpp>
#include <chevron/core/op.hpp>
#include <chevron/core/result.hpp>
#include <chevron/epilogue/identity.hpp>
#include <chevron/host/communicator.hpp>
#include <chevron/select/selector.hpp>
#include <chevron/transport/concept.hpp>
#include <chevron/transport/cuda_kernels.cuh>

#include <cuda_runtime.h>

#include <cstddef>
#include <type_traits>
#include <vector>

namespace chevron {

//! @brief A selector together with the epilogue that calls on it will have: for naming what is to be loaded.
template <class Choice, class E>
struct WithEpilogue {};

namespace detail {

template <class Algorithm, int Packs>
struct AlgorithmTraits<InFlight<Algorithm, Packs>> : AlgorithmTraits<Algorithm> {};

//! @brief A named algorithm is one kernel.
template <class Choice, class Transport>
requires(AlgorithmTraits<Choice>::ranks == Transport::ranks) struct KernelsOf<Choice, Transport> {
  using Traits = AlgorithmTraits<Choice>;
  static void add_to(std::vector<void const*>& kernels) {
    if constexpr (AlgorithmFitsTransport<Choice, Transport>::value) {
      kernels.push_back(
          kernel_of<Transport, Anywhere<Choice>, typename Traits::Element, typename Traits::Epilogue>());
    }
  }
  [[nodiscard]] static constexpr bool is_for(int /*architecture*/) { return true; }
};

//! @brief A selector is one kernel for each body that it can choose, element and operation.
template <class Table, class Ranks, class... Ts, class... Ops, class Archs, Numerics Allowed, class E,
          class Transport>
struct KernelsOf<WithEpilogue<Selector<Table, Ranks, Elements<Ts...>, Operations<Ops...>, Archs, Allowed>, E>,
                 Transport> {
  using Choice = Selector<Table, Ranks, Elements<Ts...>, Operations<Ops...>, Archs, Allowed>;
  static_assert(Choice::Ranks::contains(Transport::ranks),
                "chevron: a selector's RankCounts must contain the transport's rank count; got a Transport "
                "with another one; "
                "see chevron/select/selector.hpp");
  static void add_to(std::vector<void const*>& kernels) { (add_element<Ts>(kernels), ...); }
  [[nodiscard]] static bool is_for(int architecture) { return Archs::contains(architecture); }

 private:
  template <class T>
  static void add_element(std::vector<void const*>& kernels) {
    (add_operation<T, Ops>(kernels), ...);
  }
  template <class T, class Op>
  static void add_operation(std::vector<void const*>& kernels) {
    constexpr int ranks = Transport::ranks;
    if constexpr (fits_selector<Choice, Transport, T, Op, E>()) {
      BodiesOf<Choice, AnyCount, Transport, T, Op, E>::for_each(
          [&]<AllReduceAlgorithm A, AllReduceAlgorithm B, int Packs>() {
            kernels.push_back(kernel_of<Transport, body_for_t<A, B, Packs, ranks, T, Op, E>, T, E>());
          });
    }
  }
};
template <class Table, class Ranks, class Types, class Ops, class Archs, Numerics Allowed, class Transport>
struct KernelsOf<Selector<Table, Ranks, Types, Ops, Archs, Allowed>, Transport>
    : KernelsOf<WithEpilogue<Selector<Table, Ranks, Types, Ops, Archs, Allowed>, Identity>, Transport> {};

//! @tparam Size  AnyCount, or Count<n>: then only what the table has for it is instantiated
template <class Selector, class Size, class Transport, class T, class Op, class E>
[[nodiscard]] Result<void> all_reduce_selected_on_device(Communicator<Transport> const& communicator,
                                                         Call<T, E> call, cudaStream_t stream, Op) {
  constexpr int ranks = Transport::ranks;
  constexpr std::uint32_t by_selector = hash32("all_reduce by selector");
  auto const chosen = Chosen::by<Selector, Transport, T, Op, E>(call.count * sizeof(T),
                                                                communicator.endpoint().architecture());
  auto const identity = identity_of<T, Op, E, by_selector, Selector::fingerprint()>(call.count);
  Result<void> result;
  BodiesOf<Selector, Size, Transport, T, Op, E>::for_each(
      [&]<AllReduceAlgorithm A, AllReduceAlgorithm B, int Packs>() {
        if (!(chosen.body == BodyKey{A, B, Packs})) return;
        // Where the buffers lie is known on the device alone; most lie in windows.
        CudaGeometry const& geometry = chosen.in_windows.cuda;
        result = run_on_device<body_for_t<A, B, Packs, ranks, T, Op, E>>(communicator, all_reduce_name,
                                                                         identity, call, stream, geometry);
      });
  return result;
}

}  // namespace detail

//! @brief Reduces one buffer per rank, element by element in rank order, and gives every rank the result.
//! @tparam Choice   a Selector, which chooses by size, or an algorithm; it was named when the communicator was made
//! @param in        [count] elements on each rank
//! @param out       [count]; `in` itself, or a buffer that does not overlap it
//! @param stream    of the rank's device; may be capturing. It must be there until the communicator's next call, which
//!                  follows this one also on another stream
//! @param operation Sum{}, Prod{}, Min{}, Max{}, Avg{} or one's own
//! @param epilogue  applied to each reduced value before it is rounded; the same on all ranks
//! @param geometry  for a named algorithm, how it is launched; the same on all ranks
//! Memory: on the device, aligned to the element; buffers in windows are used in place, others go through the mailboxes
//! Sync:   collective and stream-ordered: in must be ready, and out may be used, in the order of the stream
//! Errors: at once: null_pointer, misaligned, size_overflow, buffers_overlap, concurrent_use, not_loaded, cuda, and what
//!         ended the communicator earlier. On the device: timeout, unknown_window, buffers_overlap, aborted and the
//!         mismatches of count, element, operation, algorithm and table, which end the communicator on all ranks and are
//!         told by its next call and by status()
//! Cost:   one kernel; see the algorithms
template <class Choice, DeviceTransport Transport, class T, class Op = detail::operation_of_t<Choice>,
          class E = Identity>
[[nodiscard]] Result<void> all_reduce(Communicator<Transport> const& communicator,
                                      std::type_identity_t<T> const* in, T* out, std::size_t count,
                                      cudaStream_t stream, Op operation = {}, E const& epilogue = {},
                                      CudaGeometry const& geometry = {}) {
  Call<T, E> call{.in = in, .out = out, .count = count, .epilogue = epilogue};
  if constexpr (is_selector<Choice>) {
    if constexpr (detail::fits_selector<Choice, Transport, T, Op, E>()) {
      return detail::all_reduce_selected_on_device<Choice, detail::AnyCount>(communicator, call, stream,
                                                                             operation);
    } else {
      return {};
    }
  } else if constexpr (detail::fits_algorithm<Choice, Transport, T, Op, E>()) {
    auto const identity = detail::identity_of<T, Op, E, hash32(Choice::name), 0>(count);
    if (geometry.packs != 0 && geometry.packs != detail::packs_in_flight<Choice, Transport::ranks>) {
      auto const rank = static_cast<std::int16_t>(communicator.endpoint().rank());
      return Error{.code = Errc::not_loaded,
                   .rank = rank,
                   .reporter = rank,
                   .during = detail::all_reduce_name,
                   .detail = "an algorithm that is named has its packs in flight by InFlight"};
    }
    return detail::run_on_device<detail::Anywhere<Choice>>(communicator, detail::all_reduce_name, identity,
                                                           call, stream, geometry);
  } else {
    return {};
  }
}

//! @brief The same for a count that is known when the program is compiled: the compiler chooses.
template <class Selector, class Size, DeviceTransport Transport, class T, class Op = Sum, class E = Identity>
requires is_selector<Selector> Result<void> all_reduce(Communicator<Transport> const& communicator,
                                                       std::type_identity_t<T> const* in, T* out,
                                                       cudaStream_t stream, Op operation = {},
                                                       E const& epilogue = {}) {
  if constexpr (detail::fits_selector<Selector, Transport, T, Op, E, Size>()) {
    return detail::all_reduce_selected_on_device<Selector, Size>(
        communicator, Call<T, E>{.in = in, .out = out, .count = Size::value, .epilogue = epilogue}, stream,
        operation);
  } else {
    return {};
  }
}

}  // namespace chevron

#endif
