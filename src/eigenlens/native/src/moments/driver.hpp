// From rows to sums and scatter on several threads: which thread does what, and nothing of the arithmetic.
//
// Narrow rows are cut into pieces, each with tiles of its own, so that a panel stays in the second-level cache.
// For wide rows the tiles are the bigger part: there is one set of them, several panels are packed at once, and the
// threads share out the strips. Both orders depend on n and d alone, so the rounding does too.
#pragma once

#include "common/rows.hpp"

namespace eigenlens {

// Both triangles of scatter (d, d) from the tiles of the upper one.
template <class C>
void spread(const double* tiles, std::size_t d, double* scatter) {
  constexpr std::size_t side = baseline::STRIP<C>;
  const std::size_t strips = baseline::strips_of<C>(d);
  for (std::size_t a = 0; a < strips; ++a)
    for (std::size_t b = a; b < strips; ++b, tiles += side * side)
      for (std::size_t i = a * side; i < std::min(d, (a + 1) * side); ++i)
        for (std::size_t j = b * side; j < std::min(d, (b + 1) * side); ++j)
          scatter[i * d + j] = scatter[j * d + i] = tiles[(i - a * side) * side + (j - b * side)];
}

// The blocks of an upper triangular R (d, d) that whiten() wants: −R_ts above the diagonal, R_ss⁻¹ on it.
inline void whitening_blocks(const double* R, std::size_t d, double* at) {
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

constexpr std::size_t PIECES = 16, PIECE_ROWS = 512;

// Multiplied in double, whatever T is; `blocks` as for whiten, or null.
template <class T>
void narrow_moments(const Rows<T>& rows, const double* shift, const double* blocks, double* sum, double* scatter,
                    std::size_t threads) {
  const auto kernel = EIGENLENS_PICK(moments<T>);
  const std::size_t n = rows.n, d = rows.d, size = baseline::tiles_of<double>(d) * 64;
  const std::size_t pieces = std::clamp<std::size_t>(n / PIECE_ROWS, 1, PIECES), step = (n + pieces - 1) / pieces;
  std::vector<double> sums(pieces * d);
  Aligned<double> tiles(pieces * size);
  in_parallel(pieces, threads, [&](std::size_t p) {
    double* mine = tiles.data + p * size;
    std::memset(mine, 0, size * sizeof(double));
    const std::size_t begin = std::min(n, p * step), end = std::min(n, begin + step);
    kernel(rows.at(begin), rows.row_stride, rows.column_stride, rows.root_at(begin), shift, blocks, end - begin, d,
           sums.data() + p * d, mine);
  });
  for (std::size_t p = 1; p < pieces; ++p) {
    for (std::size_t j = 0; j < d; ++j) sums[j] += sums[p * d + j];
    for (std::size_t j = 0; j < size; ++j) tiles.data[j] += tiles.data[p * size + j];
  }
  std::copy_n(sums.data(), d, sum);
  spread<double>(tiles.data, d, scatter);
}

constexpr std::size_t PANELS = 8, STRIPS_AT_ONCE = 4;

// Multiplied in T.
template <class T>
void wide_moments(const Rows<T>& rows, const double* shift, double* sum, double* scatter, std::size_t threads) {
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
      fill(rows.at(first), rows.row_stride, rows.column_stride, rows.root_at(first), shift, d, height(p),
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

}  // namespace eigenlens
