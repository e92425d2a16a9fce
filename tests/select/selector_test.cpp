// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What a selector chooses, what it can reach, and by which number ranks recognise it.
#include <chevron/collective/chosen_body.hpp>
#include <chevron/core/element.hpp>
#include <chevron/core/op.hpp>
#include <chevron/core/rank.hpp>
#include <chevron/core/requirements.hpp>
#include <chevron/epilogue/identity.hpp>
#include <chevron/select/selector.hpp>
#include <chevron/select/table.hpp>
#include <chevron/select/tables/host.hpp>
#include <chevron/transport/concept.hpp>

#include <support/catch.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <set>
#include <utility>

namespace {

using namespace chevron;
using tables::Host;
using enum AllReduceAlgorithm;

using Two = Selector<Host, RankCounts<2>, Elements<float>>;

// Where buffers of processes lie in no window, packets are far better than chunks as long as they are few.
static_assert(Two::choose<float>(2, 2048, WindowState::none).algorithm == AllReduceAlgorithm::one_shot_push);
static_assert(Two::choose<float>(2, 4096, WindowState::none).algorithm ==
              AllReduceAlgorithm::reduce_scatter_all_gather);
static_assert(Two::choose<float>(2, 2048).algorithm ==
              AllReduceAlgorithm::reduce_scatter_all_gather_zero_copy);

// ---- every border of the host's table --------------------------------------------------------------------

//! What the rows say, read one by one.
constexpr Policy by_hand(int ranks, ElementKind element, std::size_t bytes, WindowState windows) {
  for (Row const& row : Host::rows()) {
    bool const fits = bytes >= row.bytes.from && bytes < row.bytes.to && row.elements.contains(element) &&
                      ranks >= row.ranks.from && ranks <= row.ranks.to;
    if (fits && (windows == WindowState::all || !row.in_windows_only)) return row.policy;
  }
  return {one_shot_push, Stores::non_temporal};  // no row says that
}

template <class T>
consteval bool chooses_by_hand_at_every_border() {
  using Chosen = Selector<Host, RankCounts<2, 3, 16>, Elements<T>>;
  for (WindowState const windows : {WindowState::none, WindowState::all}) {
    for (Row const& row : Host::rows()) {
      for (std::size_t const border : {row.bytes.from, row.bytes.to}) {
        for (std::size_t const bytes : {border - 1, border, border + 1}) {
          if (bytes >= ByteRange::unlimited - 1) continue;  // also below zero
          for (int const ranks : {2, 3, 16}) {
            if (Chosen::template choose<T>(ranks, bytes, windows) !=
                by_hand(ranks, ElementTraits<T>::kind, bytes, windows)) {
              return false;
            }
          }
        }
      }
    }
  }
  return true;
}
static_assert(chooses_by_hand_at_every_border<float>());
static_assert(chooses_by_hand_at_every_border<double>());
static_assert(chooses_by_hand_at_every_border<bfloat16>());
static_assert(chooses_by_hand_at_every_border<half>());
static_assert(chooses_by_hand_at_every_border<std::int8_t>());

// What the table is for, whatever its numbers: packets first, then no copies, and nothing that needs windows
// without.
constexpr std::size_t huge = std::size_t{1} << 40;
static_assert(Two::choose<float>(2, 0).algorithm == one_shot_push);
static_assert(Two::choose<float>(2, 4, WindowState::none).algorithm == one_shot_push);
static_assert(Two::choose<float>(2, huge).algorithm == reduce_scatter_all_gather_zero_copy);
static_assert(Two::choose<float>(2, huge).stores == Stores::non_temporal);
static_assert(Two::choose<float>(2, huge, WindowState::none).algorithm == reduce_scatter_all_gather);

// ---- total -----------------------------------------------------------------------------------------------

template <class T, int... Counts>
consteval bool total_for(std::integer_sequence<int, Counts...>) {
  return Selector<Host, RankCounts<(Counts + 2)...>, Elements<T>>::total;
}
template <class... Ts>
consteval bool total_for_all() {
  return (total_for<Ts>(std::make_integer_sequence<int, max_ranks - 1>{}) && ...);
}
static_assert(total_for_all<float, double, half, bfloat16, float8_e4m3, float8_e5m2>());
static_assert(
    total_for_all<std::int8_t, std::uint8_t, std::int32_t, std::uint32_t, std::int64_t, std::uint64_t>());

// ---- what is reached, and so instantiated ----------------------------------------------------------------

struct PushOnly {
  static constexpr auto rows() { return std::array{Row{.policy = {one_shot_push}}}; }
};
struct NothingForThree {
  static constexpr auto rows() {
    return std::array{Row{.ranks = {3, 3}, .policy = {reduce_scatter_all_gather}},
                      Row{.policy = {one_shot_push}}};
  }
};
template <class S, int NRanks = 2, class Op = Sum>
constexpr bool reaches(AllReduceAlgorithm algorithm, WindowState windows = WindowState::all) {
  return S::template reaches<NRanks, float, Op>(windows, algorithm);
}
static_assert(reaches<Two>(one_shot_push) && reaches<Two>(reduce_scatter_all_gather_zero_copy));
static_assert(!reaches<Two>(reduce_scatter_all_gather), "in windows nothing is staged");
static_assert(reaches<Two>(reduce_scatter_all_gather, WindowState::none));
static_assert(!reaches<Two>(reduce_scatter_all_gather_zero_copy, WindowState::none));

using Push = Selector<PushOnly, RankCounts<2>, Elements<float>>;
static_assert(reaches<Push>(one_shot_push) && !reaches<Push>(reduce_scatter_all_gather));
static_assert(!reaches<Push>(reduce_scatter_all_gather_zero_copy));

using Mixed = Selector<NothingForThree, RankCounts<2, 3>, Elements<float>>;
static_assert(!reaches<Mixed>(reduce_scatter_all_gather) && !reaches<Mixed, 3>(one_shot_push));

// ---- by architecture, operation and numerics -------------------------------------------------------------

struct Particular {
  static constexpr auto rows() {
    return std::array{
        Row{.architectures = {90, 100},
            .bytes = {0, 4096},
            .in_windows_only = true,
            .policy = {.algorithm = one_shot_pull, .cuda = {.packs = 4}}},
        Row{.operations = OperationSet::of(OperationKind::max, OperationKind::user),
            .policy = {two_shot_push}},
        Row{.bytes = {0, 64}, .numerics = Numerics::relaxed, .policy = {reduce_scatter_all_gather}},
        Row{.policy = {one_shot_push}},
    };
  }
};
struct Own {
  static float combine(float a, float b) { return a < b ? a : b; }
};
using All = Selector<Particular, RankCounts<2>, Elements<float>, Operations<Sum, Max, Own>>;
template <class S, class Op = Sum>
constexpr AllReduceAlgorithm chosen(std::size_t bytes, int architecture,
                                    WindowState windows = WindowState::all) {
  Policy const known = S::template choose<2, float, Op>(bytes, windows, architecture);
  // The rank count may come at run time as well.
  return known == S::template choose<float, Op>(2, bytes, windows, architecture) ? known.algorithm
                                                                                 : AllReduceAlgorithm::own;
}
static_assert(chosen<All>(0, 90) == one_shot_pull && chosen<All>(4095, 99) == one_shot_pull);
static_assert(chosen<All>(4096, 90) == one_shot_push && chosen<All>(0, 100) == one_shot_push);
static_assert(chosen<All>(0, host_architecture) == one_shot_push && chosen<All>(0, 89) == one_shot_push);
static_assert(chosen<All>(0, 90, WindowState::none) == one_shot_push);
static_assert(chosen<All, Max>(0, 80) == two_shot_push && chosen<All, Own>(huge, 80) == two_shot_push);
static_assert(chosen<All, Max>(0, 90) == one_shot_pull, "the first row that matches");

using Relaxed =
    Selector<Particular, RankCounts<2>, Elements<float>, Operations<Sum>, Architectures<>, Numerics::relaxed>;
static_assert(chosen<Relaxed>(63, 80) == reduce_scatter_all_gather &&
              chosen<Relaxed>(64, 80) == one_shot_push);
static_assert(!reaches<All>(reduce_scatter_all_gather) && reaches<Relaxed>(reduce_scatter_all_gather));

using OnHopper = Selector<Particular, RankCounts<2>, Elements<float>, Operations<Sum>, Architectures<90>>;
using OnAmpere = Selector<Particular, RankCounts<2>, Elements<float>, Operations<Sum>, Architectures<80, 86>>;
static_assert(reaches<OnHopper>(one_shot_pull) && !reaches<OnAmpere>(one_shot_pull) &&
              reaches<All>(one_shot_pull));
static_assert(!reaches<All>(two_shot_push) && reaches<All, 2, Max>(two_shot_push));

//! A table for one generation of devices is no table for others.
struct ForBlackwell {
  static constexpr auto rows() {
    return std::array{Row{.architectures = {100, 110}, .policy = {one_shot_push}}};
  }
};
static_assert(
    Selector<ForBlackwell, RankCounts<2>, Elements<float>, Operations<Sum>, Architectures<100, 103>>::total);

// ---- bodies: only what a call can reach ------------------------------------------------------------------

template <MemorySpace Space, bool Everywhere>
struct On {
  static constexpr int ranks = 2;
  static constexpr MemorySpace memory_space = Space;
  static constexpr bool every_pointer_is_in_a_window = Everywhere;
};
using Threads = On<MemorySpace::host, true>;
using Processes = On<MemorySpace::host, false>;
using Device = On<MemorySpace::device, true>;
using Devices = On<MemorySpace::device, false>;

template <class S, class Transport, class Op = Sum, class Size = detail::AnyCount>
std::set<std::array<int, 3>> bodies() {
  std::set<std::array<int, 3>> all;
  detail::BodiesOf<S, Size, Transport, float, Op, Identity>::for_each(
      [&]<AllReduceAlgorithm A, AllReduceAlgorithm B, int Packs>() {
        all.insert({static_cast<int>(A), static_cast<int>(B), Packs});
      });
  return all;
}
std::array<int, 3> body(AllReduceAlgorithm a, AllReduceAlgorithm b, int packs = 0) {
  return {static_cast<int>(a), static_cast<int>(b), packs};
}

// ---- lists -----------------------------------------------------------------------------------------------

static_assert(RankCounts<2, 4>::contains(4) && !RankCounts<2, 4>::contains(3));
static_assert(Elements<float, half>::contains<half> && !Elements<float, half>::contains<bfloat16>);
static_assert(Operations<Sum, Max>::contains<Max> && !Operations<Sum, Max>::contains<Min>);
static_assert(Count<7>::value == 7);
static_assert(is_selector<Two> && !is_selector<Host> && !is_selector<OneShotPush<2, float>>);

struct Weighted {
  static constexpr char const* name = "weighted";
  static float combine(float a, float b) { return a + 2 * b; }
};

}  // namespace

