// Two processes are two ranks. They find each other by a key, and share memory that has no name anywhere.
//
// Started without arguments it draws a key, prints it and forks the other rank. Started as `02_two_processes
// 1 KEY` it is rank 1 of the group of that key: a second terminal will do.
#include <chevron/chevron.hpp>

#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

using Selector = chevron::Selector<chevron::tables::Host, chevron::RankCounts<2>, chevron::Elements<float>>;

int complain(chevron::Error const& error) {
  std::fprintf(stderr, "%s\n", error.message().c_str());
  return EXIT_FAILURE;
}

int work(int rank, chevron::SharedMemoryKey key) {
  chevron::HostSharedMemory<2> group(key);
  auto communicator = group.join<Selector>(rank);
  if (!communicator) return complain(communicator.error());

  // A window: memory that the other process reaches as well, so that nothing is copied on the way.
  auto window = communicator->allocate<float>(1 << 20);
  if (!window) return complain(window.error());
  for (std::size_t i = 0; i < window->size(); ++i)
    (*window)[i] = static_cast<float>(i % 100 + (rank == 0 ? 0 : 1000));

  auto done = chevron::all_reduce<Selector>(*communicator, window->span());
  if (!done) return complain(done.error());

  std::printf("rank %d, process %d: sum of element 42 is %g\n", rank, static_cast<int>(getpid()),
              static_cast<double>((*window)[42]));
  std::fflush(stdout);
  return EXIT_SUCCESS;
}

int main(int argc, char** argv) {
  if (argc == 3) {
    auto key = chevron::SharedMemoryKey::parse(argv[2]);
    return key ? work(std::atoi(argv[1]), *key) : complain(key.error());
  }
  auto const key = chevron::SharedMemoryKey::random();
  std::printf("the key of this group: %s\n", key.text().c_str());
  std::fflush(stdout);
  pid_t const other = fork();
  if (other == 0) _exit(work(1, key));
  int const mine = work(0, key);
  int theirs = EXIT_FAILURE;
  waitpid(other, &theirs, 0);
  return mine == EXIT_SUCCESS && theirs == EXIT_SUCCESS ? EXIT_SUCCESS : EXIT_FAILURE;
}
