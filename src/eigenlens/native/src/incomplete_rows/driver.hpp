// Latent models on incomplete rows, on several threads. Rows may have any strides; everything else is contiguous.
#pragma once

#include <cstddef>
#include <vector>

#include "common/rows.hpp"

namespace eigenlens {

// x = W z + mu + e with noise variances psi, of y = (x − centre) / scale; W is (d, k), the others are (d).
struct LatentParameters {
  static constexpr std::size_t MAX_LATENT = 16;
  std::size_t d, k;
  const double *centre, *scale, *mean, *W, *psi;
};

// A direction (m, D, f psi) of (mu, W, psi).
struct LatentDirection {
  const double *mean, *W, *log_psi;
};

// Outputs per row; each that is not null is written: z (n, k), C (n, p), log_density (n,), filled and deviation (n, d).
template <class T>
struct LatentOutputs {
  double *z, *C, *log_density;
  T* filled;
  double* deviation;
};

// With p = k (k + 1) / 2 and q = k + 1.
template <class T>
struct IncompleteRows {
  // pairs (p + q (q + 1) / 2, d), right (q, d), square (d,) and totals (p + q (q + 1) / 2 + 2,) are written; the last
  // two totals are Σ w log |M| and the number of rows.
  static void expected(const Rows<T>& rows, const double* weight, const LatentParameters& parameters,
                       std::size_t refinements, double* pairs, double* right, double* square, double* totals,
                       std::size_t threads);
  // pairs (p, d), weights (d,), square (d,) and totals (p + 1,) are written; the last total is Σ w.
  static void information(const Rows<T>& rows, const double* weight, const LatentParameters& parameters, double* pairs,
                          double* weights, double* square, double* totals, std::size_t threads);
  // pairs (2p + 1, d), right (2k + 1, d) and square (d,) are written.
  static void derivative(const Rows<T>& rows, const double* weight, const LatentParameters& parameters,
                         std::size_t refinements, const LatentDirection& direction, double* pairs, double* right,
                         double* square, std::size_t threads);
  static void describe(const Rows<T>& rows, const LatentParameters& parameters, const LatentOutputs<T>& out,
                       std::size_t threads);
};

}  // namespace eigenlens
