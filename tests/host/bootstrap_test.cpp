// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a bootstrap is, and that all ranks of one get the same key through it.
#include <chevron/host/bootstrap/concept.hpp>

#include <support/catch.hpp>

#include <algorithm>
#include <array>
#include <barrier>
#include <cstddef>
#include <optional>
#include <thread>
#include <vector>

namespace {

using namespace chevron;

constexpr int ranks = 3;
struct Board {
  std::array<std::byte, 256> bytes{};
  std::barrier<> barrier{ranks};
};

//! Ranks that are threads.
class ThreadBootstrap {
 public:
  ThreadBootstrap(Board& board, int rank) : board_(board), rank_(rank) {}
  [[nodiscard]] int rank() const { return rank_; }
  [[nodiscard]] int size() const { return ranks; }
  [[nodiscard]] Result<void> all_gather(std::byte const* mine, std::byte* all, std::size_t size_bytes) {
    std::copy_n(mine, size_bytes, board_.bytes.data() + static_cast<std::size_t>(rank_) * size_bytes);
    board_.barrier.arrive_and_wait();
    std::copy_n(board_.bytes.data(), ranks * size_bytes, all);
    return {};
  }

 private:
  Board& board_;
  int rank_;
};

struct LostBootstrap {
  int rank() const { return 0; }
  int size() const { return 2; }
  Result<void> all_gather(std::byte const*, std::byte*, std::size_t) {
    return Error{.code = Errc::peer_died, .rank = 1};
  }
};

struct WithoutSize {
  int rank() const;
  Result<void> all_gather(std::byte const*, std::byte*, std::size_t);
};
struct WithoutResult {
  int rank() const;
  int size() const;
  void all_gather(std::byte const*, std::byte*, std::size_t);
};
struct WithoutExchange {
  int rank() const;
  int size() const;
};

static_assert(Bootstrap<ThreadBootstrap>);
static_assert(Bootstrap<LostBootstrap>);
static_assert(!Bootstrap<WithoutSize>);
static_assert(!Bootstrap<WithoutResult>);
static_assert(!Bootstrap<WithoutExchange>);
static_assert(!Bootstrap<int>);

TEST_CASE("all ranks of a bootstrap get one key") {
  Board board;
  std::array<std::optional<SharedMemoryKey>, ranks> keys;
  std::vector<std::thread> threads;
  for (int rank = 0; rank < ranks; ++rank) {
    threads.emplace_back([&, rank] {
      ThreadBootstrap bootstrap(board, rank);
      auto const key = share_key(bootstrap);
      if (key) keys[static_cast<std::size_t>(rank)] = *key;
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (auto const& key : keys) {
    REQUIRE(key.has_value());
    REQUIRE(*key == *keys[0]);
    REQUIRE(key->text() != SharedMemoryKey().text());
  }
}

TEST_CASE("an error of the bootstrap's is the result") {
  LostBootstrap bootstrap;
  auto const key = share_key(bootstrap);
  REQUIRE(!key);
  REQUIRE(key.error().code == Errc::peer_died);
  REQUIRE(key.error().rank == 1);
}

}  // namespace
