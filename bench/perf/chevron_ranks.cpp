// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <cstdint>
#include <string_view>

#include <chevron/core/element.hpp>
#include <perf/chevron_ranks.hpp>

namespace perf {

OpenedChevron open_chevron(std::string const& element, ChevronRanks const& ranks) {
  struct Known {
    std::string_view name;
    OpenedChevron (*open)(ChevronRanks const&);
  };
  static constexpr Known all[] = {
      {"float", &open_chevron_ranks<float>},
      {"double", &open_chevron_ranks<double>},
      {"half", &open_chevron_ranks<chevron::half>},
      {"bfloat16", &open_chevron_ranks<chevron::bfloat16>},
      {"float8_e4m3", &open_chevron_ranks<chevron::float8_e4m3>},
      {"float8_e5m2", &open_chevron_ranks<chevron::float8_e5m2>},
      {"int8", &open_chevron_ranks<std::int8_t>},
      {"uint8", &open_chevron_ranks<std::uint8_t>},
      {"int32", &open_chevron_ranks<std::int32_t>},
      {"uint32", &open_chevron_ranks<std::uint32_t>},
      {"int64", &open_chevron_ranks<std::int64_t>},
      {"uint64", &open_chevron_ranks<std::uint64_t>},
  };
  for (auto const& known : all)
    if (known.name == element) return known.open(ranks);
  return {.why_not = "no such element"};
}

}  // namespace perf
