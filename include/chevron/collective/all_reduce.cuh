// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef CHEVRON_COLLECTIVE_ALL_REDUCE_CUH
#define CHEVRON_COLLECTIVE_ALL_REDUCE_CUH

//! @file
//! The all-reduce calls that users make on devices.

#include <chevron/collective/all_reduce.hpp>
#include <chevron/collective/call_fits.hpp>
#include <chevron/collective/chosen_body.hpp>
#include <chevron/collective/instantiate.hpp>
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
#include <span>
#include <type_traits>
#include <vector>

namespace chevron {

namespace detail {

template <class Algorithm, int Packs>
struct AlgorithmTraits<InFlight<Algorithm, Packs>> : AlgorithmTraits<Algorithm> {};

//! @brief The kernels of all calls that a Choice stands for: one for an algorithm, and for a selector one for each body that it
//! can choose, element and operation.
template <class Choice, class Transport, class T, class Op>
void add_kernels_of_call(std::vector<void const*>& kernels) {
  using E = typename CallsOf<Choice>::Epilogue;
  using Chosen = typename CallsOf<Choice>::Chosen;
  if constexpr (is_selector<Chosen>) {
    if constexpr (fits_selector<Chosen, Transport, T, Op, E>()) {
      BodiesOf<Chosen, AnyCount, Transport, T, Op, E>::for_each(
          [&]<AllReduceAlgorithm A, AllReduceAlgorithm B, int Packs>() {
            kernels.push_back(
                kernel_of<Transport, body_for_t<A, B, Packs, Transport::ranks, T, Op, E>, T, E>());
          });
    }
  } else if constexpr (AlgorithmFitsTransport<Chosen, Transport>::value) {
    kernels.push_back(kernel_of<Transport, Anywhere<Chosen>, T, E>());
  }
}

//! @brief An algorithm for the transport's rank count.
template <class Choice, class Transport>
requires(AlgorithmTraits<Choice>::ranks == Transport::ranks) struct KernelsOf<Choice, Transport> {
  static void add_to(std::vector<void const*>& kernels) {
    instantiation::all_reduce<Transport, Choice>::add_kernels(kernels);
  }
  [[nodiscard]] static constexpr bool is_for(int /*architecture*/) { return true; }
};

//! @brief A selector, with or without an epilogue.
template <class Choice, class Selector, class Transport>
struct KernelsOfSelector {
  static_assert(Selector::Ranks::contains(Transport::ranks),
                "chevron: a selector's RankCounts must contain the transport's rank count; got a Transport "
                "with another one; "
                "see chevron/select/selector.hpp");
  static void add_to(std::vector<void const*>& kernels) {
    instantiation::all_reduce<Transport, Choice>::add_kernels(kernels);
  }
  [[nodiscard]] static bool is_for(int architecture) {
    return Selector::ArchitectureList::contains(architecture);
  }
};
template <class Table, class Ranks, class Types, class Ops, class Archs, Numerics Allowed, class E,
          class Transport>
struct KernelsOf<WithEpilogue<Selector<Table, Ranks, Types, Ops, Archs, Allowed>, E>, Transport>
    : KernelsOfSelector<WithEpilogue<Selector<Table, Ranks, Types, Ops, Archs, Allowed>, E>,
                        Selector<Table, Ranks, Types, Ops, Archs, Allowed>, Transport> {};
template <class Table, class Ranks, class Types, class Ops, class Archs, Numerics Allowed, class Transport>
struct KernelsOf<Selector<Table, Ranks, Types, Ops, Archs, Allowed>, Transport>
    : KernelsOfSelector<Selector<Table, Ranks, Types, Ops, Archs, Allowed>,
                        Selector<Table, Ranks, Types, Ops, Archs, Allowed>, Transport> {};

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

template <class Algorithm, class Transport, class T, class E>
[[nodiscard]] Result<void> all_reduce_named_on_device(Communicator<Transport> const& communicator,
                                                      Call<T, E> call, cudaStream_t stream,
                                                      CudaGeometry const& geometry) {
  using Op = typename AlgorithmTraits<Algorithm>::Operation;
  if (geometry.packs != 0 && geometry.packs != packs_in_flight<Algorithm, Transport::ranks>) {
    auto const rank = static_cast<std::int16_t>(communicator.endpoint().rank());
    return Error{.code = Errc::not_loaded,
                 .rank = rank,
                 .reporter = rank,
                 .during = all_reduce_name,
                 .detail = "an algorithm that is named has its packs in flight by InFlight"};
  }
  return run_on_device<Anywhere<Algorithm>>(communicator, all_reduce_name,
                                            identity_of<T, Op, E, hash32(Algorithm::name), 0>(call.count),
                                            call, stream, geometry);
}

}  // namespace detail

namespace instantiation {

template <class Transport, class Choice>
struct all_reduce<Transport, Choice, MemorySpace::device> {
  using Calls = detail::CallsOf<Choice>;
  static void add_kernels(std::vector<void const*>& kernels);
  //! @param geometry  of an algorithm; a selector has its own
  static Result<void> call(Communicator<Transport> const& communicator, std::size_t number,
                           detail::PlainCall const& plain, typename Calls::Epilogue const& epilogue,
                           cudaStream_t stream, CudaGeometry const& geometry);
};

template <class Transport, class Choice>
void all_reduce<Transport, Choice, MemorySpace::device>::add_kernels(std::vector<void const*>& kernels) {
  Calls::for_each(
      [&]<class T, class Op>() { detail::add_kernels_of_call<Choice, Transport, T, Op>(kernels); });
}

template <class Transport, class Choice>
Result<void> all_reduce<Transport, Choice, MemorySpace::device>::call(
    Communicator<Transport> const& communicator, std::size_t number, detail::PlainCall const& plain,
    typename Calls::Epilogue const& epilogue, cudaStream_t stream, CudaGeometry const& geometry) {
  using E = typename Calls::Epilogue;
  using Chosen = typename Calls::Chosen;
  Result<void> result;
  Calls::visit_number(number, [&]<class T, class Op>() {
    if constexpr (!is_selector<Chosen>) {
      if constexpr (detail::fits_algorithm<Chosen, Transport, T, Op, E>()) {
        result =
            detail::all_reduce_named_on_device<Chosen>(communicator, plain.as<T>(epilogue), stream, geometry);
      }
    } else if constexpr (detail::fits_selector<Chosen, Transport, T, Op, E>()) {
      result = detail::all_reduce_selected_on_device<Chosen, detail::AnyCount>(
          communicator, plain.as<T>(epilogue), stream, Op{});
    }
  });
  return result;
}

}  // namespace instantiation

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
  using Elsewhere = instantiation::all_reduce<Transport, detail::named_with_t<Choice, E>>;
  Call<T, E> const call{.in = in, .out = out, .count = count, .epilogue = epilogue};
  if constexpr (is_selector<Choice>) {
    if constexpr (!detail::fits_selector<Choice, Transport, T, Op, E>()) {
      return {};
    } else if constexpr (detail::IsElsewhere<Elsewhere>::value) {
      return Elsewhere::call(communicator, Elsewhere::Calls::template number<T, Op>, {in, out, count},
                             epilogue, stream, geometry);
    } else {
      return detail::all_reduce_selected_on_device<Choice, detail::AnyCount>(communicator, call, stream,
                                                                             operation);
    }
  } else if constexpr (!detail::fits_algorithm<Choice, Transport, T, Op, E>()) {
    return {};
  } else if constexpr (detail::IsElsewhere<Elsewhere>::value) {
    return Elsewhere::call(communicator, 0, {in, out, count}, epilogue, stream, geometry);
  } else {
    return detail::all_reduce_named_on_device<Choice>(communicator, call, stream, geometry);
  }
}

