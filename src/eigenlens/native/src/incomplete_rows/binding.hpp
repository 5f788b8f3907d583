// Python bindings of latent models on incomplete rows.
#pragma once

#include "common/python.hpp"
#include "incomplete_rows/driver.hpp"

namespace eigenlens {

inline LatentParameters latent_parameters(Arguments& given) {
  const auto centre = given.input(), scale = given.input(), mean = given.input(), W = given.input();
  const auto psi = given.input();
  return {W.shape(0), W.shape(1), centre, scale, mean, W, psi};
}

template <class T>
void latent_expected(Arguments& given) {
  const auto rows = given.rows<T>();
  const auto weight = given.optional_input();
  const LatentParameters parameters = latent_parameters(given);
  const std::size_t refinements = given.size();
  const auto pairs = given.output(), right = given.output(), square = given.output(), totals = given.output();
  const std::size_t threads = given.size();
  const Unlocked unlocked(given);
  IncompleteRows<T>::expected(rows, weight, parameters, refinements, pairs, right, square, totals, threads);
}

template <class T>
void latent_information(Arguments& given) {
  const auto rows = given.rows<T>();
  const auto weight = given.optional_input();
  const LatentParameters parameters = latent_parameters(given);
  const auto pairs = given.output(), weights = given.output(), square = given.output(), totals = given.output();
  const std::size_t threads = given.size();
  const Unlocked unlocked(given);
  IncompleteRows<T>::information(rows, weight, parameters, pairs, weights, square, totals, threads);
}

template <class T>
void latent_derivative(Arguments& given) {
  const auto rows = given.rows<T>();
  const auto weight = given.optional_input();
  const LatentParameters parameters = latent_parameters(given);
  const std::size_t refinements = given.size();
  const auto m = given.input(), D = given.input(), f = given.input();
  const auto pairs = given.output(), right = given.output(), square = given.output();
  const std::size_t threads = given.size();
  const Unlocked unlocked(given);
  IncompleteRows<T>::derivative(rows, weight, parameters, refinements, {m, D, f}, pairs, right, square, threads);
}

template <class T>
void latent_rows(Arguments& given) {
  const auto rows = given.rows<T>();
  const LatentParameters parameters = latent_parameters(given);
  const auto z = given.optional_output(), C = given.optional_output(), log_density = given.optional_output();
  const auto filled = given.optional_output<T>();
  const auto deviation = given.optional_output();
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
