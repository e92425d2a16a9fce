// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef CHEVRON_HOST_BOOTSTRAP_MPI_HPP
#define CHEVRON_HOST_BOOTSTRAP_MPI_HPP

//! @file
//! The ranks of an MPI communicator. Only who uses MPI includes this; nothing else of chevron does.

#include <chevron/core/error.hpp>
#include <chevron/core/result.hpp>
#include <chevron/host/bootstrap/concept.hpp>

#include <mpi.h>

#include <cstddef>

namespace chevron {

//! @brief Processes that mpiexec has started. MPI must be initialised, and the communicator must outlive this.
//!
//! Errors: system where MPI returns one (it ends the program instead, unless its error handler is MPI_ERRORS_RETURN)
class MpiBootstrap {
 public:
  explicit MpiBootstrap(MPI_Comm communicator) : communicator_(communicator) {
    (void)MPI_Comm_rank(communicator, &rank_);
    (void)MPI_Comm_size(communicator, &size_);
  }

  [[nodiscard]] int rank() const { return rank_; }
  [[nodiscard]] int size() const { return size_; }

  [[nodiscard]] Result<void> all_gather(std::byte const* mine, std::byte* all, std::size_t size_bytes) const {
    int const count = static_cast<int>(size_bytes);
    if (MPI_Allgather(mine, count, MPI_BYTE, all, count, MPI_BYTE, communicator_) == MPI_SUCCESS) return {};
    return Error{.code = Errc::system,
                 .rank = static_cast<std::int16_t>(rank_),
                 .during = "meeting over MPI",
                 .detail = "MPI_Allgather failed"};
  }

 private:
  MPI_Comm communicator_;
  int rank_ = 0;
  int size_ = 1;
};

static_assert(Bootstrap<MpiBootstrap>);

}  // namespace chevron

#endif