//! @brief The same for a count that is known when the program is compiled: the compiler chooses.
template <class Selector, class Size, DeviceTransport Transport, class T, class Op = Sum, class E = Identity>
requires is_selector<Selector> Result<void> all_reduce(Communicator<Transport> const& communicator,
                                                       std::type_identity_t<T> const* in, T* out,
                                                       cudaStream_t stream, Op operation = {},
                                                       E const& epilogue = {}) {
  using Elsewhere = instantiation::all_reduce<Transport, detail::named_with_t<Selector, E>>;
  if constexpr (!detail::fits_selector<Selector, Transport, T, Op, E, Size>()) {
    return {};
  } else if constexpr (detail::IsElsewhere<Elsewhere>::value) {
    return Elsewhere::call(communicator, Elsewhere::Calls::template number<T, Op>, {in, out, Size::value},
                           epilogue, stream, {});
  } else {
    return detail::all_reduce_selected_on_device<Selector, Size>(
        communicator, Call<T, E>{.in = in, .out = out, .count = Size::value, .epilogue = epilogue}, stream,
        operation);
  }
}

//! @brief The same on spans, which must be of one size on a rank.
template <class Choice, detail::RunTimeCount Size = detail::AnyCount, DeviceTransport Transport, class T,
          class Op = detail::operation_of_t<Choice>, class E = Identity>
[[nodiscard]] Result<void> all_reduce(Communicator<Transport> const& communicator, std::span<T const> in,
                                      std::span<T> out, cudaStream_t stream, Op operation = {},
                                      E const& epilogue = {}, CudaGeometry const& geometry = {}) {
  if (in.size() != out.size()) {
    auto& endpoint = communicator.endpoint();
    auto const me = static_cast<std::uint8_t>(endpoint.rank());
    return endpoint.fail({.code = Errc::bad_argument, .rank = me, .reporter = me})
        .error("all_reduce on spans of different sizes");
  }
  return all_reduce<Choice>(communicator, in.data(), out.data(), in.size(), stream, operation, epilogue, geometry);
}

//! @brief The same in place.
template <class Choice, detail::RunTimeCount Size = detail::AnyCount, DeviceTransport Transport, class T,
          class Op = detail::operation_of_t<Choice>, class E = Identity>
[[nodiscard]] Result<void> all_reduce(Communicator<Transport> const& communicator, std::span<T> in_and_out,
                                      cudaStream_t stream, Op operation = {}, E const& epilogue = {},
                                      CudaGeometry const& geometry = {}) {
  return all_reduce<Choice>(communicator, in_and_out.data(), in_and_out.data(), in_and_out.size(), stream, operation,
                            epilogue, geometry);
}

}  // namespace chevron

#endif
