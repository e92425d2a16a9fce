// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef CHEVRON_TRANSPORT_HOST_THREADS_HPP
#define CHEVRON_TRANSPORT_HOST_THREADS_HPP

//! @file
//! Ranks that are threads of one process: the embedded default. All memory is in reach of all ranks, so every
//! pointer lies in a window.

#include <chevron/core/rank.hpp>
#include <chevron/core/result.hpp>
#include <chevron/host/communicator.hpp>
#include <chevron/host/cpu.hpp>
#include <chevron/host/memory.hpp>
#include <chevron/host/options.hpp>
#include <chevron/transport/concept.hpp>
#include <chevron/transport/host_endpoint.hpp>
#include <chevron/transport/host_lane.hpp>
#include <chevron/transport/joining.hpp>

#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

namespace chevron {

namespace detail {

//! @brief The ranks of a process that are about to form a group: who has come, and what they agreed on.
struct Gathering {
  Configuration configuration{};
  std::vector<MappedMemory> segments{};
  CpuSet cpus{};           //!< where the ranks may run, all together
  std::uint32_t here = 0;  //!< one bit per rank
  int count = 0;
  std::optional<Error> error{};
};

//! @brief The end of a rank whose peers are threads: it shares the gathering's memory and keeps it alive.
class ThreadEndpoint final : public HostEndpoint {
 public:
  ThreadEndpoint(int rank, int ranks, Options const& options, std::shared_ptr<Gathering> gathering)
      : HostEndpoint(rank, ranks, options), gathering_(std::move(gathering)) {
    one_address_space_ = true;
    budget_ = wait_budget_for(ranks * options.lanes, gathering_->cpus);
    windows_.emplace_back();
    for (int peer = 0; peer < ranks; ++peer) {
      segments_[peer].base = gathering_->segments[static_cast<std::size_t>(peer)].data();
    }
  }

  Result<std::uint32_t> allocate(std::size_t size_bytes) override {
    Result<MappedMemory> memory = MappedMemory::of_process(size_bytes);
    if (!memory) return memory.error();
    WindowMapping mapping;
    mapping.base[rank()] = memory->data();
    mapping.size_bytes[rank()] = size_bytes;
    windows_.push_back(mapping);
    memory_.push_back(std::move(*memory));
    return static_cast<std::uint32_t>(windows_.size() - 1);
  }

  void release(std::uint32_t window) override {
    windows_[window].freed = true;
    memory_[window - 1] = {};
  }

 private:
  std::shared_ptr<Gathering> gathering_;
  std::vector<MappedMemory> memory_{};  //!< of window i + 1
};

}  // namespace detail

//! @brief A group of `NRanks` threads of this process.
//!
//! One object, shared by the threads of the ranks and kept until all have joined. After all have joined, it
//! may be joined anew, which forms another group.
//! @tparam NRanks  1 to 32
template <int NRanks>
class HostThreads {
  static_assert(
      RankCountInRange<NRanks>,
      "chevron: a rank count must be 1 to 32; got another for HostThreads; see chevron/core/rank.hpp");

 public:
  using Endpoint = HostEndpoint;
  template <class Access = HostAccess>
  using Lane = HostLane<NRanks, Access>;

  static constexpr int ranks = NRanks;
  static constexpr char const* name = "host_threads";
  static constexpr MemorySpace memory_space = MemorySpace::host;
  static constexpr bool every_pointer_is_in_a_window = true;
  static constexpr Requirements offers = HostLane<NRanks>::offers;

  //! @brief Makes the calling thread a rank.
  //! @tparam Selectors  the selectors that calls will use; the ranks compare them
  //! Sync:   returns when all ranks have joined
  //! Errors: bad_argument, duplicate_rank, timeout (naming a rank that did not come), the configuration's
  //! mismatches
  template <class... Selectors>
  [[nodiscard]] Result<Communicator<HostThreads>> join(int rank, Options const& options = {}) {
    if (auto error = check(options, rank, NRanks)) return *error;
    auto const configuration = Configuration::of(NRanks, options, fingerprint_of<Selectors...>());
    auto const cpus = detail::settle_on_cpus(rank, options);
    if (!cpus) return cpus.error();
    auto gathering = gather(rank, configuration, *cpus, options);
    if (!gathering) return gathering.error();
    return Communicator<HostThreads>(
        std::make_shared<detail::ThreadEndpoint>(rank, NRanks, options, std::move(*gathering)));
  }

 private:
  Result<std::shared_ptr<detail::Gathering>> gather(int rank, Configuration const& configuration,
                                                    CpuSet const& cpus, Options const& options) {
    std::unique_lock lock(mutex_);
    if (!open_) {
      auto fresh = std::make_shared<detail::Gathering>();
      fresh->configuration = configuration;
      SegmentLayout const layout(NRanks, options.lanes, options.packet_bytes, options.chunk_bytes);
      for (int i = 0; i < NRanks; ++i) {
        auto segment = MappedMemory::of_process(layout.segment_bytes());
        if (!segment) return segment.error();
        fresh->segments.push_back(std::move(*segment));
      }
      open_ = std::move(fresh);
    }
    std::shared_ptr<detail::Gathering> mine = open_;
    auto const refuse = [&](Errc code, int culprit) {
      mine->error = Error{.code = code,
                          .rank = static_cast<std::int16_t>(culprit),
                          .reporter = static_cast<std::int16_t>(rank),
                          .during = "joining"};
      open_.reset();
      changed_.notify_all();
    };
    if (Errc const difference = mine->configuration.difference(configuration); difference != Errc::ok) {
      refuse(difference, rank);
    } else if ((mine->here >> rank & 1u) != 0) {
      refuse(Errc::duplicate_rank, rank);
    } else {
      mine->here |= 1u << rank;
      mine->cpus.add(cpus);
      if (++mine->count == NRanks) {
        open_.reset();
        changed_.notify_all();
      }
    }
    auto const settled = [&] { return mine->error || mine->count == NRanks; };
    if (!changed_.wait_for(lock, options.deadline, settled)) {
      int missing = 0;
      while ((mine->here >> missing & 1u) != 0) ++missing;
      refuse(Errc::timeout, missing);
    }
    if (mine->error) return *mine->error;
    return mine;
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::shared_ptr<detail::Gathering> open_;  //!< the ranks that wait for the others
};

}  // namespace chevron

#endif