TEST_CASE("A body is there for what some call reaches, and nothing else") {
  using Bodies = std::set<std::array<int, 3>>;
  Bodies const push{body(one_shot_push, one_shot_push)};
  CHECK(bodies<All, Threads>() == push);
  CHECK(bodies<All, Processes>() == push);
  CHECK(bodies<All, Device>() ==
        Bodies{body(one_shot_push, one_shot_push), body(one_shot_pull, one_shot_pull, 4)});
  CHECK(bodies<All, Devices>() ==
        Bodies{body(one_shot_push, one_shot_push), body(one_shot_pull, one_shot_push, 4)});
  CHECK(bodies<All, Devices, Sum, Count<1024>>() == push);
  CHECK(bodies<All, Devices, Sum, Count<1023>>().size() == 2);  // 90 to 99, and others
  CHECK(bodies<OnHopper, Devices, Sum, Count<1023>>() == Bodies{body(one_shot_pull, one_shot_push, 4)});
  CHECK(bodies<OnAmpere, Devices>() == push);
  CHECK(bodies<All, Devices, Max>() ==
        Bodies{body(two_shot_push, two_shot_push), body(one_shot_pull, two_shot_push, 4)});
}

struct Packs {
  static constexpr auto rows() {
    constexpr auto with = [](AllReduceAlgorithm algorithm, int packs) {
      return Policy{.algorithm = algorithm, .cuda = {.packs = packs}};
    };
    return std::array{
        Row{.bytes = {0, 10}, .policy = with(one_shot_push, 4)},
        Row{.bytes = {10, 20}, .policy = with(one_shot_push, 0)},
        Row{.bytes = {20, 30}, .in_windows_only = true, .policy = with(one_shot_pull, 2)},
        Row{.bytes = {30, 40}, .in_windows_only = true, .policy = with(one_shot_pull, 0)},
        Row{.bytes = {40, 50}, .in_windows_only = true, .policy = with(one_shot_pull, 1)},
        Row{.policy = with(reduce_scatter_all_gather, 8)},
    };
  }
};
TEST_CASE("Numbers of packs that make no other kernel are not told apart") {
  using S = Selector<Packs, RankCounts<2>, Elements<float>>;
  CHECK(bodies<S, Threads>().size() == 3);
  CHECK(bodies<S, Device>() == std::set{body(one_shot_push, one_shot_push),
                                        body(one_shot_pull, one_shot_pull),
                                        body(one_shot_pull, one_shot_pull, 1),
                                        body(reduce_scatter_all_gather, reduce_scatter_all_gather, 8)});
}

