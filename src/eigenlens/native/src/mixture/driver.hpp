// The passes of a mixture on several threads: which rows go to whom, and the sums of all.
//
// Rows are cut into pieces by n, K and d alone, each with sums of its own that are added in order: the rounding does
// not depend on the threads.
#pragma once

#include "common/rows.hpp"
#include "moments/driver.hpp"

namespace eigenlens {

// K components in d dimensions; what the shapes are, the kernels say.
struct Components {
  std::size_t K, d;
  const double *levels, *means, *shapes;
  std::size_t shape_size;  // numbers of a shape

  double cost() const { return static_cast<double>(K) * static_cast<double>(2 * shape_size + 30); }
};

constexpr std::size_t MOST_PIECES = 32, FEWEST_PIECES = 4;
constexpr std::size_t SUMS_OF_PIECES = std::size_t(1) << 23;  // numbers that the sums of all pieces may take
constexpr double COST_OF_PIECE = 1e6;  // products at least: a tenth of a millisecond, the start of a few threads

// `cost` is that of one row in products, an exponential being about thirty; `size` the numbers that a piece sums.
struct Pieces {
  static constexpr std::size_t BATCH = baseline::mixture::BATCH;
  std::size_t n, count, step;

  Pieces(std::size_t n, double cost, std::size_t size) : n(n) {
    const std::size_t most = std::clamp(SUMS_OF_PIECES / (size + 1), FEWEST_PIECES, MOST_PIECES);
    const double worth = std::min(static_cast<double>(n) * cost / COST_OF_PIECE, static_cast<double>(n) / BATCH);
    count = static_cast<std::size_t>(std::clamp(worth, 1.0, static_cast<double>(most)));
    step = ((n + count - 1) / count + BATCH - 1) / BATCH * BATCH;
  }
  std::size_t cut(std::size_t piece) const { return std::min(n, piece * step); }
};

// The lower triangular roots (K, d, d) as the kernels read them (see Full): shape_size numbers a component.
inline std::size_t packed_root_size(std::size_t d) {
  std::size_t size = 0;
  for (std::size_t i = 0; i < d; i += 4) size += 4 * std::min(d, i + 4);
  return size;
}

inline void pack_root(const double* root, std::size_t d, double* to) {
  for (std::size_t first = 0; first < d; first += 4)
    for (std::size_t j = 0; j < std::min(d, first + 4); ++j)
      for (std::size_t i = first; i < first + 4; ++i) *to++ = i < d && j <= i ? root[i * d + j] : 0.0;
}

// Runs the kernel over all pieces; `sums` (K × size) are written, and the log-likelihood is the answer.
template <class T, class Kernel>
double mixture_pass(Kernel kernel, const Rows<T>& rows, const double* weight, const Components& components,
                    std::size_t size, double* sums, std::size_t threads) {
  const std::size_t all = components.K * size;
  const Pieces pieces(rows.n, components.cost(), all);
  std::vector<double> loglik(pieces.count);
  Aligned<double> parts(pieces.count * all);
  in_parallel(pieces.count, threads, [&](std::size_t p) {
    std::memset(parts.data + p * all, 0, all * sizeof(double));
    loglik[p] = kernel(rows, weight, components, pieces.cut(p), pieces.cut(p + 1), parts.data + p * all);
  });
  for (std::size_t p = 1; p < pieces.count; ++p) {
    loglik[0] += loglik[p];
    for (std::size_t j = 0; j < all; ++j) parts.data[j] += parts.data[p * all + j];
  }
  std::copy_n(parts.data, all, sums);
  return loglik[0];
}

constexpr std::size_t NARROW_COLUMNS = 16;  // up to here rows lie along the vectors

template <class T>
double full_pass(const Rows<T>& rows, const double* weight, const Components& components, double* weights,
                 double* total, double* scatter, std::size_t threads) {
  const std::size_t K = components.K, d = components.d;
  const bool narrow = d <= NARROW_COLUMNS;
  const std::size_t size = narrow ? EIGENLENS_PICK(mixture::narrow_size)(d) : baseline::mixture::wide_size(d);
  Aligned<double> sums(K * size);
  const auto kernel = narrow ? EIGENLENS_PICK(mixture::narrow_pass<Rows<T>, Components>)
                             : EIGENLENS_PICK(mixture::wide_pass<Rows<T>, Components>);
  const double loglik = mixture_pass(kernel, rows, weight, components, size, sums.data, threads);
  const auto unpack = EIGENLENS_PICK(mixture::narrow_unpack);
  for (std::size_t k = 0; k < K; ++k) {
    const double* from = sums.data + k * size;
    if (narrow) {
      unpack(from, d, weights + k, total + k * d, scatter + k * d * d);
      continue;
    }
    weights[k] = from[0];
    std::copy_n(from + 8, d, total + k * d);
    spread<double>(from + 8 + baseline::strips_of<double>(d) * 8, d, scatter + k * d * d);
  }
  return loglik;
}

template <class T>
double diagonal_pass(const Rows<T>& rows, const double* weight, const Components& components, double* weights,
                     double* total, double* square, std::size_t threads) {
  const std::size_t K = components.K, d = components.d, size = baseline::mixture::diagonal_size(d);
  Aligned<double> sums(K * size);
  const auto kernel = EIGENLENS_PICK(mixture::diagonal_pass<Rows<T>, Components>);
  const double loglik = mixture_pass(kernel, rows, weight, components, size, sums.data, threads);
  for (std::size_t k = 0; k < K; ++k) {
    const double* from = sums.data + k * size;
    weights[k] = from[0];
    std::copy_n(from + 8, d, total + k * d);
    std::copy_n(from + 8 + baseline::strips_of<double>(d) * 8, d, square + k * d);
  }
  return loglik;
}

// S mixtures of the same number of components: component k of mixture s is the one at s K + k. Mixtures are shared out
// over the threads if there are enough of them, else the rows of each; the rounding is that of one mixture either way.
template <class T, class Pass>
void passes(Pass pass, const Rows<T>& rows, const double* weight, const Components& all, std::size_t S, double* loglik,
            double* weights, double* total, double* spread, std::size_t spread_size, std::size_t threads) {
  const std::size_t K = all.K / S, d = all.d;
  const double cost = all.cost() * static_cast<double>(rows.n);
  const std::size_t worth = static_cast<std::size_t>(std::max(1.0, std::min(cost / COST_OF_PIECE, 1e6)));
  const std::size_t each = S < threads ? threads : 1;
  in_parallel(S, each == 1 ? std::min(threads, worth) : 1, [&](std::size_t s) {
    const std::size_t k = s * K;
    const Components one{K, d, all.levels + k, all.means + k * d, all.shapes + k * all.shape_size, all.shape_size};
    loglik[s] = pass(rows, weight, one, weights + k, total + k * d, spread + k * spread_size, each);
  });
}

template <class T>
void joint_densities(const Rows<T>& rows, const Components& components, bool full, double* out, std::size_t threads) {
  const auto kernel = full ? EIGENLENS_PICK(mixture::full_joint<Rows<T>, Components>)
                           : EIGENLENS_PICK(mixture::diagonal_joint<Rows<T>, Components>);
  const Pieces pieces(rows.n, components.cost(), 0);
  in_parallel(pieces.count, threads,
              [&](std::size_t p) { kernel(rows, components, pieces.cut(p), pieces.cut(p + 1), out); });
}

}  // namespace eigenlens
