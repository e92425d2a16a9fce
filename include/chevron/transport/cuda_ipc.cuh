// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef CHEVRON_TRANSPORT_CUDA_IPC_CUH
#define CHEVRON_TRANSPORT_CUDA_IPC_CUH

//! @file
//! Ranks that are processes, each with a device. Several ranks may have the same device.

#include <chevron/core/error.hpp>
#include <chevron/core/hash.hpp>
#include <chevron/core/rank.hpp>
#include <chevron/core/result.hpp>
#include <chevron/host/bootstrap/concept.hpp>
#include <chevron/host/bootstrap/key.hpp>
#include <chevron/host/bootstrap/processes.hpp>
#include <chevron/host/communicator.hpp>
#include <chevron/host/cuda_driver.cuh>
#include <chevron/host/cuda_result.cuh>
#include <chevron/host/options.hpp>
#include <chevron/transport/concept.hpp>
#include <chevron/transport/cuda_endpoint.cuh>
#include <chevron/transport/cuda_ipc_endpoint.cuh>
#include <chevron/transport/cuda_kernels.cuh>
#include <chevron/transport/cuda_lane.cuh>
#include <chevron/transport/cuda_residency.cuh>

#include <cuda_runtime.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

namespace chevron {

namespace detail {

//! @brief One number for what calls will use, as far as it has one: ranks compare it when they meet.
template <class Choice>
[[nodiscard]] consteval std::uint32_t fingerprint_of_choice() {
  if constexpr (requires { Choice::fingerprint(); }) {
    return Choice::fingerprint();
  } else if constexpr (requires { hash32(Choice::name); }) {
    return hash32(Choice::name);
  } else {
    return 0;
  }
}

//! @brief A device as its rank tells the others.
struct DeviceCard {
  char uuid[16] = {};
  std::uint32_t kernels = 0;  //!< that the rank will load

  [[nodiscard]] bool is_same_device(DeviceCard const& other) const {
    return std::memcmp(uuid, other.uuid, sizeof(uuid)) == 0;
  }
};

}  // namespace detail

//! @brief A group of `NRanks` processes that each have a device, found by a key that they share or through a bootstrap.
//!
//! Buffers in windows are used where they lie; others go through the mailboxes. Ranks that share a device should run under
//! CUDA MPS: without it their kernels take turns of milliseconds.
//! @tparam NRanks  2 to 32
//! @tparam Scope   thread_scope_system; or thread_scope_device, which is faster, for ranks that are all on one device
template <int NRanks, cuda::thread_scope Scope = cuda::thread_scope_system>
class CudaIpc {
  static_assert(RankCountInRange<NRanks>,
                "chevron: a rank count must be 1 to 32; got another for CudaIpc; see chevron/core/rank.hpp");

 public:
  using Endpoint = CudaEndpoint<NRanks>;
  static constexpr bool every_pointer_is_in_a_window = false;
  template <int PacksInFlight>
  using DeviceLane = CudaLane<NRanks, Scope, WindowReach::by_table, PacksInFlight>;

  static constexpr int ranks = NRanks;
  static constexpr char const* name = "cuda_ipc";
  static constexpr MemorySpace memory_space = MemorySpace::device;
  static constexpr Requirements offers = DeviceLane<1>::offers;

  explicit CudaIpc(SharedMemoryKey const& key) : key_(key) {}

  //! @brief Makes this process a rank.
  //! @tparam Choices  the selectors and algorithms that calls will use: their kernels are loaded now
  //! @param device    CUDA device number in this process
  //! Memory: device memory for mailboxes: lanes * NRanks * (6 * packet_bytes + 4 * chunk_bytes); the table of windows
  //! Sync:   returns when all ranks have joined and have reached each other's memory
  //! Errors: bad_argument, no_device, no_peer_access, not_resident, not_compiled_for_device, no_memory, duplicate_rank,
  //!         wrong_user, timeout (naming a
  //!         rank that did not come), peer_died, cuda, system, the configuration's mismatches
  template <class... Choices>
  [[nodiscard]] Result<Communicator<CudaIpc>> join(int rank, int device,
                                                   CudaOptions const& options = {}) const {
    static_assert(sizeof...(Choices) > 0,
                  "chevron: a communicator must be told which selectors and algorithms its calls will use; "
                  "got none; see "
                  "chevron/transport/cuda_ipc.cuh");
    constexpr char const* during = "joining";
    if (auto bad = check(options)) return *bad;
    if (rank < 0 || rank >= NRanks) {
      return Error{.code = Errc::bad_argument,
                   .rank = static_cast<std::int16_t>(rank),
                   .during = during,
                   .detail = "the rank must be 0 to the rank count - 1"};
    }
    std::uint32_t fingerprint = mix(0, static_cast<std::uint64_t>(Scope));
    ((fingerprint = mix(fingerprint, detail::fingerprint_of_choice<Choices>())), ...);
    auto processes = Processes::meet(
        key_, {.configuration = Configuration::of(NRanks, options, fingerprint), .rank = rank},
        options.deadline);
    if (!processes) return processes.error();

    detail::OutsideCapture const outside;
    std::vector<void const*> kernels;
    (detail::add_kernels<Choices, CudaIpc>(kernels), ...);
    auto const here = ranks_on(*processes, rank, device, kernels.size(), during);
    if (!here) return here.error();
    auto const driver = CudaDriver::load(during);
    if (auto agreed = detail::agree_in_full(*processes, detail::error_in(driver), rank, during); !agreed)
      return agreed.error();
    auto residency = agree_on_residency(*processes, rank, device, *here, kernels, options, during);
    if (!residency) return residency.error();
    // All ranks find this alike.
    if (auto bad = detail::not_compiled_for<CudaIpc, Choices...>(residency->architecture, during))
      return *bad;
    auto endpoint = std::make_shared<detail::IpcEndpoint<NRanks>>(
        rank, device, options, std::move(*residency), std::move(*processes), *driver);
    if (auto ready = endpoint->set_up(); !ready) return ready.error();
    auto const loaded = endpoint->load(kernels, during);
    if (auto joined = endpoint->finish_joining(detail::error_in(loaded)); !joined) return joined.error();
    return Communicator<CudaIpc>(std::move(endpoint));
  }

