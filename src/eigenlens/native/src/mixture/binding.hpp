// Python bindings of the passes of mixtures.
#pragma once

#include "common/python.hpp"
#include "mixture/driver.hpp"

namespace eigenlens {

inline MixtureParameters mixture_of(const Floats& levels, const Floats& means, const Floats& shapes) {
  return {static_cast<std::size_t>(means.shape(0)), static_cast<std::size_t>(means.shape(1)), levels.data(),
          means.data(), shapes.data(), shapes.ndim() == 3};
}

// Several mixtures at once; Driver is Mixture<T> or IncompleteMixture<T>.
template <class T, class Driver>
void mixture_passes(const py::array& X, const py::object& weight, const Floats& levels, const Floats& means,
                    const Floats& shapes, Floats loglik, Floats weights, Floats total, Floats spread,
                    std::size_t threads) {
  const Rows<T> rows = rows_of<T>(X);
  const OptionalInput w(weight);
  const MixtureParameters given = mixture_of(levels, means, shapes);
  const std::size_t S = loglik.shape(0);
  const MixtureSums sums{loglik.mutable_data(), weights.mutable_data(), total.mutable_data(), spread.mutable_data()};
  py::gil_scoped_release free;
  Driver::passes(rows, w.data, given, S, sums, threads);
}

template <class T>
void mixture_joint(const py::array& X, const Floats& levels, const Floats& means, const Floats& shapes, Floats joint,
                   std::size_t threads) {
  const Rows<T> rows = rows_of<T>(X);
  const MixtureParameters given = mixture_of(levels, means, shapes);
  double* out = joint.mutable_data();
  py::gil_scoped_release free;
  Mixture<T>::joint(rows, given, out, threads);
}

template <class T>
void mixture_incomplete_rows(const py::array& X, const Floats& log_weights, const Floats& means,
                             const Floats& covariances, const py::object& joint, const py::object& filled,
                             const py::object& deviation, std::size_t threads) {
  const Rows<T> rows = rows_of<T>(X);
  const MixtureParameters given = mixture_of(log_weights, means, covariances);
  const IncompleteOutputs out{optional_output<double>(joint), optional_output<double>(filled),
                              optional_output<double>(deviation)};
  py::gil_scoped_release free;
  IncompleteMixture<T>::describe(rows, given, out, threads);
}

inline void bind_mixture(py::module_& m) {
  m.def("mixture_passes_float64", &mixture_passes<double, Mixture<double>>);
  m.def("mixture_passes_float32", &mixture_passes<float, Mixture<float>>);
  m.def("mixture_incomplete_float64", &mixture_passes<double, IncompleteMixture<double>>);
  m.def("mixture_incomplete_float32", &mixture_passes<float, IncompleteMixture<float>>);
  m.def("mixture_incomplete_rows_float64", &mixture_incomplete_rows<double>);
  m.def("mixture_incomplete_rows_float32", &mixture_incomplete_rows<float>);
  m.def("mixture_joint_float64", &mixture_joint<double>);
  m.def("mixture_joint_float32", &mixture_joint<float>);
}

}  // namespace eigenlens
