// Python bindings of kernel density sums.
#pragma once

#include <string>

#include "common/python.hpp"
#include "kde/driver.hpp"

namespace eigenlens {

inline void sort_order(Arguments& given) {
  const auto values = given.input(ANY);
  const std::size_t n = values.size();
  const auto sorted = given.output(n);
  const auto order = given.output<std::int64_t>(n);
  const std::size_t threads = given.size();
  const Unlocked unlocked(given);
  sort_with_order(values, n, sorted, order, threads);
}

inline PointsOnLine points_on_line(Arguments& given) {
  const auto points = given.input(ANY), weights = given.optional_input(points.size()), queries = given.input(ANY);
  return {points, weights, points.size(), queries, queries.size()};
}

inline void window_powers(Arguments& given) {
  const PointsOnLine line = points_on_line(given);
  const double h = given.real(), low = given.real(), high = given.real();
  const bool closed = given.boolean();
  const auto table = given.input(ANY, ANY);
  const std::size_t terms = table.shape(0);
  given.require(terms == table.shape(1) && terms > 0 && terms <= PointsOnLine::MAX_TERMS, "has another shape");
  const auto sums = given.output(2, line.m);
  const std::size_t threads = given.size();
  const Unlocked unlocked(given);
  line.window_powers({low, high, h, closed}, table, terms - 1, sums, threads);
}

// Sums (results, m) whose only parameter is h; `sum` is a method of PointsOnLine.
template <auto sum, std::size_t results>
void sums_of_width(Arguments& given) {
  const PointsOnLine line = points_on_line(given);
  const double h = given.real();
  const auto sums = given.output(results, line.m);
  const std::size_t threads = given.size();
  const Unlocked unlocked(given);
  (line.*sum)(h, sums, threads);
}

inline void gaussian_line(Arguments& given) {
  const auto points = given.input(ANY), weights = given.optional_input(points.size()), below = given.input(ANY);
  const auto queries = given.input(ANY);
  const PointsOnLine line{points, weights, points.size(), queries, queries.size()};
  const double h = given.real(), span = given.real(), half = given.real();
  const std::size_t terms = given.size();
  const bool integral = given.boolean();
  given.require(!integral || below.size() == line.n + 1, "needs the weight before each point, and the total");
  const auto sums = integral ? given.output(line.m) : given.output(3, line.m);
  const std::size_t threads = given.size();
  const Unlocked unlocked(given);
  line.gaussian(h, below, span, half, terms, integral, sums, threads);
}

inline std::unique_ptr<Tiles> tiles(Arguments& given) {
  const auto points = given.input(ANY, ANY);
  const std::size_t n = points.shape(0), d = points.shape(1);
  given.require(n > 0 && d > 0, "is empty");
  const auto weights = given.input(n), inverse = given.optional_input(n);
  const std::size_t threads = given.size();
  const Unlocked unlocked(given);
  return std::make_unique<Tiles>(points, weights, inverse, n, d, threads);
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
  const auto queries = given.input(ANY, points.d);
  const std::size_t m = queries.shape(0);
  const Form form = form_of(given.text());
  const double tol = given.real();
  const auto sums = given.output(2, m);
  const std::size_t threads = given.size();
  const Unlocked unlocked(given);
  points.sums(queries, m, form, tol, sums, sums + m, threads);
}

inline PyMethodDef kde_functions[] = {
    method<sort_order>("sort_order"),
    method<window_powers>("window_powers"),
    method<sums_of_width<&PointsOnLine::window_waves, 3>>("window_waves"),
    method<sums_of_width<&PointsOnLine::laplace, 4>>("laplace"),
    method<gaussian_line>("gaussian_line"),
    method<tiles>("tiles"),
    method<tile_sums>("tile_sums"),
    {},
};

}  // namespace eigenlens
