// Passes of Gaussian mixtures over rows, on several threads. Rows may have any strides; everything else is contiguous.
#pragma once

#include <cstddef>

#include "common/rows.hpp"

namespace eigenlens {

// K components in d dimensions: levels (K) and means (K, d). Shapes are lower triangular roots (K, d, d) or, if not
// `full`, precisions (K, d); for incomplete rows they are covariances (K, d, d), and levels are ln pi_k.
struct MixtureParameters {
  static constexpr std::size_t MAX_INCOMPLETE_COLUMNS = 256;
  std::size_t K, d;
  const double *levels, *means, *shapes;
  bool full;
};

// Sums of S mixtures: loglik (S), weights (S K), total (S K, d), and spread (S K, d, d) or (S K, d). All are written.
struct MixtureSums {
  double *loglik, *weights, *total, *spread;
};

// Each that is not null is written: joint (n, K); filled and deviation (n, d), only where values are missing.
struct IncompleteOutputs {
  double *joint, *filled, *deviation;
};

template <class T>
struct Mixture {
  // S mixtures of the same number of components, one after the other in `all`: each has the sums that it has alone.
  static void passes(const Rows<T>& rows, const double* weight, const MixtureParameters& all, std::size_t S,
                     const MixtureSums& sums, std::size_t threads);
  // joint (n, K) is written.
  static void joint(const Rows<T>& rows, const MixtureParameters& all, double* joint, std::size_t threads);
};

// The same for rows in which not-a-number is a missing value.
template <class T>
struct IncompleteMixture {
  static void passes(const Rows<T>& rows, const double* weight, const MixtureParameters& all, std::size_t S,
                     const MixtureSums& sums, std::size_t threads);
  static void describe(const Rows<T>& rows, const MixtureParameters& all, const IncompleteOutputs& out,
                       std::size_t threads);
};

}  // namespace eigenlens
