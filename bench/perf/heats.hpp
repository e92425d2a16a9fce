// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef CHEVRON_PERF_HEATS_HPP
#define CHEVRON_PERF_HEATS_HPP

#include <cstddef>
#include <cstdint>
#include <functional>
#include <istream>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include <perf/row.hpp>

//! @file
//! Policies that a file names, timed against each other: what `--policies` does. The file may be a pipe, so that whoever
//! writes it can look at the answers to one heat before it asks for the next.
//!
//! Its lines, with words separated by blanks (a line that begins with # says nothing):
//! ```
//! policy NAME algorithm=one_shot_pull lanes=8 threads=256 packs=2 ordering=relaxed_arrival let_go=at_once
//! policy NAME algorithm=one_shot_pull stores=non_temporal
//! measure bytes=65536 rounds=5 NAME NAME...
//! ```
//! A measure may also say place=in (on the input's own buffer), calls=N (in a batch), give_up=1.5 (policies that are so
//! many times slower than the fastest of the heat are timed once only) and check=1. The answers are lines of JSON: one that
//! says who answers, then for each heat one per policy and one that says how long it took.

namespace perf {

//! @brief One way to run an algorithm.
struct NamedPolicy {
  std::string name;
  std::string algorithm = {};
  std::string stores = "temporal";  //!< on a host
  Launch launch = {.lanes = 0,      //!< on a device
                   .threads = 512,
                   .packs = 0,
                   .ordering = "relaxed_arrival",
                   .let_go = "at_once"};
};

//! @brief Policies that take turns at one size.
struct Heat {
  std::vector<NamedPolicy> policies = {};
  std::size_t bytes = 0;
  bool in_place = false;
  long rounds = 3;
  std::optional<long> calls = {};  //!< in a batch; not given: as many as the program finds right
  double give_up = 0;              //!< 0: never
  bool check = false;

  //! Whether a time is so far off the fastest one that its policy need not be timed again.
  [[nodiscard]] bool hopeless(double time, double fastest) const {
    return give_up > 0 && time > give_up * fastest;
  }
};

//! @brief What came of one policy in a heat.
struct Finish {
  std::vector<double> seconds = {};         //!< of one call, for each batch
  long calls = 0;                           //!< in a batch
  std::optional<Launch> launch = {};        //!< as it really ran, on a device, or as it would have
  std::optional<std::uint64_t> wrong = {};  //!< elements that differ from the reference, if that was asked
  std::string left_out = {};                //!< why it was not run: another policy is the same here
  std::string error = {};
};

//! @brief Reads heats until the input ends, and writes what `run` makes of each.
//! @param greeting  members of the first line, as JSON
//! @param run       gives a Finish for each policy of a heat; the answers of a heat with an error are the last ones
//! @return the exit code: 0 where all lines were understood and no policy failed or was wrong
int run_heats(std::istream& in, std::ostream& out, std::string const& greeting,
              std::function<std::vector<Finish>(Heat const&)> const& run);

//! @brief The same with the lines of a file; "-" is the standard input.
int run_heats_of(std::string const& file, std::string const& greeting,
                 std::function<std::vector<Finish>(Heat const&)> const& run);

}  // namespace perf

#endif
