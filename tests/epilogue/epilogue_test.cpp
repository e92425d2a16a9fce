// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Epilogues in all algorithms: the same bits from each, and no index that is not one of the call's.
#include <chevron/chevron.hpp>

#include <support/catch.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <thread>
#include <type_traits>
#include <vector>

namespace {

using namespace chevron;
using Half = chevron::half;  // the CUDA Toolkit has a `half` of its own

// ---- what an epilogue is ---------------------------------------------------------------------------------

static_assert(ElementEpilogue<Identity, float> && ElementEpilogue<Identity, std::int64_t>);
static_assert(Identity{}(1.5f, 7) == 1.5f);

struct Doubling {
  float operator()(float value, std::size_t) const { return 2 * value; }
};
static_assert(ElementEpilogue<Doubling, float> && ElementEpilogue<Doubling, Half>,
              "half is reduced in float");
static_assert(!ElementEpilogue<Doubling, double>, "it would round to float");

struct NotConst {
  float operator()(float value, std::size_t) { return value; }
};
struct WithoutIndex {
  float operator()(float value) const { return value; }
};
struct GivesDouble {
  double operator()(float value, std::size_t) const { return value; }
};
struct OwnsMemory {
  std::string text{};
  float operator()(float value, std::size_t) const { return value; }
};
static_assert(!ElementEpilogue<NotConst, float> && !ElementEpilogue<WithoutIndex, float>);
static_assert(!ElementEpilogue<GivesDouble, float> && !ElementEpilogue<OwnsMemory, float>);

// ---- epilogues that tell where they were -----------------------------------------------------------------

//! Counts how often each index was asked for, and those beyond the call's.
struct Log {
  explicit Log(std::size_t count) : count_(count), times_(new std::atomic<int>[count + 1] {}) {}
  void note(std::size_t index) { (index < count_ ? times_[index] : beyond_) += 1; }
  [[nodiscard]] bool each(int times) const {
    for (std::size_t i = 0; i < count_; ++i) {
      if (times_[i] != times) return false;
    }
    return true;
  }
  [[nodiscard]] int beyond() const { return beyond_; }

 private:
  std::size_t count_;
  std::unique_ptr<std::atomic<int>[]> times_;
  std::atomic<int> beyond_{0};
};

//! Scales and shifts by the index, so that a value at a wrong place would show.
template <class T>
struct ByIndex {
  using Accumulator = accumulator_t<T>;
  Log* log = nullptr;
  Accumulator operator()(Accumulator value, std::size_t index) const {
    if (log != nullptr) log->note(index);
    return static_cast<Accumulator>(value * static_cast<Accumulator>(3) +
                                    static_cast<Accumulator>(index % 17));
  }
};

// ---- runs ------------------------------------------------------------------------------------------------

template <class T>
T input(int rank, std::size_t index) {
  auto const value = static_cast<int>((index * 37 + static_cast<std::size_t>(rank) * 11) % 23) - 11;
  return ElementTraits<T>::narrow(static_cast<accumulator_t<T>>(value));
}

template <class T, class E>
std::vector<T> reference(int ranks, std::size_t count, E const& epilogue) {
  std::vector<T> wanted(count);
  for (std::size_t i = 0; i < count; ++i) {
    auto sum = ElementTraits<T>::widen(input<T>(0, i));
    for (int rank = 1; rank < ranks; ++rank) {
      sum = Sum::combine(sum, ElementTraits<T>::widen(input<T>(rank, i)));
    }
    wanted[i] = ElementTraits<T>::narrow(epilogue(sum, i));
  }
  return wanted;
}

//! Mailboxes so small that calls take several packets, steps and chunks.
Options options_for(int lanes) {
  Options options;
  options.lanes = lanes;
  options.packet_bytes = 2 * FlaggedLine::payload_bytes;
  options.chunk_bytes = 64;
  return options;
}

//! Every rank's output, one after the other, after `call(communicator, in, out)` on each.
template <int NRanks, class T, class Call>
std::vector<T> outputs(std::size_t count, int lanes, Call&& call) {
  HostThreads<NRanks> transport;
  std::vector<T> all(static_cast<std::size_t>(NRanks) * count);
  std::vector<std::string> errors(NRanks);
  std::vector<std::thread> ranks;
  for (int rank = 0; rank < NRanks; ++rank) {
    ranks.emplace_back([&, rank] {
      auto const place = static_cast<std::size_t>(rank);
      auto communicator = transport.template join<>(rank, options_for(lanes));
      if (!communicator) {
        errors[place] = communicator.error().message();
        return;
      }
      std::vector<T> in(count);
      for (std::size_t i = 0; i < count; ++i) in[i] = input<T>(rank, i);
      Result<void> const done = call(*communicator, in.data(), all.data() + place * count);
      if (!done) errors[place] = done.error().message();
    });
  }
  for (std::thread& rank : ranks) rank.join();
  for (std::string const& error : errors) {
    INFO(error);
    REQUIRE(error.empty());
  }
  return all;
}

template <int NRanks, class T>
bool same_on_all_ranks(std::vector<T> const& outputs, std::vector<T> const& wanted) {
  std::size_t const bytes = wanted.size() * sizeof(T);
  for (std::size_t rank = 0; rank < static_cast<std::size_t>(NRanks); ++rank) {
    if (bytes != 0 && std::memcmp(outputs.data() + rank * wanted.size(), wanted.data(), bytes) != 0)
      return false;
  }
  return true;
}

//! One algorithm with an epilogue that counts: `times` is how often it must have seen each index.
template <template <int, class, class, class> class Algorithm, int NRanks, class T>
void check_algorithm(std::size_t count, int lanes, int times) {
  using Plain = Algorithm<NRanks, T, Sum, Identity>;
  INFO(Plain::name << ": " << NRanks << " ranks, " << lanes << " lanes, " << count << " of "
                   << name(element_kind<T>));
  Log log(count);
  ByIndex<T> const epilogue{&log};
  auto const results = outputs<NRanks, T>(count, lanes, [&](auto& ranks, T const* in, T* out) {
    return all_reduce<Algorithm<NRanks, T, Sum, ByIndex<T>>>(ranks, in, out, count, Sum{}, epilogue);
  });
  CHECK(same_on_all_ranks<NRanks>(results, reference<T>(NRanks, count, ByIndex<T>{})));
  CHECK(log.beyond() == 0);
  CHECK(log.each(times));

  auto const plain = outputs<NRanks, T>(count, lanes, [&](auto& ranks, T const* in, T* out) {
    return all_reduce<Plain>(ranks, in, out, count);
  });
  CHECK(same_on_all_ranks<NRanks>(plain, reference<T>(NRanks, count, Identity{})));
}

template <int NRanks, class T>
void check_all_algorithms(std::size_t count, int lanes) {
  check_algorithm<OneShotPush, NRanks, T>(count, lanes, NRanks);  // every rank reduces everything
  check_algorithm<OneShotPull, NRanks, T>(count, lanes, NRanks);
  check_algorithm<TwoShotPush, NRanks, T>(count, lanes, 1);
  check_algorithm<ReduceScatterAllGather, NRanks, T>(count, lanes, 1);
  check_algorithm<ReduceScatterAllGatherZeroCopy, NRanks, T>(count, lanes, 1);
  check_algorithm<ReduceScatterAllGatherPush, NRanks, T>(count, lanes, 1);
}

}  // namespace

