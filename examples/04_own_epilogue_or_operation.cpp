// An operation of one's own, and an epilogue of one's own: both are small types, and both run inside the loop
// that reduces, in the accumulator type, before the result is rounded once.
#include <chevron/chevron.hpp>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>

// The value with the largest magnitude, sign kept. An operation has no state; it need not commute, since the
// library always combines in rank order.
struct LargestMagnitude {
  static constexpr char const* name = "largest_magnitude";
  static float combine(float a, float b) { return std::fabs(b) > std::fabs(a) ? b : a; }
};

// Adds a bias per column, then applies ReLU. An epilogue may have state: here a pointer that means the same
// on all ranks.
struct BiasRelu {
  float const* bias;
  std::size_t columns;
  float operator()(float value, std::size_t index) const {
    float const with_bias = value + bias[index % columns];
    return with_bias > 0.0f ? with_bias : 0.0f;
  }
};

using Selector =
    chevron::Selector<chevron::tables::Host, chevron::RankCounts<2>, chevron::Elements<chevron::half>,
                      chevron::Operations<chevron::Sum, LargestMagnitude>>;

constexpr std::size_t rows = 64;
constexpr std::size_t columns = 128;

bool work(chevron::HostThreads<2>& group, int rank, std::vector<float> const& bias) {
  auto communicator = group.join<Selector>(rank);
  if (!communicator) return false;

  std::vector<chevron::half> partial(rows * columns);
  for (std::size_t i = 0; i < partial.size(); ++i) {
    float const value = rank == 0 ? static_cast<float>(i % columns) : -2.0f * static_cast<float>(i % 7);
    partial[i] = chevron::half::from_float(value);
  }
  std::vector<chevron::half> activated(partial.size());
  std::vector<chevron::half> extremes(partial.size());

  bool const good =
      chevron::all_reduce<Selector>(*communicator, partial.data(), activated.data(), partial.size(),
                                    chevron::Sum{}, BiasRelu{bias.data(), columns})
          .has_value() &&
      chevron::all_reduce<Selector>(*communicator, partial.data(), extremes.data(), partial.size(),
                                    LargestMagnitude{})
          .has_value();
  if (good && rank == 0) {
    std::printf("column 3: relu(3 - 6 + bias 5) = %g, largest magnitude of 3 and -6 is %g\n",
                static_cast<double>(activated[3].to_float()), static_cast<double>(extremes[3].to_float()));
  }
  return good && activated[3].to_float() == 2.0f && extremes[3].to_float() == -6.0f;
}

int main() {
  std::vector<float> const bias(columns, 5.0f);
  chevron::HostThreads<2> group;
  bool other_good = false;
  std::thread other([&] { other_good = work(group, 1, bias); });
  bool const good = work(group, 0, bias);
  other.join();
  return good && other_good ? EXIT_SUCCESS : EXIT_FAILURE;
}
