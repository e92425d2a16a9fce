// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The forms of the call, and operations of the user's that are only defined for the values that ranks really
// have.
#include <chevron/collective/all_reduce.hpp>
#include <chevron/select/selector.hpp>
#include <chevron/select/tables/host.hpp>

#include <support/catch.hpp>
#include <support/data.hpp>
#include <support/failures.hpp>
#include <support/reference.hpp>
#include <support/watchdog.hpp>
#include <support/worlds.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace {

using namespace chevron;
using namespace chevron::test;
using namespace std::chrono_literals;

constexpr int ranks = 3;
constexpr std::size_t count = 333;

using Default = Selector<tables::Host, RankCounts<2, ranks, 4>, Elements<float, int>>;
using AllOperations =
    Selector<tables::Host, RankCounts<ranks>, Elements<float>, Operations<Sum, Prod, Min, Max, Avg>>;

struct Doubled {
  float by = 2;
  float operator()(float value, std::size_t) const { return value + value * (by - 1); }
};

//! Every rank makes one call on `in` and `out` and gets the reference's bits.
template <class World, class T, class Op = Sum, class E = Identity, class Call>
void require_reference(Call&& call, E const& epilogue = {}, Data data = Data::tame) {
  Watchdog const watchdog(60s, "a form of the call");
  World world;
  auto const outcomes = world.run([&](auto& seat) {
    auto communicator = seat.group.join(seat.rank, patient());
    if (!communicator) return seat.outcome.note(communicator);
    std::vector<T> in(count);
    std::vector<T> out(count);
    for (std::size_t i = 0; i < count; ++i) in[i] = value_of<T>(data, 1, seat.rank, i);
    if (!seat.attempt([&] { return call(*communicator, in, out); })) return;
    for (std::size_t i = 0; i < count; ++i) {
      T by_rank[ranks];
      for (int rank = 0; rank < ranks; ++rank) by_rank[rank] = value_of<T>(data, 1, rank, i);
      if (!same_bits(reference<Op, T>(std::span<T const>(by_rank), epilogue, i), out[i])) {
        seat.outcome.complain("wrong at index " + std::to_string(i));
      }
    }
    seat.meet();
  });
  INFO(text_of(outcomes));
  for (Outcome const& outcome : outcomes) REQUIRE(outcome.good());
}

TEMPLATE_TEST_CASE("the forms of a call through a selector", "", OnThreads, OnProcesses) {
  using World = typename TestType::template World<ranks>;
  require_reference<World, float>([](auto& communicator, auto& in, auto& out) {
    return all_reduce<Default>(communicator, in.data(), out.data(), count);
  });
  require_reference<World, int>([](auto& communicator, auto& in, auto& out) {
    return all_reduce<Default>(communicator, std::span<int const>(in), std::span<int>(out));
  });
  require_reference<World, float>([](auto& communicator, auto& in, auto& out) {
    out = in;
    return all_reduce<Default>(communicator, std::span<float>(out));
  });
  require_reference<World, float, Max>([](auto& communicator, auto& in, auto& out) {
    return all_reduce<AllOperations>(communicator, in.data(), out.data(), count, Max{});
  });
  require_reference<World, float, Avg>([](auto& communicator, auto& in, auto& out) {
    return all_reduce<AllOperations>(communicator, std::span<float const>(in), std::span<float>(out), Avg{});
  });
  require_reference<World, float, Prod, Doubled>(
      [](auto& communicator, auto& in, auto& out) {
        return all_reduce<AllOperations>(communicator, in.data(), out.data(), count, Prod{}, Doubled{3});
      },
      Doubled{3});
}

TEMPLATE_TEST_CASE("the forms of a call with a count that the compiler knows", "", OnThreads, OnProcesses) {
  using World = typename TestType::template World<ranks>;
  require_reference<World, float>([](auto& communicator, auto& in, auto& out) {
    return all_reduce<Default, Count<count>>(communicator, in.data(), out.data());
  });
  require_reference<World, float, Min>([](auto& communicator, auto& in, auto& out) {
    return all_reduce<AllOperations, Count<count>>(communicator, in.data(), out.data(), Min{});
  });
  // The ranks need not know it from the same source.
  require_reference<World, float>([](auto& communicator, auto& in, auto& out) {
    return communicator.rank() == 1 ? all_reduce<Default, Count<count>>(communicator, in.data(), out.data())
                                    : all_reduce<Default>(communicator, in.data(), out.data(), count);
  });
}

TEMPLATE_TEST_CASE("the forms of a call that names its algorithm", "", OnThreads, OnProcesses) {
  using World = typename TestType::template World<ranks>;
  require_reference<World, float>([](auto& communicator, auto& in, auto& out) {
    return all_reduce<ReduceScatterAllGather<ranks, float>>(communicator, in.data(), out.data(), count);
  });
  require_reference<World, float, Avg>([](auto& communicator, auto& in, auto& out) {
    return all_reduce<OneShotPush<ranks, float, Avg>>(communicator, std::span<float const>(in),
                                                      std::span<float>(out));
  });
  require_reference<World, float, Min, Doubled>(
      [](auto& communicator, auto& in, auto& out) {
        out = in;
        return all_reduce<OneShotPush<ranks, float, Min, Doubled>>(communicator, std::span<float>(out), Min{},
                                                                   Doubled{5});
      },
      Doubled{5});
}

//! All algorithms once.
template <class World>
void require_work() {
  Watchdog const watchdog(60s, "few or many ranks");
  World world;
  REQUIRE(complaint_of(world, patient()) == "");
}

TEMPLATE_TEST_CASE("a rank may be alone, and 32 may be together", "", OnThreads, OnProcesses) {
  require_work<typename TestType::template World<1>>();
  require_work<typename TestType::template World<17>>();
  require_work<typename TestType::template World<32>>();
}

//! Integer division is not defined for a 0, and no rank has one.
struct Divide {
  static constexpr int combine(int a, int b) { return a / b; }
};

template <template <int, class, class, class> class Algorithm>
struct Named {
  using Choice = Algorithm<ranks, int, Divide, Identity>;
};

TEMPLATE_TEST_CASE("an operation is only asked about values that ranks have", "",
                   (std::pair<OnThreads, Named<OneShotPush>>),
                   (std::pair<OnThreads, Named<ReduceScatterAllGather>>),
                   (std::pair<OnThreads, Named<ReduceScatterAllGatherZeroCopy>>),
                   (std::pair<OnThreads, Named<ReduceScatterAllGatherPush>>),
                   (std::pair<OnThreads, Named<OneShotPull>>), (std::pair<OnThreads, Named<TwoShotPush>>),
                   (std::pair<OnProcesses, Named<OneShotPush>>)) {
  Watchdog const watchdog(60s, "an operation that is not defined everywhere");
  using Choice = typename TestType::second_type::Choice;
  typename TestType::first_type::template World<ranks> world;
  for (std::size_t const few : {0, 1, 13, 14, 15, 20, 30, 70}) {  // some leave a rank without a shard
    auto const outcomes = world.run([&](auto& seat) {
      auto communicator = seat.group.join(seat.rank, patient());
      if (!communicator) return seat.outcome.note(communicator);
      std::vector<int> data(few, seat.rank == 0 ? 1000 : 3);
      seat.attempt([&] { return all_reduce<Choice>(*communicator, data.data(), data.data(), few); });
      for (int const value : data) {
        if (value != 111) seat.outcome.complain("wrong quotient");
      }
      seat.meet();
    });
    INFO(few << " elements\n" << text_of(outcomes));
    for (Outcome const& outcome : outcomes) REQUIRE(outcome.good());
  }
}

}  // namespace
