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

constexpr std::size_t PARTS_OF_Z = 4;  // added in pairs, so the rounding does not depend on the threads

template <class T>
void SymmetricMatrix<T>::product(const Upper<T>& K, const double* V, double* Z, std::size_t width,
                                 std::size_t threads) {
  const auto kernel = EIGENLENS_PICK(symmetric_product<T>);
  const std::size_t n = K.n, size = n * width;
  Aligned<double> parts(PARTS_OF_Z * size);
  // Column j meets j rows: equal areas end at the square roots.
  auto cut = [&](std::size_t p) {
    const double share = std::sqrt(static_cast<double>(p) / PARTS_OF_Z);
    return p == PARTS_OF_Z ? n : static_cast<std::size_t>(share * static_cast<double>(n)) / 64 * 64;
  };
  in_parallel(PARTS_OF_Z, threads, [&](std::size_t p) {
    double* mine = parts.data + p * size;
    std::memset(mine, 0, size * sizeof(double));
    kernel(K, cut(p), cut(p + 1), V, mine, width);
  });
  for (std::size_t i = 0; i < size; ++i)
    Z[i] = (parts.data[i] + parts.data[size + i]) + (parts.data[2 * size + i] + parts.data[3 * size + i]);
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