TEST_CASE("Ranks with different selectors have different fingerprints") {
  constexpr std::uint32_t all[] = {
      Two::fingerprint(),
      Selector<Host, RankCounts<3>, Elements<float>>::fingerprint(),
      Selector<Host, RankCounts<2, 3>, Elements<float>>::fingerprint(),
      Selector<Host, RankCounts<3, 2>, Elements<float>>::fingerprint(),
      Selector<Host, RankCounts<2>, Elements<double>>::fingerprint(),
      Selector<Host, RankCounts<2>, Elements<half>>::fingerprint(),
      Selector<Host, RankCounts<2>, Elements<float, half>>::fingerprint(),
      Selector<Host, RankCounts<2>, Elements<float>, Operations<Max>>::fingerprint(),
      Selector<Host, RankCounts<2>, Elements<float>, Operations<Sum, Max>>::fingerprint(),
      Selector<Host, RankCounts<2>, Elements<float>, Operations<Weighted>>::fingerprint(),
      Push::fingerprint(),
      Selector<Host, RankCounts<2>, Elements<float>, Operations<Sum>, Architectures<90>>::fingerprint(),
      Selector<Host, RankCounts<2>, Elements<float>, Operations<Sum>, Architectures<90, 100>>::fingerprint(),
      Selector<Host, RankCounts<2>, Elements<float>, Operations<Sum>, Architectures<>,
               Numerics::relaxed>::fingerprint(),
      Selector<NothingForThree, RankCounts<2>, Elements<float>>::fingerprint(),
  };
  CHECK(std::set<std::uint32_t>(std::begin(all), std::end(all)).size() == std::size(all));
  CHECK(Two::fingerprint() == Selector<Host, RankCounts<2>, Elements<float>, Operations<Sum>>::fingerprint());
}
