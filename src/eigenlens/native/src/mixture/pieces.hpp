// Components as the kernels read them, and the pieces into which passes over rows are cut.
#pragma once

#include "common/parallel.hpp"
#include "mixture/driver.hpp"

namespace eigenlens {

// K components in d dimensions; the kernels define what the shapes are.
struct Components {
  std::size_t K, d;
  const double *levels, *means, *shapes;
  std::size_t shape_size;  // numbers per shape

  // Products per row; an exponential costs about thirty.
  double cost() const { return static_cast<double>(K) * static_cast<double>(2 * shape_size + 30); }
};

constexpr std::size_t MAX_PIECES = 32;
constexpr double MIN_COST = 1e6;  // products of a piece at least: a tenth of a millisecond, the start of a few threads

}  // namespace eigenlens
