// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef CHEVRON_PERF_PEERS_PEER_RANK_HPP
#define CHEVRON_PERF_PEERS_PEER_RANK_HPP

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

//! @file
//! What the peer programs have in common: the elements that the other libraries know, and a trial.

namespace peers {

//! @brief Calls visit(T{}) with the type of that name; false if no peer has such a type.
template <class Visitor>
bool visit_element(std::string const& name, Visitor&& visit) {
  if (name == "float") return visit(float{}), true;
  if (name == "double") return visit(double{}), true;
  if (name == "int8") return visit(std::int8_t{}), true;
  if (name == "uint8") return visit(std::uint8_t{}), true;
  if (name == "int32") return visit(std::int32_t{}), true;
  if (name == "uint32") return visit(std::uint32_t{}), true;
  if (name == "int64") return visit(std::int64_t{}), true;
  if (name == "uint64") return visit(std::uint64_t{}), true;
  return false;
}

//! @brief Whether a sum over ranks of (rank + position % 100) came out right: a peer whose sums are wrong was
//! not called as it must be, and its times would mean nothing.
inline bool is_right_sum(std::vector<float> const& sums, int rank_count) {
  for (std::size_t i = 0; i < sums.size(); ++i) {
    auto const ranks = static_cast<float>(rank_count * (rank_count - 1) / 2);
    if (sums[i] != ranks + static_cast<float>(rank_count) * static_cast<float>(i % 100)) return false;
  }
  return true;
}

inline std::vector<float> trial_input(int rank) {
  std::vector<float> values(1000);
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] = static_cast<float>(rank) + static_cast<float>(i % 100);
  return values;
}

}  // namespace peers

#endif
