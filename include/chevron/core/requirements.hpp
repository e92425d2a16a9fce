// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef CHEVRON_CORE_REQUIREMENTS_HPP
#define CHEVRON_CORE_REQUIREMENTS_HPP

//! @file
//! What an algorithm needs of a transport, and what a transport offers: the same plain list.

#include <chevron/core/config.hpp>

#include <concepts>

namespace chevron {

//! @brief Capabilities. An algorithm runs on a transport that offers everything it needs.
struct Requirements {
  bool direct_access = false;  //!< ranks load from and store to each other's windows
  bool packets = false;        //!< flagged packets can be pushed to peers
  bool mailbox = false;        //!< peers have scratch memory that chunks can be pushed into
  bool multicast = false;      //!< one store reaches all ranks

  friend constexpr bool operator==(Requirements const&, Requirements const&) = default;
};

//! @brief Whether results must be the reference's bits (contract C1) or may differ in rounding.
enum class Numerics : unsigned char { exact, relaxed };

//! @brief Says of itself which results it gives, by `static constexpr Numerics numerics`.
template <class Algorithm>
concept StatesNumerics = requires {
  { Algorithm::numerics } -> std::convertible_to<Numerics>;
};

//! @brief What an algorithm's results are: the reference's bits where it says nothing else. One that reduces in the
//! network's switches, in whatever order those take, must say Numerics::relaxed.
template <class Algorithm>
inline constexpr Numerics numerics_of = Numerics::exact;
template <StatesNumerics Algorithm>
inline constexpr Numerics numerics_of<Algorithm> = Algorithm::numerics;

}  // namespace chevron

#endif
