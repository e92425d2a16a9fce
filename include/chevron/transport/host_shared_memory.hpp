// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef CHEVRON_TRANSPORT_HOST_SHARED_MEMORY_HPP
#define CHEVRON_TRANSPORT_HOST_SHARED_MEMORY_HPP

//! @file
//! Ranks that are processes of one host and one user. Windows are shared memory without a name; buffers
//! outside windows go through the mailboxes.

#include <chevron/core/rank.hpp>
#include <chevron/core/result.hpp>
#include <chevron/host/bootstrap/key.hpp>
#include <chevron/host/bootstrap/processes.hpp>
#include <chevron/host/communicator.hpp>
#include <chevron/host/memory.hpp>
#include <chevron/host/options.hpp>
#include <chevron/transport/concept.hpp>
#include <chevron/transport/host_endpoint.hpp>
#include <chevron/transport/host_lane.hpp>
#include <chevron/transport/joining.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

namespace chevron {

namespace detail {

//! @brief The end of a rank whose peers are processes: it maps everybody's segments and windows.
class ProcessEndpoint final : public HostEndpoint {
 public:
  ProcessEndpoint(int rank, int ranks, Options const& options, Processes processes)
      : HostEndpoint(rank, ranks, options), processes_(std::move(processes)) {
    CpuSet cpus;
    for (int peer = 0; peer < ranks; ++peer) cpus.add(processes_.hello(peer).cpus);
    budget_ = wait_budget_for(ranks * options.lanes, cpus);
  }

  //! Collective: makes this rank's segment and maps everybody's.
  [[nodiscard]] Result<void> set_up() {
    constexpr char const* during = "joining";
    auto shared = share(layout().segment_bytes(), during);
    if (!shared) return shared.error();
    for (int peer = 0; peer < ranks(); ++peer) segments_[peer].base = shared->mapping.base[peer];
    segment_memory_ = std::move(shared->memory);
    auto agreed = processes_.agree(shared->failed, during);
    if (!agreed && !shared->failed) tell_who_went_on(agreed.error());
    return agreed;
  }

  Result<std::uint32_t> allocate(std::size_t size_bytes) override {
    constexpr char const* during = "allocating a window";
    auto shared = share(size_bytes, during);
    auto agreed = shared ? processes_.agree(shared->failed, during) : Result<void>(shared.error());
    if (!agreed) {
      tell_who_went_on(agreed.error());
      return agreed.error();
    }
    windows_.push_back(shared->mapping);
    window_memory_.push_back(std::move(shared->memory));
    return static_cast<std::uint32_t>(windows_.size() - 1);
  }

  void release(std::uint32_t window) override {
    windows_[window].freed = true;
    window_memory_[window].clear();
  }

  [[nodiscard]] bool has_ended(int peer) override { return processes_.has_ended(peer); }

 private:
  struct Shared {
    WindowMapping mapping{};
    std::vector<MappedMemory> memory{};
    std::optional<Error> failed{};  //!< why this rank could not map it all
  };

  //! Collective: new shared memory of each rank's size, mapped by all. It is there once all ranks agree that it is.
  [[nodiscard]] Result<Shared> share(std::size_t size_bytes, char const* during) {
    Result<OwnedFd> const mine = shared_memory(size_bytes);
    std::optional<Error> failed;
    if (!mine) failed = mine.error();
    if (auto agreed = processes_.agree(failed, during); !agreed) return agreed.error();
    auto all = processes_.all_gather(std::uint64_t{size_bytes}, mine->get(), during);
    if (!all) return all.error();
    Shared shared;
    for (int peer = 0; peer < ranks() && !shared.failed; ++peer) {
      auto const size = static_cast<std::size_t>(all->messages[peer]);
      auto mapped = MappedMemory::of_file(all->descriptors[static_cast<std::size_t>(peer)], size);
      if (!mapped) {
        shared.failed = mapped.error();
        break;
      }
      shared.mapping.base[peer] = mapped->data();
      shared.mapping.size_bytes[peer] = size;
      shared.memory.push_back(std::move(*mapped));
    }
    return shared;
  }

  //! A rank that got lost may have been heard by some before: these have gone on, into a call, and learn of it there.
  void tell_who_went_on(Error const& error) {
    if (error.code != Errc::peer_died && error.code != Errc::timeout) return;
    fail<HostAccess>({.code = error.code,
                      .rank = static_cast<std::uint8_t>(error.rank),
                      .reporter = static_cast<std::uint8_t>(rank())});
  }

  Processes processes_;
  std::vector<MappedMemory> segment_memory_{};
  std::vector<std::vector<MappedMemory>> window_memory_{};
};

}  // namespace detail

//! @brief A group of `NRanks` processes, found by a key that they share.
//!
//! Nothing has a name in any file system, so nothing is left behind after any exit; a process of another user
//! is not let in; a rank whose process ends is noticed by the others while they wait for it.
//! @tparam NRanks  1 to 32
template <int NRanks>
class HostSharedMemory {
  static_assert(
      RankCountInRange<NRanks>,
      "chevron: a rank count must be 1 to 32; got another for HostSharedMemory; see chevron/core/rank.hpp");

 public:
  using Endpoint = HostEndpoint;
  template <class Access = HostAccess>
  using Lane = HostLane<NRanks, Access>;

  static constexpr int ranks = NRanks;
  static constexpr char const* name = "host_shared_memory";
  static constexpr MemorySpace memory_space = MemorySpace::host;
  static constexpr bool every_pointer_is_in_a_window = false;
  static constexpr Requirements offers = HostLane<NRanks>::offers;

  explicit HostSharedMemory(SharedMemoryKey key) : key_(key) {}

  //! @brief Makes this process a rank.
  //! @tparam Selectors  the selectors that calls will use; the ranks compare them
  //! Sync:   returns when all ranks have joined
  //! Errors: bad_argument, duplicate_rank, wrong_user, timeout (naming a rank that did not come), peer_died,
  //! no_memory,
  //!         the configuration's mismatches
  template <class... Selectors>
  [[nodiscard]] Result<Communicator<HostSharedMemory>> join(int rank, Options const& options = {}) const {
    if (auto error = check(options, rank, NRanks)) return *error;
    auto const cpus = detail::settle_on_cpus(rank, options);
    if (!cpus) return cpus.error();
    auto const configuration = Configuration::of(NRanks, options, fingerprint_of<Selectors...>());
    auto processes = Processes::meet(key_, {.configuration = configuration, .cpus = *cpus, .rank = rank},
                                     options.deadline);
    if (!processes) return processes.error();
    auto endpoint = std::make_shared<detail::ProcessEndpoint>(rank, NRanks, options, std::move(*processes));
    if (auto ready = endpoint->set_up(); !ready) return ready.error();
    return Communicator<HostSharedMemory>(std::move(endpoint));
  }

 private:
  SharedMemoryKey key_;
};

}  // namespace chevron

#endif
