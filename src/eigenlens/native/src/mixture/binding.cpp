// Python bindings of the mixture kernels. Levels (K,), means (K, d) and shapes, which are roots (K, d, d) or precisions
// (K, d), are contiguous float64.
#include "common/python.hpp"

#define EIGENLENS_KERNELS "mixture/kernels.hpp"
#include "common/instruction_sets.hpp"

#include "mixture/driver.hpp"
#include "mixture/incomplete_driver.hpp"

namespace eigenlens {

// Components as Python hands them over, and their roots packed.
struct GivenComponents {
  Aligned<double> packed;
  Components components;

  GivenComponents(const py::array_t<double>& levels, const py::array_t<double>& means,
                  const py::array_t<double>& shapes)
      : packed(shapes.ndim() == 3 ? means.shape(0) * packed_root_size(means.shape(1)) : 0),
        components{static_cast<std::size_t>(means.shape(0)), static_cast<std::size_t>(means.shape(1)), levels.data(),
                   means.data(), shapes.data(), static_cast<std::size_t>(means.shape(1))} {
    if (shapes.ndim() != 3) return;
    const std::size_t d = components.d;
    components.shape_size = packed_root_size(d);
    components.shapes = packed.data;
    for (std::size_t k = 0; k < components.K; ++k)
      pack_root(shapes.data() + k * d * d, d, packed.data + k * components.shape_size);
  }
};

// weights (K,), total (K, d) and spread, (K, d, d) or (K, d), are written.
template <class T>
double mixture_pass_of(const py::array& X, const py::object& weight, const py::array_t<double>& levels,
                    const py::array_t<double>& means, const py::array_t<double>& shapes, py::array_t<double> weights,
                    py::array_t<double> total, py::array_t<double> spread, std::size_t threads) {
  const Rows<T> rows = rows_of<T>(X);
  const GivenComponents given(levels, means, shapes);
  const double* w = weight.is_none() ? nullptr : weight.cast<py::array_t<double>>().data();
  double *N = weights.mutable_data(), *m = total.mutable_data(), *S = spread.mutable_data();
  const auto run = spread.ndim() == 3 ? full_pass<T> : diagonal_pass<T>;
  py::gil_scoped_release free;
  return run(rows, w, given.components, N, m, S, threads);
}

// S mixtures at once, one after the other in levels (S K,), means and shapes; loglik (S,) is written too.
template <class T>
void mixture_passes_of(const py::array& X, const py::object& weight, const py::array_t<double>& levels,
                       const py::array_t<double>& means, const py::array_t<double>& shapes,
                       py::array_t<double> loglik, py::array_t<double> weights, py::array_t<double> total,
                       py::array_t<double> spread, std::size_t threads) {
  const Rows<T> rows = rows_of<T>(X);
  const GivenComponents given(levels, means, shapes);
  const double* w = weight.is_none() ? nullptr : weight.cast<py::array_t<double>>().data();
  double *l = loglik.mutable_data(), *N = weights.mutable_data(), *m = total.mutable_data(), *S = spread.mutable_data();
  const std::size_t d = given.components.d, size = spread.ndim() == 3 ? d * d : d;
  const std::size_t count = static_cast<std::size_t>(loglik.shape(0));
  const auto run = spread.ndim() == 3 ? full_pass<T> : diagonal_pass<T>;
  py::gil_scoped_release free;
  passes(run, rows, w, given.components, count, l, N, m, S, size, threads);
}

// joint (n, K) is written.
template <class T>
void mixture_joint(const py::array& X, const py::array_t<double>& levels, const py::array_t<double>& means,
                   const py::array_t<double>& shapes, py::array_t<double> joint, std::size_t threads) {
  const Rows<T> rows = rows_of<T>(X);
  const GivenComponents given(levels, means, shapes);
  const bool full = shapes.ndim() == 3;
  double* out = joint.mutable_data();
  py::gil_scoped_release free;
  joint_densities<T>(rows, given.components, full, out, threads);
}

// Incomplete rows under components with logarithms of weights (S K,), means (S K, d) and covariances (S K, d,
// d): S mixtures at once, as in mixture_passes_of.
template <class T>
void mixture_incomplete_of(const py::array& X, const py::object& weight, const py::array_t<double>& log_weights,
                     const py::array_t<double>& means, const py::array_t<double>& covariances,
                     py::array_t<double> loglik, py::array_t<double> weights, py::array_t<double> total,
                     py::array_t<double> scatter, std::size_t threads) {
  const Rows<T> rows = rows_of<T>(X);
  const Components all{static_cast<std::size_t>(means.shape(0)), rows.d, log_weights.data(), means.data(),
                       covariances.data(), rows.d * rows.d};
  const double* w = weight.is_none() ? nullptr : weight.cast<py::array_t<double>>().data();
  double *l = loglik.mutable_data(), *N = weights.mutable_data(), *m = total.mutable_data();
  double* S = scatter.mutable_data();
  const std::size_t count = static_cast<std::size_t>(loglik.shape(0));
  py::gil_scoped_release free;
  incomplete_passes<T>(rows, w, all, count, l, N, m, S, threads);
}

// joint (n, K), filled (n, d) and deviation (n, d), each of them or None.
template <class T>
void mixture_incomplete_rows(const py::array& X, const py::array_t<double>& log_weights, const py::array_t<double>& means,
                       const py::array_t<double>& covariances, const py::object& joint, const py::object& filled,
                       const py::object& deviation, std::size_t threads) {
  const auto data = [](const py::object& to) {
    return to.is_none() ? nullptr : to.cast<py::array_t<double>>().mutable_data();
  };
  const Rows<T> rows = rows_of<T>(X);
  const Components all{static_cast<std::size_t>(means.shape(0)), rows.d, log_weights.data(), means.data(),
                       covariances.data(), rows.d * rows.d};
  const IncompleteOut out{data(joint), data(filled), data(deviation)};
  py::gil_scoped_release free;
  incomplete_rows_of<T>(rows, all, out, threads);
}

void bind_mixture(py::module_& m) {
  m.def("mixture_pass_float64", &mixture_pass_of<double>);
  m.def("mixture_pass_float32", &mixture_pass_of<float>);
  m.def("mixture_passes_float64", &mixture_passes_of<double>);
  m.def("mixture_passes_float32", &mixture_passes_of<float>);
  m.def("mixture_gaps_float64", &mixture_incomplete_of<double>);
  m.def("mixture_gaps_float32", &mixture_incomplete_of<float>);
  m.def("mixture_gaps_rows_float64", &mixture_incomplete_rows<double>);
  m.def("mixture_gaps_rows_float32", &mixture_incomplete_rows<float>);
  m.def("mixture_joint_float64", &mixture_joint<double>);
  m.def("mixture_joint_float32", &mixture_joint<float>);
}

}  // namespace eigenlens
