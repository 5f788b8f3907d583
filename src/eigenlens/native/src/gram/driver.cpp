#include "gram/driver.hpp"

#define EIGENLENS_KERNELS "gram/kernels.hpp"
#include "common/instruction_sets.hpp"

#include "common/parallel.hpp"

namespace eigenlens {

template <class C>
template <class T>
Points<C>::Points(const Rows<T>& rows, const double* centre, double gamma, std::size_t threads)
    : n(rows.n),
      d(rows.d),
      stride(baseline::lines_of(d) * baseline::STRIP<C>),
      strips((baseline::strips_of<C>(n) + 2) * stride),  // a tile may read two strips behind the last
      levels((baseline::strips_of<C>(n) + 2) * baseline::STRIP<C>) {
  constexpr std::size_t side = baseline::STRIP<C>;
  const auto pack = EIGENLENS_PICK(pack_points<C, T>);
  const double scale = std::sqrt(2.0 * gamma);
  in_parallel(baseline::strips_of<C>(n) + 2, threads, [&](std::size_t s) {
    const std::size_t first = std::min(n, s * side);
    pack(rows.at(first), rows.row_stride, rows.column_stride, std::min(side, n - first), d, centre, scale,
         strips.data + s * stride, levels.data + s * side);
  });
}

constexpr std::size_t SIDE = 64, REACH = 512;  // points of a task, and of the other side that it meets at a time

template <class C, class O>
void GaussianKernel<C, O>::values(const Points<C>& x, const Points<C>& y, O* K, std::size_t width,
                                  std::size_t threads) {
  const auto kernel = EIGENLENS_PICK(gaussian<C, O>);
  constexpr std::size_t side = baseline::STRIP<C>;
  in_parallel((x.n + SIDE - 1) / SIDE, threads, [&](std::size_t task) {
    const std::size_t i = task * SIDE;
    for (std::size_t j = 0; j < y.n; j += REACH)
      kernel(x.strips.data + i / side * x.stride, x.levels.data + i, std::min(SIDE, x.n - i),
             y.strips.data + j / side * y.stride, y.levels.data + j, std::min(REACH, y.n - j), x.d, K + i * width + j,
             width);
  });
}

template <class C, class O>
void GaussianKernel<C, O>::gram(const Points<C>& x, const Upper<O>& K, std::size_t threads) {
  const auto kernel = EIGENLENS_PICK(gaussian<C, O>);
  constexpr std::size_t side = baseline::STRIP<C>;
  in_parallel((x.n + SIDE - 1) / SIDE, threads, [&](std::size_t task) {
    const std::size_t i = task * SIDE, rows = std::min(SIDE, x.n - i);
    for (std::size_t j = i; j < x.n; j += REACH)
      kernel(x.strips.data + i / side * x.stride, x.levels.data + i, rows, x.strips.data + j / side * x.stride,
             x.levels.data + j, std::min(REACH, x.n - j), x.d, K.at(i, j), K.strides[i / K.step]);
    for (std::size_t r = i; r < i + rows; ++r) *K.at(r, r) = O(1);
  });
}

constexpr std::size_t MAX_PARTS_OF_Z = 16, MIN_PART_ROWS = 128;  // rows of a part at least, on average

template <class T>
void SymmetricMatrix<T>::product(const Upper<T>& K, const double* V, double* Z, std::size_t width,
                                 std::size_t threads) {
  const auto kernel = EIGENLENS_PICK(symmetric_product<T>);
  const std::size_t n = K.n, parts = std::clamp<std::size_t>(n / MIN_PART_ROWS, 1, MAX_PARTS_OF_Z);
  // Rows become shorter: equal areas begin where the square roots of what is left are. A part has sums from its first row
  // to the last of all.
  std::vector<std::size_t> cuts(parts + 1, n), starts(parts + 1, 0);
  for (std::size_t p = 0; p < parts; ++p) {
    const double left = std::sqrt(static_cast<double>(parts - p) / static_cast<double>(parts));
    cuts[p] = static_cast<std::size_t>((1.0 - left) * static_cast<double>(n)) / 64 * 64;
    starts[p + 1] = starts[p] + (n - cuts[p]) * width;
  }
  Aligned<double> sums(starts[parts]);
  const auto sums_of = [&](std::size_t p, std::size_t row) { return sums.data + starts[p] + (row - cuts[p]) * width; };
  in_parallel(parts, threads, [&](std::size_t p) {
    std::memset(sums.data + starts[p], 0, (n - cuts[p]) * width * sizeof(double));
    kernel(K, cuts[p], cuts[p + 1], V, sums.data + starts[p] - cuts[p] * width, width);
  });
  // The parts are added in their order, so the rounding does not depend on the threads.
  in_parallel(parts, threads, [&](std::size_t piece) {
    const std::size_t begin = n * piece / parts, end = n * (piece + 1) / parts;
    std::copy(sums_of(0, begin), sums_of(0, end), Z + begin * width);
    for (std::size_t p = 1; p < parts; ++p) {
      const std::size_t from = std::max(begin, cuts[p]);
      if (from >= end) continue;
      const double* theirs = sums_of(p, from);
      for (std::size_t i = 0; i < (end - from) * width; ++i) Z[from * width + i] += theirs[i];
    }
  });
}

void Basis::remove_from(double* W, std::size_t width, double* H, std::size_t threads) const {
  constexpr std::size_t MAX_PIECES = 32, MIN_ROWS = 512;  // rows of a piece at least
  const auto multiply = EIGENLENS_PICK(span_products);
  const auto remove = EIGENLENS_PICK(remove_span);
  const Pieces pieces(n, std::clamp<std::size_t>(n / MIN_ROWS, 1, MAX_PIECES), 8);
  const auto sums = sum_pieces(pieces.count, j * width, threads, [&](std::size_t p, double* mine) {
    const std::size_t begin = pieces.cut(p);
    multiply(columns + begin, stride, j, pieces.cut(p + 1) - begin, W + begin * width, width, mine);
  });
  std::copy_n(sums.data, j * width, H);
  in_parallel(pieces.count, threads, [&](std::size_t p) {
    const std::size_t begin = pieces.cut(p);
    remove(columns + begin, stride, j, pieces.cut(p + 1) - begin, H, W + begin * width, width);
  });
}

template Points<double>::Points(const Rows<double>&, const double*, double, std::size_t);
template Points<double>::Points(const Rows<float>&, const double*, double, std::size_t);
template Points<float>::Points(const Rows<float>&, const double*, double, std::size_t);
template struct GaussianKernel<double, double>;
template struct GaussianKernel<double, float>;
template struct GaussianKernel<float, double>;
template struct GaussianKernel<float, float>;
template struct SymmetricMatrix<double>;
template struct SymmetricMatrix<float>;

}  // namespace eigenlens
