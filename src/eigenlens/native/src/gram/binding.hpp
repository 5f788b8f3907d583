// Python bindings of the Gaussian kernel and of products with symmetric matrices.
#pragma once

#include "common/python.hpp"
#include "gram/driver.hpp"

namespace eigenlens {

// Rows of type T, made ready for arithmetic of type C.
template <class T, class C>
std::unique_ptr<Points<C>> points(Arguments& given) {
  const auto rows = given.rows<T>();
  const double gamma = given.real();
  const auto centre = given.input(rows.d);
  const std::size_t threads = given.size();
  const Unlocked unlocked(given);
  return std::make_unique<Points<C>>(rows, static_cast<const double*>(centre), gamma, threads);
}

// A list of panels, and how many rows each has.
template <class T>
Upper<T> upper_of(Arguments& given, int access) {
  const auto panels = given.matrices<T>(access);
  Upper<T> K{{}, {}, 0, given.size()};
  given.require(K.step > 0 && K.step % 64 == 0, "is not a multiple of 64");
  for (const auto& panel : panels) K.n += panel.shape(0);
  for (const auto& panel : panels) {
    const std::size_t start = K.panels.size() * K.step;
    const bool fits = start < K.n && panel.shape(0) == std::min(K.step, K.n - start) && panel.shape(1) == K.n - start;
    given.require(fits, "does not go with the shapes of the panels");
    K.panels.push_back(panel);
    K.strides.push_back(panel.stride(0));
  }
  return K;
}

// Values of type T.
template <class T, class C>
void gaussian(Arguments& given) {
  const auto &x = given.object<Points<C>>(), &y = given.object<Points<C>>();
  if (x.d != y.d) throw std::invalid_argument("points have other columns");
  const auto K = given.matrix<T>(x.n, y.n);
  const std::size_t threads = given.size(), width = K.stride(0);
  const Unlocked unlocked(given);
  GaussianKernel<C, T>::values(x, y, K, width, threads);
}

template <class T, class C>
void gaussian_gram(Arguments& given) {
  const auto& x = given.object<Points<C>>();
  const Upper<T> K = upper_of<T>(given, PyBUF_WRITABLE);
  if (K.n != x.n) throw std::invalid_argument("a Gram matrix has as many rows as there are points");
  const std::size_t threads = given.size();
  const Unlocked unlocked(given);
  GaussianKernel<C, T>::gram(x, K, threads);
}

inline void gaussian_of_any(Arguments& given) {
  if (given.is<Points<float>>(0)) gaussian<float, float>(given);
  else if (given.holds<float>(2)) gaussian<float, double>(given);
  else gaussian<double, double>(given);
}

inline void gaussian_gram_float32(Arguments& given) {
  given.is<Points<float>>(0) ? gaussian_gram<float, float>(given) : gaussian_gram<float, double>(given);
}

template <class T>
void symmetric(Arguments& given) {
  const Upper<T> K = upper_of<T>(given, PyBUF_SIMPLE);
  const auto V = given.input_lines(K.n, ANY);
  const std::size_t width = V.shape(1);
  const auto Z = given.output_lines(K.n, width);
  const std::size_t threads = given.size();
  const Unlocked unlocked(given);
  SymmetricMatrix<T>::product(K, V, Z, width, threads);
}

inline void remove_span(Arguments& given) {
  const auto columns = given.rows<double>();  // of the basis, one after the other
  given.require(columns.n < 2 || columns.row_stride >= 0, "has columns in another order");
  given.require(columns.d < 2 || columns.column_stride == 1, "has columns that are not contiguous");
  const auto W = given.output_lines(columns.d, ANY);
  const std::size_t width = W.shape(1);
  const auto H = given.output_lines(columns.n, width);
  const std::size_t threads = given.size();
  const Unlocked unlocked(given);
  Basis{columns.x, static_cast<std::size_t>(columns.row_stride), columns.d, columns.n}.remove_from(W, width, H, threads);
}

inline PyMethodDef gram_functions[] = {
    method<points<double, double>>("points_float64"),
    method<points<float, float>>("points_float32"),
    method<points<float, double>>("points_float32_by_float64"),
    method<gaussian_of_any>("gaussian"),
    method<gaussian<double, float>>("gaussian_wide"),
    method<gaussian_gram<double, double>>("gaussian_gram_float64"),
    method<gaussian_gram_float32>("gaussian_gram_float32"),
    method<symmetric<double>>("symmetric_float64"),
    method<symmetric<float>>("symmetric_float32"),
    method<remove_span>("remove_span"),
    {},
};

}  // namespace eigenlens
