// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TP2_ENCODER_REPORT_BOARD_HPP
#define TP2_ENCODER_REPORT_BOARD_HPP

//! @file
//! Where ranks leave their results. It is memory that forked processes share with their parent, so that ranks
//! that are processes report as ranks that are threads do.

#include <sys/mman.h>

#include <cstddef>
#include <cstring>
#include <new>
#include <span>

#include "measure.hpp"

namespace tp2_encoder {

//! One rank's report; it says that the rank never finished until the rank says otherwise.
struct RankReport {
  Time time;
  char error[512] = "it ended before it could report";

  void set_error(char const* text) {
    std::strncpy(error, text, sizeof error - 1);
    error[sizeof error - 1] = '\0';
  }
};

class ReportBoard {
 public:
  ReportBoard(int rank_count, std::size_t floats_per_rank)
      : floats_(floats_per_rank),
        bytes_(rank_count * (sizeof(RankReport) + floats_per_rank * sizeof(float))) {
    auto* memory = ::mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) throw std::bad_alloc();
    reports_ = static_cast<RankReport*>(memory);
    for (int rank = 0; rank < rank_count; ++rank) new (&reports_[rank]) RankReport;
    embeddings_ = reinterpret_cast<float*>(reports_ + rank_count);
  }
  ReportBoard(ReportBoard const&) = delete;
  ReportBoard& operator=(ReportBoard const&) = delete;
  ~ReportBoard() { ::munmap(reports_, bytes_); }

  [[nodiscard]] RankReport& report(int rank) { return reports_[rank]; }
  [[nodiscard]] std::span<float> embeddings(int rank) { return {embeddings_ + rank * floats_, floats_}; }
  [[nodiscard]] bool same_embeddings(int a, int b) {
    return std::memcmp(embeddings(a).data(), embeddings(b).data(), floats_ * sizeof(float)) == 0;
  }

 private:
  std::size_t floats_;
  std::size_t bytes_;
  RankReport* reports_ = nullptr;
  float* embeddings_ = nullptr;
};

}  // namespace tp2_encoder

#endif
