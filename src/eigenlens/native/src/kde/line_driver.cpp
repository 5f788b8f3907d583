#include <limits>

#include "kde/driver.hpp"

namespace eigenlens {

struct Line {
  const double *x, *w;  // sorted points, weights or null
  const double* below;  // Σ of the weights before each point (n + 1)
  std::size_t n;
  double h, span, half;  // span: squared reach beyond the nearest; half: of a group, in units of h
};

}  // namespace eigenlens

#define EIGENLENS_KERNELS "kde/line_kernels.hpp"
#include "common/instruction_sets.hpp"

#include "common/parallel.hpp"

namespace eigenlens {

namespace {

constexpr std::size_t QUERIES = 4096;  // of a piece of work

// Calls work(queries, count, where they begin) for pieces of m queries y.
template <class Work>
void by_queries(const double* y, std::size_t m, std::size_t threads, const Work& work) {
  in_parallel((m + QUERIES - 1) / QUERIES, threads, [&](std::size_t piece) {
    const std::size_t first = piece * QUERIES;
    work(y + first, std::min(QUERIES, m - first), first);
  });
}

using PowerSums = void (*)(const double*, const double*, std::size_t, const double*, std::size_t, const Window&,
                           const double*, double*, std::size_t);

// The work is scalar: wider instructions than those of AVX2 would not help.
template <std::size_t... DEGREES>
PowerSums power_sums(std::size_t degree, std::index_sequence<DEGREES...>) {
#ifdef EIGENLENS_X86
  constexpr PowerSums avx2[] = {avx2::power_sums<DEGREES>...};
  if (active != Isa::baseline) return avx2[degree];
#endif
  constexpr PowerSums baseline[] = {baseline::power_sums<DEGREES>...};
  return baseline[degree];
}

// Σ w e^(−(y − x)/h) over the points at and before each query, as the sum at the last of them and its distance.
// With the points and queries mirrored: those behind it.
void laplace_sweep(const double* x, const double* w, std::size_t n, const double* y, std::size_t m, double h,
                          double* sum, double* distance) {
  double total = 0.0;
  std::size_t p = 0;
  for (std::size_t q = 0; q < m; ++q) {
    for (; p < n && x[p] <= y[q]; ++p)
      total = (p ? total * std::exp((x[p - 1] - x[p]) / h) : 0.0) + (w ? w[p] : 1.0);
    sum[q] = total;
    distance[q] = p ? (y[q] - x[p - 1]) / h : std::numeric_limits<double>::infinity();
  }
}
void laplace_sweep_back(const double* x, const double* w, std::size_t n, const double* y, std::size_t m,
                               double h, double* sum, double* distance) {
  double total = 0.0;
  std::size_t p = n;
  for (std::size_t q = m; q-- > 0;) {
    for (; p > 0 && x[p - 1] > y[q]; --p)
      total = (p < n ? total * std::exp((x[p - 1] - x[p]) / h) : 0.0) + (w ? w[p - 1] : 1.0);
    sum[q] = total;
    distance[q] = p < n ? (x[p] - y[q]) / h : std::numeric_limits<double>::infinity();
  }
}

}  // namespace

void PointsOnLine::window_powers(const Window& window, const double* matrix, std::size_t degree, double* sums,
                                 std::size_t threads) const {
  const PowerSums kernel = power_sums(degree, std::make_index_sequence<MAX_TERMS>());
  by_queries(y, m, threads, [&](const double* q, std::size_t count, std::size_t first) {
    kernel(x, w, n, q, count, window, matrix, sums + first, m);
  });
}

void PointsOnLine::window_waves(double h, double* sums, std::size_t threads) const {
  by_queries(y, m, threads, [&](const double* q, std::size_t count, std::size_t first) {
    baseline::wave_sums(x, w, n, q, count, Window{-1.0, 1.0, h, true}, sums + first, m);
  });
}

void PointsOnLine::laplace(double h, double* sums, std::size_t threads) const {
  in_parallel(2, threads, [&](std::size_t side) {
    (side ? laplace_sweep_back : laplace_sweep)(x, w, n, y, m, h, sums + 2 * side * m, sums + (2 * side + 1) * m);
  });
}

void PointsOnLine::gaussian(double h, const double* below, double span, double half, std::size_t terms, bool integral,
                            double* sums, std::size_t threads) const {
  const Line line{x, w, below, n, h, span, half};
  const auto values = terms <= 16 ? EIGENLENS_PICK(gaussian_sums<16>) : EIGENLENS_PICK(gaussian_sums<24>);
  const auto integrals = terms <= 16 ? EIGENLENS_PICK(gaussian_integrals<16>) : EIGENLENS_PICK(gaussian_integrals<24>);
  by_queries(y, m, threads, [&](const double* q, std::size_t count, std::size_t first) {
    if (integral)
      integrals(line, q, 0, count, sums + first);
    else
      values(line, q, 0, count, sums + first, sums + m + first, sums + 2 * m + first);
  });
}

}  // namespace eigenlens
