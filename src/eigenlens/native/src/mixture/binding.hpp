// Python bindings of the passes of mixtures.
#pragma once

#include "common/python.hpp"
#include "mixture/driver.hpp"

namespace eigenlens {

inline MixtureParameters mixture_of(Arguments& given) {
  const auto levels = given.input(), means = given.input(), shapes = given.input();
  return {means.shape(0), means.shape(1), levels, means, shapes, shapes.ndim() == 3};
}

// Several mixtures at once; Driver is Mixture<T> or IncompleteMixture<T>.
template <class T, class Driver>
void mixture_passes(Arguments& given) {
  const auto rows = given.rows<T>();
  const auto weight = given.optional_input();
  const MixtureParameters all = mixture_of(given);
  const auto loglik = given.output(), weights = given.output(), total = given.output(), spread = given.output();
  const std::size_t threads = given.size(), S = loglik.shape(0);
  const Unlocked unlocked(given);
  Driver::passes(rows, weight, all, S, {loglik, weights, total, spread}, threads);
}

template <class T>
void mixture_joint(Arguments& given) {
  const auto rows = given.rows<T>();
  const MixtureParameters all = mixture_of(given);
  const auto joint = given.output();
  const std::size_t threads = given.size();
  const Unlocked unlocked(given);
  Mixture<T>::joint(rows, all, joint, threads);
}

template <class T>
void mixture_incomplete_rows(Arguments& given) {
  const auto rows = given.rows<T>();
  const MixtureParameters all = mixture_of(given);
  const auto joint = given.optional_output(), filled = given.optional_output(), deviation = given.optional_output();
  const std::size_t threads = given.size();
  const Unlocked unlocked(given);
  IncompleteMixture<T>::describe(rows, all, {joint, filled, deviation}, threads);
}

inline PyMethodDef mixture_functions[] = {
    method<mixture_passes<double, Mixture<double>>>("mixture_passes_float64"),
    method<mixture_passes<float, Mixture<float>>>("mixture_passes_float32"),
    method<mixture_passes<double, IncompleteMixture<double>>>("mixture_incomplete_float64"),
    method<mixture_passes<float, IncompleteMixture<float>>>("mixture_incomplete_float32"),
    method<mixture_incomplete_rows<double>>("mixture_incomplete_rows_float64"),
    method<mixture_incomplete_rows<float>>("mixture_incomplete_rows_float32"),
    method<mixture_joint<double>>("mixture_joint_float64"),
    method<mixture_joint<float>>("mixture_joint_float32"),
    {},
};

}  // namespace eigenlens
