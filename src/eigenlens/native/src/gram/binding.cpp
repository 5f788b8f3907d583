// Python bindings of the radial basis function kernel and of products with symmetric matrices.
#include "common/python.hpp"

#define EIGENLENS_KERNELS "gram/kernels.hpp"
#include "common/instruction_sets.hpp"

#include "gram/rbf_driver.hpp"

namespace eigenlens {

// The points of rows, packed once for many calls.
template <class T, class C>
std::unique_ptr<Points<C>> points(const py::array& X, double gamma, py::array_t<double> centre, std::size_t threads) {
  const Rows<T> rows = rows_of<T>(X);
  const double* c = centre.data();
  py::gil_scoped_release free;
  return std::make_unique<Points<C>>(rows, c, gamma, threads);
}

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

// K (n, m) is written.
template <class T, class C>
void gaussian(const Points<C>& x, const Points<C>& y, py::array_t<T> K, std::size_t threads) {
  const std::size_t width = K.strides(0) / sizeof(T);
  T* values = K.mutable_data();
  py::gil_scoped_release free;
  gaussian_values<C, T>(x, y, values, width, threads);
}

// The panels, of `step` rows each, are written on and above the diagonal.
template <class T, class C>
void gaussian_gram(const Points<C>& x, const py::list& panels, std::size_t step, std::size_t threads) {
  const Upper<T> K = upper_of<T>(panels, step);
  py::gil_scoped_release free;
  gaussian_upper<C, T>(x, K, threads);
}

// V and Z are (n, a multiple of 8) and 64-byte aligned; Z is written.
template <class T>
void symmetric(const py::list& panels, std::size_t step, py::array_t<double> V, py::array_t<double> Z,
               std::size_t threads) {
  const Upper<T> K = upper_of<T>(panels, step);
  const std::size_t width = V.shape(1);
  const double* v = V.data();
  double* z = Z.mutable_data();
  py::gil_scoped_release free;
  symmetric_product<T>(K, v, z, width, threads);
}

void bind_gram(py::module_& m) {
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
