// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What is an operation, what is an epilogue, and what is an element of a buffer.
#include <string>

#include <chevron/chevron.hpp>

using namespace chevron;

struct Add {
#if defined(CASE_operation_with_state)  // expect-error: chevron: a reduction operation must be an empty type with static combine
  float scale = 1;
#endif
#if defined(CASE_operation_on_another_type)  // expect-error: chevron: a reduction operation must be an empty type with static combine
  static std::string combine(float a, float) { return std::to_string(a); }
#else
  static float combine(float a, float b) { return a + b; }
#endif
};

struct Shift {
#if defined(CASE_epilogue_that_owns_memory)  // expect-error: chevron: an epilogue must be a trivially copyable value
  std::string text = "one";
#endif
#if defined(CASE_epilogue_without_index)  // expect-error: chevron: an epilogue must be a trivially copyable value
  float operator()(float value) const { return value + 1; }
#else
  float operator()(float value, std::size_t) const { return value + 1; }
#endif
};

struct Point {
  float x, y;
};

#if defined(CASE_buffer_of_structs)  // expect-error: chevron: a buffer must hold elements; got a T without ElementTraits
using Content = Point;
#else
using Content = float;
#endif

using Chosen = Selector<tables::Host, RankCounts<2>, Elements<float>, Operations<Add>>;

Result<void> call(Communicator<HostThreads<2>> const& ranks, Content* data) {
  return all_reduce<Chosen>(ranks, data, data, 10, Add{}, Shift{});
}
