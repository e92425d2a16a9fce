// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef CHEVRON_TESTS_EXPLORE_RACE_DETECTOR_HPP
#define CHEVRON_TESTS_EXPLORE_RACE_DETECTOR_HPP

//! @file
//! Who has read and written each byte, and whether that happened before the next access to it. An exploration
//! runs one access after the other, so a forgotten release or acquire does no harm there; this finds it all
//! the same.

#include "clock.hpp"

#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

namespace chevron::test {

class RaceDetector {
 public:
  struct Race {
    std::uintptr_t address;
    int other;  //!< the thread of the earlier access
    bool other_wrote;
    bool past_the_caches;  //!< it was a non-temporal store that no fence has ordered since
  };

  void watch(std::byte const* base, std::size_t size_bytes) {
    base_ = reinterpret_cast<std::uintptr_t>(base);
    bytes_.resize(size_bytes);
  }
  void restart() {
    ++execution_;
    for (int thread = 0; thread < max_threads; ++thread) unfenced_[thread].clear();
  }

  //! Each returns the first race found, with `race.other` -1 where there is none.
  Race read(int thread, Clock const& clock, void const* data, std::size_t size_bytes) {
    Race race = nothing;
    for_each_byte(data, size_bytes, [&](Byte& byte, std::uintptr_t address) {
      if (race.other < 0 && written_by_another(byte, thread, clock)) race = raced_with_writer(byte, address);
      byte.read[thread] = clock[thread];
    });
    return race;
  }
  Race write(int thread, Clock const& clock, void const* data, std::size_t size_bytes) {
    return write_at_time(thread, clock, data, size_bytes, clock[thread]);
  }
  //! A non-temporal store: until this thread's fence it happens before nothing but the thread's own accesses.
  Race write_past_caches(int thread, Clock const& clock, void const* data, std::size_t size_bytes) {
    unfenced_[thread].emplace_back(data, size_bytes);
    return write_at_time(thread, clock, data, size_bytes, never);
  }
  void fence(int thread, Clock const& clock) {
    for (auto const& [data, size_bytes] : unfenced_[thread]) {
      for_each_byte(data, size_bytes, [&](Byte& byte, std::uintptr_t) {
        if (byte.writer == thread && byte.written == never) byte.written = clock[thread];
      });
    }
    unfenced_[thread].clear();
  }

 private:
  static constexpr std::uint32_t never = std::numeric_limits<std::uint32_t>::max();
  static constexpr Race nothing{0, -1, false, false};

  struct Byte {
    std::uint64_t execution = 0;  //!< what follows is of this one; to forget all of it, the next one begins
    int writer = -1;
    std::uint32_t written = 0;
    Clock read{};
  };

  static bool written_by_another(Byte const& byte, int thread, Clock const& clock) {
    return byte.writer >= 0 && byte.writer != thread && !clock.covers(byte.writer, byte.written);
  }
  static Race raced_with_writer(Byte const& byte, std::uintptr_t address) {
    return {address, byte.writer, true, byte.written == never};
  }

  Race write_at_time(int thread, Clock const& clock, void const* data, std::size_t size_bytes,
                     std::uint32_t time) {
    Race race = nothing;
    for_each_byte(data, size_bytes, [&](Byte& byte, std::uintptr_t address) {
      if (race.other < 0 && written_by_another(byte, thread, clock)) race = raced_with_writer(byte, address);
      for (int other = 0; other < max_threads; ++other) {
        if (race.other < 0 && other != thread && !clock.covers(other, byte.read[other])) {
          race = {address, other, false, false};
        }
      }
      byte.writer = thread;
      byte.written = time;
    });
    return race;
  }

  template <class Visit>
  void for_each_byte(void const* data, std::size_t size_bytes, Visit&& visit) {
    auto const first = reinterpret_cast<std::uintptr_t>(data);
    for (std::size_t i = 0; i < size_bytes; ++i) {
      Byte& byte = bytes_[first - base_ + i];
      if (byte.execution != execution_) byte = Byte{.execution = execution_};
      visit(byte, first + i);
    }
  }

  std::uint64_t execution_ = 0;
  std::uintptr_t base_ = 0;
  std::vector<Byte> bytes_{};
  PerThread<std::vector<std::pair<void const*, std::size_t>>> unfenced_{};
};

}  // namespace chevron::test

#endif
