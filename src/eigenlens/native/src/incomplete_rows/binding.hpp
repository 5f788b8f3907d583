// Python bindings of latent models on incomplete rows.
#pragma once

#include "common/python.hpp"
#include "incomplete_rows/driver.hpp"

namespace eigenlens {

inline LatentParameters latent_parameters(Arguments& given, std::size_t d) {
  const auto centre = given.input(d), scale = given.input(d), mean = given.input(d), W = given.input(d, ANY);
  const std::size_t k = W.shape(1);
  given.require(0 < k && k <= LatentParameters::MAX_LATENT, "has another shape");
  const auto psi = given.input(d);
  return {d, k, centre, scale, mean, W, psi};
}

// The numbers of a triangle (k, k).
inline std::size_t triangle_of(std::size_t k) { return k * (k + 1) / 2; }

template <class T>
void latent_expected(Arguments& given) {
  const auto rows = given.rows<T>();
  const auto weight = given.optional_input(rows.n);
  const LatentParameters parameters = latent_parameters(given, rows.d);
  const std::size_t refinements = given.size(), d = rows.d, k = parameters.k;
  const std::size_t lines = triangle_of(k) + triangle_of(k + 1);
  const auto pairs = given.output(lines, d), right = given.output(k + 1, d), square = given.output(d);
  const auto totals = given.output(lines + 2);
  const std::size_t threads = given.size();
  const Unlocked unlocked(given);
  IncompleteRows<T>::expected(rows, weight, parameters, refinements, pairs, right, square, totals, threads);
}

template <class T>
void latent_information(Arguments& given) {
  const auto rows = given.rows<T>();
  const auto weight = given.optional_input(rows.n);
  const LatentParameters parameters = latent_parameters(given, rows.d);
  const std::size_t d = rows.d, p = triangle_of(parameters.k);
  const auto pairs = given.output(p, d), weights = given.output(d), square = given.output(d);
  const auto totals = given.output(p + 1);
  const std::size_t threads = given.size();
  const Unlocked unlocked(given);
  IncompleteRows<T>::information(rows, weight, parameters, pairs, weights, square, totals, threads);
}

template <class T>
void latent_derivative(Arguments& given) {
  const auto rows = given.rows<T>();
  const auto weight = given.optional_input(rows.n);
  const LatentParameters parameters = latent_parameters(given, rows.d);
  const std::size_t refinements = given.size(), d = rows.d, k = parameters.k;
  const auto m = given.input(d), D = given.input(d, k), f = given.input(d);
  const auto pairs = given.output(2 * triangle_of(k) + 1, d), right = given.output(2 * k + 1, d);
  const auto square = given.output(d);
  const std::size_t threads = given.size();
  const Unlocked unlocked(given);
  IncompleteRows<T>::derivative(rows, weight, parameters, refinements, {m, D, f}, pairs, right, square, threads);
}

template <class T>
void latent_rows(Arguments& given) {
  const auto rows = given.rows<T>();
  const std::size_t n = rows.n, d = rows.d;
  const LatentParameters parameters = latent_parameters(given, d);
  const auto z = given.optional_output(n, parameters.k), C = given.optional_output(n, triangle_of(parameters.k));
  const auto log_density = given.optional_output(n);
  const auto filled = given.optional_output<T>(n, d);
  const auto deviation = given.optional_output(n, d);
  const std::size_t threads = given.size();
  const Unlocked unlocked(given);
  IncompleteRows<T>::describe(rows, parameters, {z, C, log_density, filled, deviation}, threads);
}

inline PyMethodDef incomplete_rows_functions[] = {
    method<latent_expected<double>>("latent_expected_float64"),
    method<latent_expected<float>>("latent_expected_float32"),
    method<latent_information<double>>("latent_information_float64"),
    method<latent_information<float>>("latent_information_float32"),
    method<latent_derivative<double>>("latent_derivative_float64"),
    method<latent_derivative<float>>("latent_derivative_float32"),
    method<latent_rows<double>>("latent_rows_float64"),
    method<latent_rows<float>>("latent_rows_float32"),
    {},
};

}  // namespace eigenlens
