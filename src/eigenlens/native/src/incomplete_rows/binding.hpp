// Python bindings of latent models on incomplete rows.
#pragma once

#include "common/python.hpp"
#include "incomplete_rows/driver.hpp"

namespace eigenlens {

inline LatentParameters latent_parameters(const Floats& centre, const Floats& scale, const Floats& mean,
                                          const Floats& W, const Floats& psi) {
  return {static_cast<std::size_t>(W.shape(0)), static_cast<std::size_t>(W.shape(1)), centre.data(), scale.data(),
          mean.data(), W.data(), psi.data()};
}

template <class T>
void latent_expected(const py::array& X, const py::object& weight, const Floats& centre, const Floats& scale,
                     const Floats& mean, const Floats& W, const Floats& psi, std::size_t refinements, Floats pairs,
                     Floats right, Floats square, Floats totals, std::size_t threads) {
  const Rows<T> rows = rows_of<T>(X);
  const LatentParameters given = latent_parameters(centre, scale, mean, W, psi);
  const OptionalInput w(weight);
  double *P = pairs.mutable_data(), *R = right.mutable_data(), *s = square.mutable_data(), *t = totals.mutable_data();
  py::gil_scoped_release free;
  IncompleteRows<T>::expected(rows, w.data, given, refinements, P, R, s, t, threads);
}

template <class T>
void latent_information(const py::array& X, const py::object& weight, const Floats& centre, const Floats& scale,
                        const Floats& mean, const Floats& W, const Floats& psi, Floats pairs, Floats weights,
                        Floats square, Floats totals, std::size_t threads) {
  const Rows<T> rows = rows_of<T>(X);
  const LatentParameters given = latent_parameters(centre, scale, mean, W, psi);
  const OptionalInput w(weight);
  double *P = pairs.mutable_data(), *N = weights.mutable_data(), *s = square.mutable_data(), *t = totals.mutable_data();
  py::gil_scoped_release free;
  IncompleteRows<T>::information(rows, w.data, given, P, N, s, t, threads);
}

template <class T>
void latent_derivative(const py::array& X, const py::object& weight, const Floats& centre, const Floats& scale,
                       const Floats& mean, const Floats& W, const Floats& psi, std::size_t refinements,
                       const Floats& m, const Floats& D, const Floats& f, Floats pairs, Floats right, Floats square,
                       std::size_t threads) {
  const Rows<T> rows = rows_of<T>(X);
  const LatentParameters given = latent_parameters(centre, scale, mean, W, psi);
  const LatentDirection direction{m.data(), D.data(), f.data()};
  const OptionalInput w(weight);
  double *P = pairs.mutable_data(), *R = right.mutable_data(), *s = square.mutable_data();
  py::gil_scoped_release free;
  IncompleteRows<T>::derivative(rows, w.data, given, refinements, direction, P, R, s, threads);
}

template <class T>
void latent_rows(const py::array& X, const Floats& centre, const Floats& scale, const Floats& mean, const Floats& W,
                 const Floats& psi, const py::object& z, const py::object& C, const py::object& log_density,
                 const py::object& filled, const py::object& deviation, std::size_t threads) {
  const Rows<T> rows = rows_of<T>(X);
  const LatentParameters given = latent_parameters(centre, scale, mean, W, psi);
  const LatentOutputs<T> out{optional_output<double>(z), optional_output<double>(C), optional_output<double>(log_density),
                             optional_output<T>(filled), optional_output<double>(deviation)};
  py::gil_scoped_release free;
  IncompleteRows<T>::describe(rows, given, out, threads);
}

inline void bind_incomplete_rows(py::module_& m) {
  m.def("latent_expected_float64", &latent_expected<double>);
  m.def("latent_expected_float32", &latent_expected<float>);
  m.def("latent_information_float64", &latent_information<double>);
  m.def("latent_information_float32", &latent_information<float>);
  m.def("latent_derivative_float64", &latent_derivative<double>);
  m.def("latent_derivative_float32", &latent_derivative<float>);
  m.def("latent_rows_float64", &latent_rows<double>);
  m.def("latent_rows_float32", &latent_rows<float>);
}

}  // namespace eigenlens
