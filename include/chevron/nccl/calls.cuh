// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef CHEVRON_NCCL_CALLS_CUH
#define CHEVRON_NCCL_CALLS_CUH

//! @file
//! Who does a call: chevron what was compiled, the real library everything else.

#include <chevron/nccl/communicator.cuh>
#include <chevron/nccl/errors.cuh>
#include <chevron/nccl/group.cuh>
#include <chevron/nccl/names.cuh>
#include <chevron/nccl/real_library.cuh>

#include <nccl.h>

#include <cstddef>
#include <cstring>
#include <optional>
#include <string>
#include <utility>

namespace chevron::nccl {

namespace detail {

//! @brief Calls a function of the real library; refuses where there is none.
//! @param is_of_group  whether a group that is open is to be open there as well
template <class Function, class Call>
[[nodiscard]] ncclResult_t call_real(char const* name, bool is_of_group, Call&& call) {
  RealLibrary const& real = RealLibrary::get();
  Group& group = Group::of_this_thread();
  auto* const function = real.find<Function>(name);
  if (function == nullptr) {
    return group.refuse(fail(ncclInvalidUsage,
                             std::string("chevron: ") + name + " is not chevron's, and there is no NCCL for it: " +
                                 (real.is_here() ? real.file() + " has no such function" : real.reason())));
  }
  if (is_of_group && !InsideReal::now()) {
    log_call(name, "", "NCCL");
    if (ncclResult_t const opened = group.open_real(); opened != ncclSuccess) return opened;
  }
  InsideReal const inside;
  return std::forward<Call>(call)(function);
}

}  // namespace detail

//! @brief Lets the real library do a call that has no communicator.
//! @tparam Function  the function's type
//! @param call  given the real function
template <class Function, class Call>
[[nodiscard]] ncclResult_t on_real_alone(char const* name, Call&& call) {
  return detail::call_real<Function>(name, false, std::forward<Call>(call));
}

//! @brief Lets the real library do a call on a communicator, its own or the twin of one of chevron's.
//! @param call  given the real function and the communicator there
template <class Function, class Call>
[[nodiscard]] ncclResult_t on_real(char const* name, ncclComm_t comm, Call&& call) {
  Group& group = Group::of_this_thread();
  if (comm == nullptr) {
    return group.refuse(fail(ncclInvalidArgument, std::string("chevron: ") + name + ": the ncclComm_t is null"));
  }
  if (is_ours(comm)) {
    if (comm->real == nullptr) {
      return group.refuse(fail(ncclInvalidUsage, std::string("chevron: ") + name +
                                                     " is not chevron's, and there is no NCCL for it: " +
                                                     comm->why_no_real));
    }
    comm = comm->real;
  }
  return detail::call_real<Function>(name, true, [&](auto* function) { return call(function, comm); });
}

//! @brief The made operation that a number stands for; null for NCCL's own and for others.
[[nodiscard]] inline PreMulSum const* made_operation(ncclComm const& comm, ncclRedOp_t operation) {
  auto const index = static_cast<std::size_t>(operation) - static_cast<std::size_t>(ncclNumOps);
  if (operation < ncclNumOps || index >= comm.operations.size() || !comm.operations[index]) return nullptr;
  return &*comm.operations[index];
}

//! @brief The same operation in the real library.
[[nodiscard]] inline ncclRedOp_t real_operation(ncclComm_t comm, ncclRedOp_t operation) {
  if (!is_ours(comm)) return operation;
  PreMulSum const* const made = made_operation(*comm, operation);
  return made != nullptr && made->real ? *made->real : operation;
}

//! @brief One rank's all-reduce on a communicator of chevron, whose arguments are sound.
[[nodiscard]] inline ncclResult_t all_reduce_here(ncclComm& comm, void const* in, void* out, std::size_t count,
                                                  ncclDataType_t type, ncclRedOp_t operation,
                                                  std::optional<Factor> const& factor, cudaStream_t stream) {
  if (factor) {
    if (auto done = comm.member->multiply(in, out, count, type, *factor, stream); !done) return fail(done.error());
    in = out;
    operation = ncclSum;
  }
  return code_of(comm.member->all_reduce(in, out, count, type, operation, stream));
}

//! @brief ncclAllReduce.
[[nodiscard]] inline ncclResult_t all_reduce(void const* in, void* out, std::size_t count, ncclDataType_t type,
                                             ncclRedOp_t operation, ncclComm_t comm, cudaStream_t stream) {
  auto const by_real = [&] {
    return on_real<decltype(ncclAllReduce)>("ncclAllReduce", comm, [&](auto* function, ncclComm_t real) {
      return function(in, out, count, type, real_operation(comm, operation), real, stream);
    });
  };
  if (!is_ours(comm)) return by_real();
  Group& group = Group::of_this_thread();
  auto const refuse = [&](std::string const& why) {
    return group.refuse(fail(ncclInvalidArgument, "chevron: ncclAllReduce: " + why));
  };
  PreMulSum const* const made = made_operation(*comm, operation);
  if (size_of(type) == 0) return refuse("the data type is " + std::to_string(type));
  if (operation >= ncclNumOps && made == nullptr) return refuse("the operation was never made, or is destroyed");
  if (made != nullptr && made->type != type) return refuse("the operation was made for another data type");
  if (!comm->member->can(type, made != nullptr ? ncclSum : operation)) return by_real();
  if (Settings::get().log) {
    log_call("ncclAllReduce",
             std::to_string(count) + " " + name_of(type) + " " + name_of(operation) + ", rank " +
                 std::to_string(comm->rank) + " of " + std::to_string(comm->ranks),
             "chevron");
  }
  std::optional<Factor> const factor = made != nullptr ? std::optional(made->factor) : std::nullopt;
  if (!group.is_open()) return all_reduce_here(*comm, in, out, count, type, operation, factor, stream);
  return group.call(
      [=] { return all_reduce_here(*comm, in, out, count, type, operation, factor, stream); });
}

//! @brief ncclRedOpCreatePreMulSum, with a twin in the real library where there is one.
[[nodiscard]] inline ncclResult_t make_operation(ncclRedOp_t* operation, void* scalar, ncclDataType_t type,
                                                 ncclScalarResidence_t residence, ncclComm_t comm) {
  if (operation == nullptr || scalar == nullptr || size_of(type) == 0) {
    return fail(ncclInvalidArgument, "chevron: ncclRedOpCreatePreMulSum: a null pointer, or no data type");
  }
  PreMulSum made{.type = type};
  if (residence == ncclScalarHostImmediate) {
    std::memcpy(&made.factor.bits, scalar, size_of(type));
  } else {
    made.factor.on_device = scalar;
  }
  if (comm->real != nullptr) {
    ncclRedOp_t twin{};
    ncclResult_t const twinned =
        on_real<decltype(ncclRedOpCreatePreMulSum)>("ncclRedOpCreatePreMulSum", comm, [&](auto* function, auto real) {
          return function(&twin, scalar, type, residence, real);
        });
    if (twinned == ncclSuccess) made.real = twin;
  }
  std::size_t index = 0;
  while (index < comm->operations.size() && comm->operations[index]) ++index;
  if (index == comm->operations.size()) comm->operations.emplace_back();
  comm->operations[index] = made;
  *operation = static_cast<ncclRedOp_t>(static_cast<std::size_t>(ncclNumOps) + index);
  return ncclSuccess;
}

//! @brief ncclRedOpDestroy.
[[nodiscard]] inline ncclResult_t destroy_operation(ncclRedOp_t operation, ncclComm_t comm) {
  PreMulSum const* const made = made_operation(*comm, operation);
  if (made == nullptr) {
    return fail(ncclInvalidArgument, "chevron: ncclRedOpDestroy: no operation of this communicator");
  }
  if (made->real) {
    (void)on_real<decltype(ncclRedOpDestroy)>("ncclRedOpDestroy", comm, [&](auto* function, auto real) {
      return function(*made->real, real);
    });
  }
  comm->operations[static_cast<std::size_t>(operation) - static_cast<std::size_t>(ncclNumOps)].reset();
  return ncclSuccess;
}

}  // namespace chevron::nccl

#endif
