// Sums of kernels over points, on a line and in space, on several threads.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "common/rows.hpp"

namespace eigenlens {

// sorted (n) ascending, order (n) where each came from; equal values keep their order. No not-a-number.
void sort_with_order(const double* values, std::size_t n, double* sorted, std::int64_t* order, std::size_t threads);

// ---- on a line ------------------------------------------------------------------------------------------------

// The points with low ≤ (y − x) / h ≤ high, or < high unless `closed`.
struct Window {
  double low, high, h;
  bool closed;
};

// n sorted points x, with weights or null, and m sorted queries y.
struct PointsOnLine {
  static constexpr std::size_t MAX_TERMS = 8;  // of a polynomial over a window
  const double *x, *w;
  std::size_t n;
  const double* y;
  std::size_t m;

  // Sums of polynomials over a window, added to sums (2, m); `matrix` is (degree + 1, degree + 1), see Powers.
  void window_powers(const Window& window, const double* matrix, std::size_t degree, double* sums,
                     std::size_t threads) const;
  // Sums of cosines over |y − x| ≤ h, added to sums (3, m), see Waves.
  void window_waves(double h, double* sums, std::size_t threads) const;
  // sums (4, m) are written: the sum of exponentials and the distance of the nearest point, before and behind.
  void laplace(double h, double* sums, std::size_t threads) const;
  // sums (3, m) are written, level, value and slope; or (1, m) the integral, for which `below` (n + 1) holds the
  // weight before each point. `span`, `half` and `terms`: see gaussian.hpp.
  void gaussian(double h, const double* below, double span, double half, std::size_t terms, bool integral,
                double* sums, std::size_t threads) const;
};

// ---- in space -------------------------------------------------------------------------------------------------

// How the differences of a pair become the value of a kernel; see tile.hpp.
enum class Form { gaussian, laplace, box, epanechnikov, biweight, triweight, triangular, cosine };

// Points in tiles: strips as tile.hpp reads them, and the box, weight and largest scale of each tile.
struct Tiles {
  static constexpr std::size_t TILE = 128, STRIPS = TILE / 8;  // points and strips of a tile
  std::size_t n, d, count, stride;
  bool own;  // whether points have scales of their own
  Aligned<double> strips;
  std::vector<double> low, high, weight, widest;

  // inverse: the inverse scales of the points, or null.
  Tiles(const double* x, const double* w, const double* inverse, std::size_t n, std::size_t d, std::size_t threads);

  std::size_t strips_of_tile(std::size_t t) const {  // an even number: a register tile takes two vectors
    return std::min(STRIPS, (std::min(TILE, n - t * TILE) + 15) / 16 * 2);
  }
  // level and value (m) of queries y (m, d): Σ w K = 2^(−level) value, without the kernel's constant.
  void sums(const double* y, std::size_t m, Form form, double tol, double* level, double* value,
            std::size_t threads) const;

 private:
  void fill(std::size_t t, const std::vector<std::size_t>& order, const double* x, const double* w,
            const double* inverse);
};

}  // namespace eigenlens
