// Python bindings of kernel density sums.
#pragma once

#include "common/python.hpp"
#include "kde/driver.hpp"

namespace eigenlens {

using Numbers = py::array_t<double, py::array::c_style>;

inline void sort_order(const Numbers& values, Numbers sorted, py::array_t<std::int64_t> order) {
  const std::size_t n = values.size();
  const double* v = values.data();
  double* s = sorted.mutable_data();
  std::int64_t* o = order.mutable_data();
  py::gil_scoped_release free;
  sort_with_order(v, n, s, o);
}

inline PointsOnLine points_on_line(const Numbers& points, const OptionalInput& w, const Numbers& queries) {
  return {points.data(), w.data, static_cast<std::size_t>(points.size()), queries.data(),
          static_cast<std::size_t>(queries.size())};
}

inline void window_powers(const Numbers& points, const py::object& weights, const Numbers& queries, double h, double low,
                          double high, bool closed, const Numbers& table, Numbers sums, std::size_t threads) {
  const OptionalInput w(weights);
  const PointsOnLine line = points_on_line(points, w, queries);
  const double* matrix = table.data();
  const std::size_t degree = table.shape(0) - 1;
  double* out = sums.mutable_data();
  py::gil_scoped_release free;
  line.window_powers({low, high, h, closed}, matrix, degree, out, threads);
}

inline void window_waves(const Numbers& points, const py::object& weights, const Numbers& queries, double h,
                         Numbers sums, std::size_t threads) {
  const OptionalInput w(weights);
  const PointsOnLine line = points_on_line(points, w, queries);
  double* out = sums.mutable_data();
  py::gil_scoped_release free;
  line.window_waves(h, out, threads);
}

inline void laplace(const Numbers& points, const py::object& weights, const Numbers& queries, double h, Numbers sums,
                    std::size_t threads) {
  const OptionalInput w(weights);
  const PointsOnLine line = points_on_line(points, w, queries);
  double* out = sums.mutable_data();
  py::gil_scoped_release free;
  line.laplace(h, out, threads);
}

inline void gaussian_line(const Numbers& points, const py::object& weights, const Numbers& summed,
                          const Numbers& queries, double h, double span, double half, std::size_t terms, bool integral,
                          Numbers sums, std::size_t threads) {
  const OptionalInput w(weights);
  const PointsOnLine line = points_on_line(points, w, queries);
  const double* below = summed.data();
  double* out = sums.mutable_data();
  py::gil_scoped_release free;
  line.gaussian(h, below, span, half, terms, integral, out, threads);
}

inline std::unique_ptr<Tiles> tiles(const Numbers& points, const Numbers& weights, const py::object& inverse) {
  const OptionalInput r(inverse);
  const double *x = points.data(), *w = weights.data();
  const std::size_t n = points.shape(0), d = points.shape(1);
  py::gil_scoped_release free;
  return std::make_unique<Tiles>(x, w, r.data, n, d);
}

inline Form form_of(const std::string& name) {
  const char* names[] = {"gaussian", "laplace", "box", "epanechnikov", "biweight", "triweight", "triangular", "cosine"};
  for (int form = 0; form < 8; ++form)
    if (name == names[form]) return static_cast<Form>(form);
  throw std::invalid_argument("unknown: " + name);
}

// sums (2, m): level and value.
inline void tile_sums(const Tiles& points, const Numbers& queries, const std::string& form, double tol, Numbers sums,
                      std::size_t threads) {
  const Form kernel = form_of(form);
  const double* y = queries.data();
  const std::size_t m = queries.shape(0);
  double* out = sums.mutable_data();
  py::gil_scoped_release free;
  points.sums(y, m, kernel, tol, out, out + m, threads);
}

inline void bind_kde(py::module_& m) {
  py::class_<Tiles>(m, "Tiles");
  m.def("sort_order", &sort_order);
  m.def("window_powers", &window_powers);
  m.def("window_waves", &window_waves);
  m.def("laplace", &laplace);
  m.def("gaussian_line", &gaussian_line);
  m.def("tiles", &tiles);
  m.def("tile_sums", &tile_sums);
}

}  // namespace eigenlens
