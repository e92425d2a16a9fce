// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The ranks of an MPI communicator get one key. Alone, and under mpiexec with any number of processes.
#include <chevron/host/bootstrap/mpi.hpp>

#include <mpi.h>

#include <cstdio>
#include <vector>

namespace {

//! Whether all ranks have the same key; collective.
bool is_shared(chevron::SharedMemoryKey const& key, chevron::MpiBootstrap const& ranks) {
  auto const mine = key.bytes();
  std::vector<chevron::SharedMemoryKey::Bytes> all(static_cast<std::size_t>(ranks.size()));
  int const count = static_cast<int>(mine.size());
  MPI_Allgather(mine.data(), count, MPI_BYTE, all.data(), count, MPI_BYTE, MPI_COMM_WORLD);
  for (auto const& other : all) {
    if (other != mine) return false;
  }
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  chevron::MpiBootstrap ranks(MPI_COMM_WORLD);
  auto const key = chevron::share_key(ranks);
  bool const good = key && is_shared(*key, ranks);
  std::printf("rank %d of %d: %s\n", ranks.rank(), ranks.size(),
              good ? "all have one key" : "the keys differ");
  MPI_Finalize();
  return good ? 0 : 1;
}