TEMPLATE_TEST_CASE("All algorithms give an epilogue each index of a call and no other", "", float, double,
                   Half, bfloat16, std::int8_t, std::int64_t) {
  // Around nothing, an element, a packet (56 bytes), a line, several steps.
  std::size_t const packet = FlaggedLine::payload_bytes / sizeof(TestType);
  std::size_t const line = 64 / sizeof(TestType);
  for (std::size_t const count : {std::size_t{0}, std::size_t{1}, packet - 1, packet, packet + 1, line + 1,
                                  2 * packet + 3, 5 * line - 1}) {
    check_all_algorithms<2, TestType>(count, 1);
    check_all_algorithms<3, TestType>(count, 2);
  }
}

TEST_CASE("A selector's calls apply the epilogue too, whatever they choose") {
  using Ours = Selector<tables::Host, RankCounts<2>, Elements<float>>;
  for (std::size_t const count : {std::size_t{10}, std::size_t{5000}}) {
    Log log(count);
    ByIndex<float> const epilogue{&log};
    auto const results = outputs<2, float>(count, 1, [&](auto& ranks, float const* in, float* out) {
      return all_reduce<Ours>(ranks, in, out, count, Sum{}, epilogue);
    });
    CHECK(same_on_all_ranks<2>(results, reference<float>(2, count, ByIndex<float>{})));
    CHECK(log.beyond() == 0);
  }
  constexpr std::size_t known = 33;
  auto const results = outputs<2, float>(known, 1, [&](auto& ranks, float const* in, float* out) {
    return all_reduce<Ours, Count<known>>(ranks, in, out, Sum{}, ByIndex<float>{});
  });
  CHECK(same_on_all_ranks<2>(results, reference<float>(2, known, ByIndex<float>{})));
}

// The result is rounded once, after the epilogue: rounding before it as well would lose what is added here.
TEST_CASE("An epilogue sees the sum before it is rounded") {
  struct MinusBig {
    float operator()(float value, std::size_t) const { return value - 2048.0f; }
  };
  constexpr std::size_t count = 40;
  auto const results = outputs<2, Half>(count, 1, [&](auto& ranks, Half const*, Half* out) {
    std::vector<Half> const in(count, ElementTraits<Half>::narrow(ranks.rank() == 0 ? 2048.0f : 1.0f));
    return all_reduce<OneShotPush<2, Half, Sum, MinusBig>>(ranks, in.data(), out, count, Sum{}, MinusBig{});
  });
  for (Half const value : results) REQUIRE(ElementTraits<Half>::widen(value) == 1.0f);  // 2049 is no half
}