  //! @brief The same for ranks that know each other already.
  //! Errors: also those of the bootstrap; ranks_mismatch where it has another number of ranks
  template <class... Choices, Bootstrap Ranks>
  [[nodiscard]] static Result<Communicator<CudaIpc>> join(Ranks& ranks, int device,
                                                          CudaOptions const& options = {}) {
    if (ranks.size() != NRanks) {
      return Error{
          .code = Errc::ranks_mismatch, .rank = static_cast<std::int16_t>(ranks.rank()), .during = "joining"};
    }
    auto const key = share_key(ranks);
    if (!key) return key.error();
    return CudaIpc(*key).template join<Choices...>(ranks.rank(), device, options);
  }

 private:
  //! Collective: how many ranks this rank's device has.
  [[nodiscard]] static Result<int> ranks_on(Processes& processes, int rank, int device, std::size_t kernels,
                                            char const* during) {
    int count = 0;
    cudaDeviceProp properties{};
    auto known = cuda_result(cudaGetDeviceCount(&count), during);
    std::optional<Error> failed;
    if (!known || device < 0 || device >= count) {
      failed = Error{.code = Errc::no_device, .during = during};
    } else {
      failed = detail::error_in(cuda_result(cudaGetDeviceProperties(&properties, device), during));
    }
    if (auto agreed = detail::agree_in_full(processes, failed, rank, during); !agreed) return agreed.error();
    detail::DeviceCard mine;
    std::memcpy(mine.uuid, properties.uuid.bytes, sizeof(mine.uuid));
    mine.kernels = static_cast<std::uint32_t>(kernels);
    auto const cards = processes.all_gather(mine, -1, during);
    if (!cards) return cards.error();
    int here = 0;
    for (int peer = 0; peer < NRanks; ++peer) {
      detail::DeviceCard const& card = cards->messages[peer];
      auto const error = [&](Errc code, char const* detail) {
        return Error{.code = code,
                     .rank = static_cast<std::int16_t>(peer),
                     .reporter = static_cast<std::int16_t>(rank),
                     .during = during,
                     .detail = detail};
      };
      // These are found by all ranks alike.
      if (card.kernels != cards->messages[0].kernels) return error(Errc::table_mismatch, "");
      if (Scope == cuda::thread_scope_device && !card.is_same_device(cards->messages[0])) {
        return error(Errc::bad_argument, "thread_scope_device needs all ranks on one device");
      }
      if (card.is_same_device(mine)) ++here;
    }
    return here;
  }

  //! Collective: the lanes that every rank may have.
  [[nodiscard]] static Result<Residency> agree_on_residency(Processes& processes, int rank, int device,
                                                            int here, std::vector<void const*> const& kernels,
                                                            CudaOptions const& options, char const* during) {
    auto mine = residency_on(device, here, kernels, options, during);
    if (auto agreed = detail::agree_in_full(processes, detail::error_in(mine), rank, during); !agreed)
      return agreed.error();
    // A message has one size: the lanes of so many kernels.
    constexpr std::size_t at_once = 64;
    struct Message {
      std::array<std::int16_t, at_once> lanes;
      int early_lanes;
      int architecture;
    };
    Residency all = *mine;
    for (std::size_t begin = 0; begin < kernels.size(); begin += at_once) {
      std::size_t const size = std::min(at_once, kernels.size() - begin);
      Message message{{}, mine->early_lanes, mine->architecture};
      for (std::size_t i = 0; i < size; ++i)
        message.lanes[i] = static_cast<std::int16_t>(mine->lanes[begin + i]);
      auto const gathered = processes.all_gather(message, -1, during);
      if (!gathered) return gathered.error();
      for (int peer = 0; peer < NRanks; ++peer) {
        Message const& theirs = gathered->messages[peer];
        for (std::size_t i = 0; i < size; ++i)
          all.lanes[begin + i] = std::min(all.lanes[begin + i], int{theirs.lanes[i]});
        all.early_lanes = std::min(all.early_lanes, theirs.early_lanes);
        all.architecture = std::min(all.architecture, theirs.architecture);
      }
    }
    return all;
  }

  SharedMemoryKey key_;
};

}  // namespace chevron

#endif
