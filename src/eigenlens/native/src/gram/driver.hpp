// Gaussian kernel matrices, and products with symmetric matrices, on several threads.
#pragma once

#include <cstddef>

#include "common/rows.hpp"

namespace eigenlens {

// Points in strips, and their levels (see rbf.hpp), packed once for many calls. C is the type of the arithmetic.
template <class C>
struct Points {
  std::size_t n, d, stride;
  Aligned<C> strips, levels;

  template <class T>
  Points(const Rows<T>& rows, const double* centre, double gamma, std::size_t threads);
};

// Values of type O.
template <class C, class O>
struct GaussianKernel {
  // K (n, m) with `width` entries per row is written.
  static void values(const Points<C>& x, const Points<C>& y, O* K, std::size_t width, std::size_t threads);
  // The Gram matrix of x is written on and above its diagonal; the steps of K are a multiple of 64.
  static void gram(const Points<C>& x, const Upper<O>& K, std::size_t threads);
};

template <class T>
struct SymmetricMatrix {
  // Z (n, width) = K V is written; width is a multiple of 8, and V and Z are 64-byte aligned.
  static void product(const Upper<T>& K, const double* V, double* Z, std::size_t width, std::size_t threads);
};

// A basis (n, j) of contiguous columns, `stride` entries apart.
struct Basis {
  const double* columns;
  std::size_t stride, n, j;

  // H (j, width) = VᵀW is written, and W (n, width) becomes W − V H; both as for a product with a symmetric matrix.
  void remove_from(double* W, std::size_t width, double* H, std::size_t threads) const;
};

}  // namespace eigenlens
