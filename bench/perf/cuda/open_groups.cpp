// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <string_view>

#include <perf/cuda/group.hpp>

namespace perf {

OpenedDeviceGroup open_device_group(std::string const& element, DeviceRanks const& ranks) {
  struct Known {
    std::string_view element;
    std::size_t ranks;
    OpenedDeviceGroup (*open)(DeviceRanks const&);
  };
  static constexpr Known all[] = {
      {"bfloat16", 2, &open_device_group_of<__nv_bfloat16, 2>},
      {"bfloat16", 3, &open_device_group_of<__nv_bfloat16, 3>},
      {"bfloat16", 4, &open_device_group_of<__nv_bfloat16, 4>},
      {"bfloat16", 8, &open_device_group_of<__nv_bfloat16, 8>},
      {"half", 2, &open_device_group_of<__half, 2>},
      {"half", 3, &open_device_group_of<__half, 3>},
      {"half", 4, &open_device_group_of<__half, 4>},
      {"half", 8, &open_device_group_of<__half, 8>},
      {"float", 2, &open_device_group_of<float, 2>},
      {"float", 3, &open_device_group_of<float, 3>},
      {"float", 4, &open_device_group_of<float, 4>},
      {"float", 8, &open_device_group_of<float, 8>},
  };
  for (auto const& known : all)
    if (known.element == element && known.ranks == ranks.devices.size()) return known.open(ranks);
  return {.why_not = "this element or rank count is not compiled into chevron-perf-cuda"};
}

}  // namespace perf
