// Python bindings of kernel density sums.
#pragma once

#include <string>

#include "common/python.hpp"
#include "kde/driver.hpp"

namespace eigenlens {

inline void sort_order(Arguments& given) {
  const auto values = given.input();
  const auto sorted = given.output();
  const auto order = given.output<std::int64_t>();
  const std::size_t n = values.size();
  const Unlocked unlocked(given);
  sort_with_order(values, n, sorted, order);
}

inline PointsOnLine points_on_line(Arguments& given) {
  const auto points = given.input(), weights = given.optional_input(), queries = given.input();
  return {points, weights, points.size(), queries, queries.size()};
}

inline void window_powers(Arguments& given) {
  const PointsOnLine line = points_on_line(given);
  const double h = given.real(), low = given.real(), high = given.real();
  const bool closed = given.boolean();
  const auto table = given.input();
  const auto sums = given.output();
  const std::size_t threads = given.size(), degree = table.shape(0) - 1;
  const Unlocked unlocked(given);
  line.window_powers({low, high, h, closed}, table, degree, sums, threads);
}

// Sums whose only parameter is h; `sum` is a method of PointsOnLine.
template <auto sum>
void sums_of_width(Arguments& given) {
  const PointsOnLine line = points_on_line(given);
  const double h = given.real();
  const auto sums = given.output();
  const std::size_t threads = given.size();
  const Unlocked unlocked(given);
  (line.*sum)(h, sums, threads);
}

inline void gaussian_line(Arguments& given) {
  const auto points = given.input(), weights = given.optional_input(), below = given.input(), queries = given.input();
  const PointsOnLine line{points, weights, points.size(), queries, queries.size()};
  const double h = given.real(), span = given.real(), half = given.real();
  const std::size_t terms = given.size();
  const bool integral = given.boolean();
  const auto sums = given.output();
  const std::size_t threads = given.size();
  const Unlocked unlocked(given);
  line.gaussian(h, below, span, half, terms, integral, sums, threads);
}

inline std::unique_ptr<Tiles> tiles(Arguments& given) {
  const auto points = given.input(), weights = given.input(), inverse = given.optional_input();
  const std::size_t n = points.shape(0), d = points.shape(1);
  const Unlocked unlocked(given);
  return std::make_unique<Tiles>(points, weights, inverse, n, d);
}

inline Form form_of(std::string_view name) {
  const char* names[] = {"gaussian", "laplace", "box", "epanechnikov", "biweight", "triweight", "triangular", "cosine"};
  for (int form = 0; form < 8; ++form)
    if (name == names[form]) return static_cast<Form>(form);
  throw std::invalid_argument("unknown: " + std::string(name));
}

// sums (2, m): level and value.
inline void tile_sums(Arguments& given) {
  const auto& points = given.object<Tiles>();
  const auto queries = given.input();
  const Form form = form_of(given.text());
  const double tol = given.real();
  const auto sums = given.output();
  const std::size_t threads = given.size(), m = queries.shape(0);
  const Unlocked unlocked(given);
  points.sums(queries, m, form, tol, sums, sums + m, threads);
}

inline PyMethodDef kde_functions[] = {
    method<sort_order>("sort_order"),
    method<window_powers>("window_powers"),
    method<sums_of_width<&PointsOnLine::window_waves>>("window_waves"),
    method<sums_of_width<&PointsOnLine::laplace>>("laplace"),
    method<gaussian_line>("gaussian_line"),
    method<tiles>("tiles"),
    method<tile_sums>("tile_sums"),
    {},
};

}  // namespace eigenlens
