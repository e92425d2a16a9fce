// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef CHEVRON_TESTS_SUPPORT_RANK_DEVICES_HPP
#define CHEVRON_TESTS_SUPPORT_RANK_DEVICES_HPP

//! @file
//! On which device a rank of a test is: the environment's CHEVRON_TEST_DEVICES, such as 0,1, lists the devices that ranks
//! get in turn. Without it all ranks are on device 0.

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdlib>
#include <vector>

namespace chevron::test {

//! What CHEVRON_TEST_DEVICES lists; empty without it. What is no number is -1, which is no device.
inline std::vector<int> const& listed_devices() {
  static std::vector<int> const all = [] {
    std::vector<int> devices;
    char const* text = std::getenv("CHEVRON_TEST_DEVICES");
    while (text != nullptr && *text != '\0') {
      char* end = nullptr;
      long const device = std::strtol(text, &end, 10);
      bool const is_number = end != text && (*end == ',' || *end == '\0') && device >= 0 && device < 1024;
      devices.push_back(is_number ? static_cast<int>(device) : -1);
      if (!is_number) break;
      text = *end == ',' ? end + 1 : end;
    }
    return devices;
  }();
  return all;
}

inline int device_of(int rank) {
  auto const& devices = listed_devices();
  return devices.empty() ? 0 : devices[static_cast<std::size_t>(rank) % devices.size()];
}

template <int N>
std::array<int, N> devices_of_ranks() {
  std::array<int, N> devices{};
  for (int rank = 0; rank < N; ++rank) devices[static_cast<std::size_t>(rank)] = device_of(rank);
  return devices;
}

//! Whether not all ranks are on one device.
inline bool is_spread() {
  auto const& devices = listed_devices();
  return std::any_of(devices.begin(), devices.end(), [&](int device) { return device != devices[0]; });
}

//! Every device that a test may use, once: those of ranks, and device 0.
inline std::vector<int> devices_in_use() {
  std::vector<int> devices = listed_devices();
  devices.push_back(0);
  std::sort(devices.begin(), devices.end());
  devices.erase(std::unique(devices.begin(), devices.end()), devices.end());
  return devices;
}

}  // namespace chevron::test

#endif
