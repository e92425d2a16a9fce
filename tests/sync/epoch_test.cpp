// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <chevron/sync/epoch.hpp>

#include <support/catch.hpp>
#include <support/noise.hpp>
#include <support/seed.hpp>

#include <cstdint>

namespace {

using chevron::Epoch;
using chevron::era_of;
using chevron::reached;
using chevron::Stamp;
using chevron::test::Rng;
using chevron::test::seed;

TEST_CASE("an epoch is reached by itself and by later ones, also across the wrap") {
  constexpr Epoch last = ~Epoch{0};
  STATIC_REQUIRE(reached(7, 7));
  STATIC_REQUIRE(reached(8, 7));
  STATIC_REQUIRE_FALSE(reached(6, 7));
  STATIC_REQUIRE(reached(0, last));
  STATIC_REQUIRE(reached(1, last));
  STATIC_REQUIRE_FALSE(reached(last, 0));
  STATIC_REQUIRE_FALSE(reached(last - 5, 3));
  STATIC_REQUIRE(reached(0x7fffffff, 0));
  STATIC_REQUIRE_FALSE(reached(0x80000000, 0));
}

TEST_CASE("of two epochs less than 2^31 apart, exactly the later one has reached the other") {
  Rng rng(seed());
  for (int i = 0; i < 10'000; ++i) {
    auto const epoch = static_cast<Epoch>(rng());
    auto const ahead = static_cast<Epoch>(rng.spread(0x7fffffff));
    INFO("CHEVRON_TEST_SEED=" << seed() << ": " << epoch << " and " << ahead << " later");
    REQUIRE(reached(epoch + ahead, epoch));
    REQUIRE_FALSE(reached(epoch, epoch + ahead));
  }
}

TEST_CASE("a stamp is one word and back, and no two stamps are the same word") {
  Rng rng(seed());
  for (int i = 0; i < 10'000; ++i) {
    Stamp const stamp{static_cast<Epoch>(rng()), static_cast<std::uint32_t>(rng())};
    Stamp const back = Stamp::of(stamp.word());
    REQUIRE(back.epoch == stamp.epoch);
    REQUIRE(back.signature == stamp.signature);
    REQUIRE(Stamp{stamp.epoch + 1, stamp.signature}.word() != stamp.word());
    REQUIRE(Stamp{stamp.epoch, stamp.signature ^ 1}.word() != stamp.word());
  }
  STATIC_REQUIRE(Stamp{1, 2}.word() == 0x0000000100000002);
}

TEST_CASE("zeroed memory holds no stamp") {
  STATIC_REQUIRE_FALSE(Stamp::of(0).written());
  STATIC_REQUIRE(Stamp{0, 1}.written());
}

TEST_CASE("the counter has four eras") {
  STATIC_REQUIRE(era_of(0) == 0);
  STATIC_REQUIRE(era_of(0x3fffffff) == 0);
  STATIC_REQUIRE(era_of(0x40000000) == 1);
  STATIC_REQUIRE(era_of(0xbfffffff) == 2);
  STATIC_REQUIRE(era_of(0xffffffff) == 3);
}

}  // namespace
