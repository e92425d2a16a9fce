// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Packs: moved whole from and to any place, reduced in rank order, finished once per element that is there.
#include <chevron/core/element.hpp>
#include <chevron/core/op.hpp>
#include <chevron/core/pack.hpp>
#include <chevron/core/rank.hpp>
#include <chevron/epilogue/identity.hpp>

#include <support/catch.hpp>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <set>
#include <type_traits>
#include <vector>

namespace {

using namespace chevron;

//! Neither commutative nor associative, so that another order of the ranks gives another value.
struct Digits {
  static std::int64_t combine(std::int64_t a, std::int64_t b) { return a * 10 + b; }
};

struct NotesIndexes {
  std::set<std::size_t>* seen;
  float operator()(float value, std::size_t index) const {
    seen->insert(index);
    return value + static_cast<float>(index);
  }
};

struct IgnoresIndex {
  static constexpr bool ignores_index = true;
  float operator()(float value, std::size_t) const { return -value; }
};
static_assert(ignores_index<IgnoresIndex> && ignores_index<Identity> && !ignores_index<NotesIndexes>);

}  // namespace

TEST_CASE("A pack is what lies at its place, and nothing beside it is touched") {
  std::vector<std::int32_t> buffer{0, 1, 2, 3, 4, 5, 6, 7};
  auto const pack = load_pack(buffer.data(), At<4>{3});
  CHECK((pack.v[0] == 3 && pack.v[3] == 6));
  store_pack(buffer.data(), At<4>{1}, pack);
  CHECK(buffer == std::vector<std::int32_t>{0, 3, 4, 5, 6, 5, 6, 7});
}

TEST_CASE("A pack keeps the bits of its elements") {
  std::uint32_t const bits[] = {0x7f800001u, 0x80000000u, 0x00000001u,
                                0xffc12345u};  // a signalling NaN, -0, ...
  float from[4];
  float to[4];
  std::memcpy(from, bits, sizeof(bits));
  store_pack(to, At<4>{0}, load_pack(from, At<4>{0}));
  CHECK(std::memcmp(to, bits, sizeof(bits)) == 0);
}

TEST_CASE("Ranks are combined in the order of their numbers") {
  PerRank<Pack<std::int64_t, 2>, 4> all{};
  for (int rank = 0; rank < 4; ++rank) all[rank] = {{rank + 1, 9 - rank}};
  auto const sum = reduce_in_rank_order<Digits>(all);
  CHECK(sum.v[0] == 1234);
  CHECK(sum.v[1] == 9876);
}

TEST_CASE("One rank's pack is its own reduction") {
  PerRank<Pack<float, 2>, 1> const one{{{{1.5f, -0.0f}}}};
  auto const sum = reduce_in_rank_order<Sum>(one);
  CHECK(sum.v[0] == 1.5f);
  CHECK(std::signbit(sum.v[1]));
}

TEST_CASE("Narrow elements are reduced in float, and the operation's finish comes before the rounding") {
  using Half = chevron::half;
  PerRank<Pack<Half, 1>, 3> all{};
  for (int rank = 0; rank < 3; ++rank)
    all[rank].v[0] = ElementTraits<Half>::narrow(2048.0f + 2.0f * static_cast<float>(rank));
  auto const mean = reduce_in_rank_order<Avg>(all);
  static_assert(std::is_same_v<decltype(mean), Pack<float, 1> const>);
  CHECK(mean.v[0] == 2050.0f);
}

TEST_CASE("An epilogue is asked about the elements that are there, by their index in the call") {
  Pack<float, 8> const sum{{0, 1, 2, 3, 4, 5, 6, 7}};
  for (int valid = 0; valid <= 8; ++valid) {
    std::set<std::size_t> seen;
    auto const pack = finish_pack<float>(NotesIndexes{&seen}, sum, 100, valid);
    CHECK(seen.size() == static_cast<std::size_t>(valid));
    if (valid > 0) CHECK((*seen.begin() == 100 && *seen.rbegin() == 99 + static_cast<std::size_t>(valid)));
    for (int k = 0; k < valid; ++k) CHECK(pack.v[k] == static_cast<float>(2 * k + 100));
    for (int k = valid; k < 8; ++k) CHECK(pack.v[k] == 0.0f);
  }
}

TEST_CASE("An epilogue that ignores the index gives the same values") {
  Pack<float, 4> const sum{{1, 2, 3, 4}};
  auto const pack = finish_pack<float>(IgnoresIndex{}, sum, 0, 2);
  CHECK((pack.v[0] == -1.0f && pack.v[1] == -2.0f));
}
