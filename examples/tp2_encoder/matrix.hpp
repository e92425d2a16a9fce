// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TP2_ENCODER_MATRIX_HPP
#define TP2_ENCODER_MATRIX_HPP

//! @file
//! Row-major float matrices, owned and viewed. A shard of a weight is a view: nothing is copied.

#include <Eigen/Core>

namespace tp2_encoder {

using Matrix = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
using RowVector = Eigen::RowVectorXf;

//! Somebody else's floats, rows one `outerStride()` apart: a tensor, or some of its rows or columns.
using MatrixView = Eigen::Map<Matrix const, Eigen::Unaligned, Eigen::OuterStride<>>;
using RowVectorView = Eigen::Map<RowVector const>;

//! @brief Rows `[first, first + count)` of a view.
inline MatrixView rows_of(MatrixView const& all, Eigen::Index first, Eigen::Index count) {
  return {all.data() + first * all.outerStride(), count, all.cols(), Eigen::OuterStride<>(all.outerStride())};
}

//! @brief Columns `[first, first + count)` of a view.
inline MatrixView columns_of(MatrixView const& all, Eigen::Index first, Eigen::Index count) {
  return {all.data() + first, all.rows(), count, Eigen::OuterStride<>(all.outerStride())};
}

}  // namespace tp2_encoder

#endif
