// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! @file
//! MPI_Allreduce as a peer of chevron-perf. One process per rank, started by the MPI library's own mpirun:
//! `mpirun -n N chevron-perf-peer-... --control SOCKET`.

#include <mpi.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <functional>
#include <map>
#include <string>

#include <peers/peer_rank.hpp>
#include <perf/rank/batches.hpp>
#include <perf/rank/buffer.hpp>
#include <perf/rank/serve.hpp>

namespace {

class MpiRank {
 public:
  perf::Answer operator()(perf::Task const& task) {
    static std::map<std::string, MPI_Op> const ops = {
        {"sum", MPI_SUM}, {"prod", MPI_PROD}, {"min", MPI_MIN}, {"max", MPI_MAX}};
    auto const op = ops.find(task.op);
    if (op == ops.end()) return perf::Answer::failure("no such op in MPI: " + task.op);
    if (task.kind != perf::Task::Kind::measure) return perf::Answer::failure("only measures");
    perf::Answer answer;
    bool const known = peers::visit_element(
        task.element, [&](auto zero) { answer = measure<decltype(zero)>(task, op->second); });
    return known ? answer : perf::Answer::failure("no such element in MPI: " + task.element);
  }

 private:
  template <class T>
  perf::Answer measure(perf::Task const& task, MPI_Op op) {
    auto const count = task.bytes / sizeof(T);
    T* const in = in_.elements<T>(count);
    T* const out = task.in_place ? in : out_.elements<T>(count);
    std::fill_n(out, count, T{});
    std::fill_n(in, count, static_cast<T>(perf::timed_value(task)));
    void const* const from = task.in_place ? MPI_IN_PLACE : in;
    MPI_Datatype const type = type_of(T{});
    return {.seconds = perf::time_batches(
                task, [] { MPI_Barrier(MPI_COMM_WORLD); },
                [&] { MPI_Allreduce(from, out, static_cast<int>(count), type, op, MPI_COMM_WORLD); })};
  }

  static MPI_Datatype type_of(float) { return MPI_FLOAT; }
  static MPI_Datatype type_of(double) { return MPI_DOUBLE; }
  static MPI_Datatype type_of(std::int8_t) { return MPI_INT8_T; }
  static MPI_Datatype type_of(std::uint8_t) { return MPI_UINT8_T; }
  static MPI_Datatype type_of(std::int32_t) { return MPI_INT32_T; }
  static MPI_Datatype type_of(std::uint32_t) { return MPI_UINT32_T; }
  static MPI_Datatype type_of(std::int64_t) { return MPI_INT64_T; }
  static MPI_Datatype type_of(std::uint64_t) { return MPI_UINT64_T; }

  perf::Buffer in_, out_;
};

std::string library_version() {
  char text[MPI_MAX_LIBRARY_VERSION_STRING] = {};
  int length = 0;
  MPI_Get_library_version(text, &length);
  // "Open MPI v4.1.4, package: ..." or "MPICH Version:<tab>4.0.2<newline>..."
  std::string first(text, std::strcspn(text, ",\n"));
  std::replace(first.begin(), first.end(), '\t', ' ');
  if (auto const word = first.find(" Version:"); word != std::string::npos)
    first.erase(word, std::strlen(" Version:"));
  return first;
}

bool sums_are_right(int rank, int rank_count) {
  auto values = peers::trial_input(rank);
  MPI_Allreduce(MPI_IN_PLACE, values.data(), static_cast<int>(values.size()), MPI_FLOAT, MPI_SUM,
                MPI_COMM_WORLD);
  return peers::is_right_sum(values, rank_count);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3 || std::strcmp(argv[1], "--control") != 0) {
    std::fprintf(stderr, "usage: %s --control SOCKET (chevron-perf starts this program)\n", argv[0]);
    return 2;
  }
  MPI_Init(&argc, &argv);
  int rank = 0;
  int rank_count = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &rank_count);
  auto channel = perf::Channel::connect(argv[2]);
  if (!channel || !sums_are_right(rank, rank_count)) MPI_Abort(MPI_COMM_WORLD, 1);
  channel->write_line(perf::hello(rank, library_version()));
  MpiRank self;
  perf::serve(*channel, std::ref(self));
  MPI_Finalize();
  return 0;
}
