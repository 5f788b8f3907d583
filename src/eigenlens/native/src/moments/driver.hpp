// Weighted moments and sparse normal products, on several threads.
#pragma once

#include <cstddef>

#include "common/rows.hpp"

namespace eigenlens {

template <class T>
struct Moments {
  // sum (d,) and scatter (d, d) about a shift (d,) are written. weight (n,) may be null, and so may the upper triangular
  // `triangle` (d, d), by whose inverse narrow rows are whitened.
  static void about(const Rows<T>& rows, const double* weight, const double* shift, const double* triangle, bool wide,
                    double* sum, double* scatter, std::size_t threads);
  // mean (d,), scatter (d, d) about it and what the mean lost by rounding, rest (d,), are written; `total` is the sum of
  // the weights.
  static void about_mean(const Rows<T>& rows, const double* weight, double total, bool wide, double* mean,
                         double* scatter, double* rest, std::size_t threads);
};

// n compressed sparse rows; weight (n,) may be null.
template <class T, class Index>
struct SparseRows {
  std::size_t n;
  const T* data;
  const Index *indices, *indptr;
  const double* weight;

  // Throws unless the rows are among `stored` entries, and these in d columns.
  void check(std::size_t stored, std::size_t d) const;
  // V and Z are (d, 8) and 64-byte aligned; Z and total (8,) are written.
  void normal_product(std::size_t d, const double* V, const double* offset, double* Z, double* total,
                      std::size_t threads) const;
};

}  // namespace eigenlens
