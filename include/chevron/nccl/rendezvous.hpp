// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef CHEVRON_NCCL_RENDEZVOUS_HPP
#define CHEVRON_NCCL_RENDEZVOUS_HPP

//! @file
//! Ranks that are threads of one process become a group: the last one that comes makes it for all.

#include <chevron/core/error.hpp>
#include <chevron/core/result.hpp>

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace chevron::nccl {

//! @brief Where the ranks of a process meet, each group under a name of its own.
//! @tparam Given  what a rank brings
//! @tparam Taken  what it gets; movable
template <class Given, class Taken>
class Rendezvous {
 public:
  //! @brief Gives every rank its part of what `make` makes of everybody's contribution.
  //! @param make  called once, with what the ranks bring, in rank order: Result<std::vector<Taken>>
  //! Errors: timeout, naming the first rank that did not come; duplicate_rank; those of `make`, on every rank
  template <class Make>
  [[nodiscard]] Result<Taken> meet(std::string const& name, int rank, int ranks, Given given,
                                   std::chrono::milliseconds deadline, Make&& make) {
    std::unique_lock lock(mutex_);
    std::shared_ptr<Table>& place = tables_[name];
    if (place == nullptr) place = std::make_shared<Table>(static_cast<std::size_t>(ranks));
    std::shared_ptr<Table> const table = place;
    std::optional<Given>& mine = table->given[static_cast<std::size_t>(rank)];
    if (mine) return error(Errc::duplicate_rank, rank);
    mine = std::move(given);
    if (++table->here == ranks) {
      tables_.erase(name);
      std::vector<Given> all;
      for (std::optional<Given>& each : table->given) all.push_back(std::move(*each));
      lock.unlock();
      auto made = make(all);
      lock.lock();
      if (made) {
        for (Taken& each : *made) table->taken.push_back(std::move(each));
      } else {
        table->failed = made.error();
      }
      table->done = true;
      came_.notify_all();
    } else if (!came_.wait_for(lock, deadline, [&] { return table->done; })) {
      int missing = 0;
      while (missing + 1 < ranks && table->given[static_cast<std::size_t>(missing)]) ++missing;
      table->failed = error(Errc::timeout, missing);
      table->done = true;
      tables_.erase(name);
      came_.notify_all();
    }
    if (table->failed) return *table->failed;
    return std::move(table->taken[static_cast<std::size_t>(rank)]);
  }

 private:
  struct Table {
    explicit Table(std::size_t ranks) : given(ranks) {}
    std::vector<std::optional<Given>> given;
    std::vector<Taken> taken{};
    int here = 0;
    bool done = false;
    std::optional<Error> failed{};
  };

  [[nodiscard]] static Error error(Errc code, int rank) {
    return {.code = code, .rank = static_cast<std::int16_t>(rank), .during = "joining"};
  }

  std::mutex mutex_{};
  std::condition_variable came_{};
  std::map<std::string, std::shared_ptr<Table>> tables_{};
};

}  // namespace chevron::nccl

#endif
