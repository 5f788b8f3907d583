// Python bindings of weighted moments and of sparse normal products.
#pragma once

#include "common/python.hpp"
#include "moments/driver.hpp"

namespace eigenlens {

template <class T>
void moments(const py::array& X, const py::object& weight, Floats shift, const py::object& triangle, bool wide,
             Floats sum, Floats scatter, std::size_t threads) {
  const Rows<T> rows = rows_of<T>(X);
  const OptionalInput w(weight), R(triangle);
  const double* c = shift.data();
  double *s = sum.mutable_data(), *S = scatter.mutable_data();
  py::gil_scoped_release free;
  Moments<T>::about(rows, w.data, c, R.data, wide, s, S, threads);
}

template <class T, class Index>
void normal_product(py::array_t<T> data, py::array_t<Index> indices, py::array_t<Index> indptr,
                    const py::object& weight, Floats V, Floats offset, Floats Z, Floats total, std::size_t threads) {
  const OptionalInput w(weight);
  const SparseRows<T, Index> rows{static_cast<std::size_t>(indptr.shape(0) - 1), data.data(), indices.data(),
                                  indptr.data(), w.data};
  const std::size_t d = V.shape(0);
  const double *v = V.data(), *o = offset.data();
  double *z = Z.mutable_data(), *t = total.mutable_data();
  py::gil_scoped_release free;
  rows.normal_product(d, v, o, z, t, threads);
}

inline void bind_moments(py::module_& m) {
  m.def("moments_float64", &moments<double>);
  m.def("moments_float32", &moments<float>);
  m.def("normal_product", &normal_product<double, std::int32_t>);
  m.def("normal_product", &normal_product<float, std::int32_t>);
  m.def("normal_product", &normal_product<double, std::int64_t>);
  m.def("normal_product", &normal_product<float, std::int64_t>);
}

}  // namespace eigenlens
