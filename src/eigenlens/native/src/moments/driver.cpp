// Narrow rows are cut into pieces, each with tiles of its own, so that a panel stays in the second-level cache. For wide
// rows the tiles are the larger part: there is one set of them, several panels are packed at once, and the threads share
// the strips. Both orders depend on n and d alone, so the rounding does not depend on the threads.
#include "moments/driver.hpp"

#include <limits>
#include <stdexcept>

#define EIGENLENS_KERNELS "moments/kernels.hpp"
#include "common/instruction_sets.hpp"

#include "common/parallel.hpp"
#include "moments/spread.hpp"

namespace eigenlens {

namespace {

// The blocks of an upper triangular R (d, d) that whiten() wants: −R_ts above the diagonal, R_ss⁻¹ on it.
void whitening_blocks(const double* R, std::size_t d, double* at) {
  const std::size_t strips = baseline::strips_of<double>(d);
  auto entry = [&](std::size_t i, std::size_t j) { return i < d && j < d ? R[i * d + j] : i == j ? 1.0 : 0.0; };
  std::memset(at, 0, baseline::tiles_of<double>(d) * 64 * sizeof(double));
  for (std::size_t s = 0; s < strips; ++s) {
    for (std::size_t t = 0; t < s; ++t, at += 64)
      for (std::size_t i = 0; i < 8; ++i)
        for (std::size_t j = 0; j < 8; ++j) at[i * 8 + j] = -entry(t * 8 + i, s * 8 + j);
    for (std::size_t j = 0; j < 8; ++j) {  // column j of the inverse, from the diagonal up
      at[j * 8 + j] = 1.0 / entry(s * 8 + j, s * 8 + j);
      for (std::size_t i = j; i-- > 0;) {
        double total = 0.0;
        for (std::size_t k = i + 1; k <= j; ++k) total += entry(s * 8 + i, s * 8 + k) * at[k * 8 + j];
        at[i * 8 + j] = -total / entry(s * 8 + i, s * 8 + i);
      }
    }
    at += 64;
  }
}

constexpr std::size_t MIN_ROWS = 256;  // rows of a piece at least
constexpr std::size_t ENOUGH_PIECES = 16, MAX_PIECES = 64, MAX_SUMS = 1 << 21;  // numbers that more than enough may take

// Multiplied in double, for every T; `blocks` as for whiten, or null.
template <class T>
void narrow_moments(const Rows<T>& rows, const double* root, const double* shift, const double* blocks, double* sum,
                    double* scatter, std::size_t threads) {
  const auto kernel = EIGENLENS_PICK(moments<T>);
  const std::size_t d = rows.d, size = baseline::tiles_of<double>(d) * 64;
  const std::size_t most = std::clamp<std::size_t>(MAX_SUMS / (size + d), ENOUGH_PIECES, MAX_PIECES);
  const Pieces pieces(rows.n, std::clamp<std::size_t>(rows.n / MIN_ROWS, 1, most));
  const auto tiles = sum_pieces(pieces.count, size + d, threads, [&](std::size_t p, double* mine) {
    const std::size_t begin = pieces.cut(p), end = pieces.cut(p + 1);
    kernel(rows.at(begin), rows.row_stride, rows.column_stride, root ? root + begin : nullptr, shift, blocks,
           end - begin, d, mine + size, mine);
  });
  std::copy_n(tiles.data + size, d, sum);
  spread<double>(tiles.data, d, scatter);
}

constexpr std::size_t PANELS = 8, STRIPS_AT_ONCE = 4;  // panels in memory at a time, strips of a task

// Multiplied in T.
template <class T>
void wide_moments(const Rows<T>& rows, const double* root, const double* shift, double* sum, double* scatter,
                  std::size_t threads) {
  const auto fill = EIGENLENS_PICK(fill<T, T>);
  const auto syrk = EIGENLENS_PICK(syrk<T>);
  constexpr std::size_t PANEL = baseline::PANEL;
  const std::size_t d = rows.d, strips = baseline::strips_of<T>(d), panel = strips * baseline::STRIDE<T>;
  const std::size_t size = baseline::tiles_of<T>(d) * baseline::TILE<T>;
  Aligned<T> panels(PANELS * panel);
  Aligned<double> tiles(size);
  std::memset(tiles.data, 0, size * sizeof(double));
  std::vector<double> sums(PANELS * d);
  for (std::size_t begin = 0; begin < rows.n; begin += PANELS * PANEL) {
    const std::size_t here = std::min(PANELS * PANEL, rows.n - begin), count = (here + PANEL - 1) / PANEL;
    auto height = [&](std::size_t p) { return std::min(PANEL, here - p * PANEL); };
    in_parallel(count, threads, [&](std::size_t p) {
      const std::size_t first = begin + p * PANEL;
      fill(rows.at(first), rows.row_stride, rows.column_stride, root ? root + first : nullptr, shift, d, height(p),
           panels.data + p * panel, sums.data() + p * d);
    });
    in_parallel((strips + STRIPS_AT_ONCE - 1) / STRIPS_AT_ONCE, threads, [&](std::size_t group) {
      const std::size_t first = group * STRIPS_AT_ONCE, last = std::min(strips, first + STRIPS_AT_ONCE);
      for (std::size_t p = 0; p < count; ++p)
        syrk(panels.data + p * panel, strips, height(p), first, last, tiles.data);
    });
  }
  for (std::size_t p = 1; p < PANELS; ++p)
    for (std::size_t j = 0; j < d; ++j) sums[j] += sums[p * d + j];
  std::copy_n(sums.data(), d, sum);
  spread<T>(tiles.data, d, scatter);
}

}  // namespace

template <class T>
void Moments<T>::about(const Rows<T>& rows, const double* weight, const double* shift, const double* triangle,
                       bool wide, double* sum, double* scatter, std::size_t threads) {
  std::vector<double> roots(weight ? rows.n : 0);
  for (std::size_t i = 0; i < roots.size(); ++i) roots[i] = std::sqrt(weight[i]);
  const double* root = weight ? roots.data() : nullptr;
  if (wide) return wide_moments(rows, root, shift, sum, scatter, threads);
  Aligned<double> blocks(triangle ? baseline::tiles_of<double>(rows.d) * 64 : 0);
  if (triangle) whitening_blocks(triangle, rows.d, blocks.data);
  narrow_moments(rows, root, shift, triangle ? blocks.data : nullptr, sum, scatter, threads);
}

namespace {

// These are explained, and have the same values, in stats/block_moments.py, the twin of what follows.
constexpr std::size_t SHIFT_ROWS = 128;
constexpr double CENTRE_STEP = 0x1p-12, MAX_EXACT_STEPS = 0x1p52;
template <class T>
constexpr double MAX_SHIFT_ERROR = sizeof(T) == sizeof(double) ? 1e4 : 1.0;

// Some rows of positive weight, spread evenly over all of them.
std::vector<std::size_t> sample_rows(std::size_t n, const double* weight) {
  std::vector<std::size_t> some;
  const std::size_t positive = weight ? n - std::count(weight, weight + n, 0.0) : n;
  const std::size_t step = std::max<std::size_t>(1, positive / SHIFT_ROWS);
  for (std::size_t i = 0, seen = 0; i < n; ++i)
    if ((!weight || weight[i] != 0.0) && seen++ % step == 0) some.push_back(i);
  return some;
}

// A centre (d,) near the rows with positive weight, exact in T.
template <class T>
std::vector<double> provisional_mean(const Rows<T>& rows, const double* weight) {
  const std::size_t d = rows.d;
  const std::vector<std::size_t> some = sample_rows(rows.n, weight);
  std::vector<double> mean(d), square(d);
  double total = 0.0;
  for (const std::size_t i : some) total += weight ? weight[i] : 1.0;
  const auto average = [&](std::vector<double>& to, auto value) {
    for (const std::size_t i : some)
      for (std::size_t j = 0; j < d; ++j)
        to[j] += (weight ? weight[i] : 1.0) * value(static_cast<double>(rows.at(i)[static_cast<std::ptrdiff_t>(j) * rows.column_stride]), j);
    for (double& sum : to) sum /= total;
  };
  average(mean, [](double x, std::size_t) { return x; });
  average(square, [&](double x, std::size_t j) { return (x - mean[j]) * (x - mean[j]); });
  bool near = true;
  for (std::size_t j = 0; j < d; ++j) near &= 9.0 * mean[j] * mean[j] < square[j];
  if (near) return std::vector<double>(d);
  for (std::size_t j = 0; j < d; ++j) {
    int exponent = 0;
    std::frexp(std::sqrt(square[j]), &exponent);
    const double unit = std::ldexp(CENTRE_STEP, exponent), steps = std::rint(mean[j] / unit);
    const bool exact = std::abs(steps) < MAX_EXACT_STEPS && square[j] > 0.0;
    mean[j] = static_cast<double>(static_cast<T>(exact ? steps * unit : mean[j]));
  }
  return mean;
}

// Whether the sums about a shift cost too many digits.
template <class T>
bool is_far(const std::vector<double>& sum, const double* scatter, double total) {
  const std::size_t d = sum.size();
  for (std::size_t j = 0; j < d; ++j) {
    const double lost = sum[j] * (sum[j] / total);
    if (lost > MAX_SHIFT_ERROR<T> * std::max(scatter[j * d + j] - lost, 0.0)) return true;
  }
  return false;
}

}  // namespace

template <class T>
void Moments<T>::about_mean(const Rows<T>& rows, const double* weight, double total, bool wide, double* mean,
                            double* scatter, double* rest, std::size_t threads) {
  const std::size_t d = rows.d;
  std::vector<double> shift = provisional_mean(rows, weight), sum(d);
  about(rows, weight, shift.data(), nullptr, wide, sum.data(), scatter, threads);
  if (is_far<T>(sum, scatter, total)) {
    for (std::size_t j = 0; j < d; ++j) shift[j] = static_cast<double>(static_cast<T>(shift[j] + sum[j] / total));
    about(rows, weight, shift.data(), nullptr, wide, sum.data(), scatter, threads);
  }
  std::vector<double> delta(d);
  for (std::size_t j = 0; j < d; ++j) delta[j] = sum[j] / total;
  for (std::size_t i = 0; i < d; ++i)
    for (std::size_t j = 0; j < d; ++j) scatter[i * d + j] -= sum[i] * delta[j];
  for (std::size_t j = 0; j < d; ++j) {
    scatter[j * d + j] = std::max(scatter[j * d + j], 0.0);  // rounding may leave a constant column below zero
    mean[j] = shift[j] + delta[j];
    const double added = mean[j] - shift[j];
    rest[j] = (shift[j] - (mean[j] - added)) + (delta[j] - added);
  }
}

template <class T, class Index>
void SparseRows<T, Index>::check(std::size_t stored, std::size_t d) const {
  bool within = indptr[0] >= 0 && static_cast<std::size_t>(indptr[n]) <= stored;
  for (std::size_t i = 0; i < n; ++i) within &= indptr[i] <= indptr[i + 1];
  if (!within) throw std::invalid_argument("rows of a sparse matrix end beyond its entries");
  // The highest bit of an index is set if it is negative, and that of last − index if it is too large.
  using Bits = std::make_unsigned_t<Index>;
  constexpr auto most = static_cast<std::size_t>(std::numeric_limits<Index>::max());
  const auto last = static_cast<Bits>(std::min(d - 1, most));
  Bits bits = 0;
  for (Index e = indptr[0]; e < indptr[n]; ++e) bits |= static_cast<Bits>(indices[e]) | (last - static_cast<Bits>(indices[e]));
  const bool beyond = bits >> (std::numeric_limits<Bits>::digits - 1) || (d == 0 && indptr[0] < indptr[n]);
  if (beyond) throw std::invalid_argument("a sparse matrix has entries beyond its columns");
}

constexpr std::size_t MAX_SPARSE_PIECES = 8;

template <class T, class Index>
void SparseRows<T, Index>::normal_product(std::size_t d, const double* V, const double* offset, double* Z,
                                          double* total, std::size_t threads) const {
  const auto kernel = EIGENLENS_PICK(normal_product<T, Index>);
  const std::size_t size = d * 8, stored = static_cast<std::size_t>(indptr[n] - indptr[0]);
  const std::size_t pieces = std::clamp<std::size_t>(stored / (4 * size + 1), 1, MAX_SPARSE_PIECES);
  // Pieces hold about the same number of stored entries.
  auto cut = [&](std::size_t p) {
    const Index at = static_cast<Index>(indptr[0] + static_cast<Index>(stored / pieces * p));
    return p == pieces ? n : static_cast<std::size_t>(std::lower_bound(indptr, indptr + n, at) - indptr);
  };
  const auto sums = sum_pieces(pieces, size + 8, threads, [&](std::size_t p, double* mine) {
    kernel(data - indptr[0], indices - indptr[0], indptr, weight, p ? cut(p) : 0, cut(p + 1), V, offset, mine,
           mine + size);
  });
  std::copy_n(sums.data, size, Z);
  std::copy_n(sums.data + size, 8, total);
}

template struct Moments<double>;
template struct Moments<float>;
template struct SparseRows<double, std::int32_t>;
template struct SparseRows<float, std::int32_t>;
template struct SparseRows<double, std::int64_t>;
template struct SparseRows<float, std::int64_t>;

}  // namespace eigenlens
