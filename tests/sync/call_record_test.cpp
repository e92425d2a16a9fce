// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <chevron/sync/call_record.hpp>
#include <chevron/sync/flag.hpp>

#include <support/catch.hpp>
#include <support/noise.hpp>
#include <support/seed.hpp>

#include <cstdint>
#include <set>

namespace {

using chevron::CallIdentity;
using chevron::CallRecord;
using chevron::Errc;
using chevron::HostAccess;
using chevron::Stamp;
using chevron::test::Rng;
using chevron::test::seed;

constexpr CallIdentity call = {.algorithm = 1, .element = 2, .operation = 3, .table = 4, .count = 5};

constexpr CallIdentity with(std::uint32_t CallIdentity::*field, std::uint32_t value) {
  CallIdentity other = call;
  other.*field = value;
  return other;
}
constexpr CallIdentity with_count(std::uint64_t count) {
  CallIdentity other = call;
  other.count = count;
  return other;
}

TEST_CASE("the difference of two calls is named, whichever side asks") {
  auto const both_ways = [](CallIdentity const& other) {
    REQUIRE(call.difference(other) == other.difference(call));
    return call.difference(other);
  };
  REQUIRE(both_ways(call) == Errc::ok);
  REQUIRE(both_ways(with(&CallIdentity::table, 9)) == Errc::table_mismatch);
  REQUIRE(both_ways(with(&CallIdentity::element, 9)) == Errc::element_mismatch);
  REQUIRE(both_ways(with(&CallIdentity::operation, 9)) == Errc::operation_mismatch);
  REQUIRE(both_ways(with(&CallIdentity::algorithm, 9)) == Errc::algorithm_mismatch);
  REQUIRE(both_ways(with_count(9)) == Errc::count_mismatch);
  REQUIRE(both_ways(with_count(5 + (std::uint64_t{1} << 32))) == Errc::count_mismatch);
}

TEST_CASE("calls that differ have different signatures, and none is 0") {
  REQUIRE(call.signature() == CallIdentity(call).signature());
  std::set<std::uint32_t> seen{call.signature()};
  auto const is_new = [&](CallIdentity const& other) { return seen.insert(other.signature()).second; };
  REQUIRE(is_new(with(&CallIdentity::table, 9)));
  REQUIRE(is_new(with(&CallIdentity::element, 9)));
  REQUIRE(is_new(with(&CallIdentity::operation, 9)));
  REQUIRE(is_new(with(&CallIdentity::algorithm, 9)));
  for (int bit = 0; bit < 64; ++bit) REQUIRE(is_new(with_count(5 ^ std::uint64_t{1} << bit)));
  for (std::uint64_t count = 6; count < 2000; ++count) {
    if ((count & (count - 1)) != 0 && count != 7 && count != 13) (void)is_new(with_count(count));
  }
  // 32 bits, some 2000 signatures: one collision has a chance of 1 in 2000, two practically none.
  REQUIRE(seen.size() > 1980);
  REQUIRE(seen.count(0) == 0);
}

TEST_CASE("a record gives back what was published") {
  Rng rng(seed());
  CallRecord record;
  REQUIRE_FALSE(record.first<HostAccess>().written());
  for (int i = 0; i < 1000; ++i) {
    CallIdentity const published{static_cast<std::uint32_t>(rng()), static_cast<std::uint32_t>(rng()),
                                 static_cast<std::uint32_t>(rng()), static_cast<std::uint32_t>(rng()), rng()};
    Stamp const first{static_cast<chevron::Epoch>(rng()), published.signature()};
    record.publish<HostAccess>(first, published);
    REQUIRE(record.first<HostAccess>().word() == first.word());
    CallIdentity const read = record.call<HostAccess>();
    REQUIRE(read.difference(published) == Errc::ok);
    REQUIRE(read.signature() == published.signature());
  }
}

}  // namespace
