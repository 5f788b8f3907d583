// Python bindings of the Gaussian kernel and of products with symmetric matrices.
#pragma once

#include "common/python.hpp"
#include "gram/driver.hpp"

namespace eigenlens {

template <class T, class C>
std::unique_ptr<Points<C>> points(const py::array& X, double gamma, Floats centre, std::size_t threads) {
  const Rows<T> rows = rows_of<T>(X);
  const double* c = centre.data();
  py::gil_scoped_release free;
  return std::make_unique<Points<C>>(rows, c, gamma, threads);
}

// Panels of `step` rows each.
template <class T>
Upper<T> upper_of(const py::list& panels, std::size_t step) {
  Upper<T> K{{}, {}, 0, step};
  for (const auto& item : panels) {
    auto panel = item.cast<py::array_t<T>>();
    K.panels.push_back(const_cast<T*>(panel.data()));
    K.strides.push_back(panel.strides(0) / sizeof(T));
    K.n += panel.shape(0);
  }
  return K;
}

template <class T, class C>
void gaussian(const Points<C>& x, const Points<C>& y, py::array_t<T> K, std::size_t threads) {
  const std::size_t width = K.strides(0) / sizeof(T);
  T* values = K.mutable_data();
  py::gil_scoped_release free;
  GaussianKernel<C, T>::values(x, y, values, width, threads);
}

template <class T, class C>
void gaussian_gram(const Points<C>& x, const py::list& panels, std::size_t step, std::size_t threads) {
  const Upper<T> K = upper_of<T>(panels, step);
  py::gil_scoped_release free;
  GaussianKernel<C, T>::gram(x, K, threads);
}

template <class T>
void symmetric(const py::list& panels, std::size_t step, Floats V, Floats Z,
               std::size_t threads) {
  const Upper<T> K = upper_of<T>(panels, step);
  const std::size_t width = V.shape(1);
  const double* v = V.data();
  double* z = Z.mutable_data();
  py::gil_scoped_release free;
  SymmetricMatrix<T>::product(K, v, z, width, threads);
}

inline void bind_gram(py::module_& m) {
  py::class_<Points<double>>(m, "Points64");
  py::class_<Points<float>>(m, "Points32");
  m.def("points_float64", &points<double, double>);
  m.def("points_float32", &points<float, float>);
  m.def("points_float32_by_float64", &points<float, double>);
  m.def("gaussian", &gaussian<double, double>);
  m.def("gaussian", &gaussian<float, float>);
  m.def("gaussian", &gaussian<float, double>);
  m.def("gaussian_wide", &gaussian<double, float>);
  m.def("gaussian_gram_float64", &gaussian_gram<double, double>);
  m.def("gaussian_gram_float32", &gaussian_gram<float, float>);
  m.def("gaussian_gram_float32", &gaussian_gram<float, double>);
  m.def("symmetric_float64", &symmetric<double>);
  m.def("symmetric_float32", &symmetric<float>);
}

}  // namespace eigenlens
