// Python bindings of the passes of mixtures.
#pragma once

#include "common/python.hpp"
#include "mixture/driver.hpp"

namespace eigenlens {

inline MixtureParameters mixture_of(Arguments& given, std::size_t d) {
  const auto levels = given.input(ANY);
  const std::size_t K = levels.size();
  const auto means = given.input(K, d);
  const bool full = given.dimensions() == 3;
  const auto shapes = full ? given.input(K, d, d) : given.input(K, d);
  return {K, d, levels, means, shapes, full};
}

// Those of which the shapes are covariances.
inline MixtureParameters incomplete_mixture_of(Arguments& given, std::size_t d) {
  const MixtureParameters all = mixture_of(given, d);
  given.require(all.full && 0 < d && d <= MixtureParameters::MAX_INCOMPLETE_COLUMNS, "has another shape");
  return all;
}

// Several mixtures at once; Driver is Mixture<T> or IncompleteMixture<T>, whose parameters `read` reads.
template <class T, class Driver, auto read>
void mixture_passes(Arguments& given) {
  const auto rows = given.rows<T>();
  const std::size_t d = rows.d;
  const auto weight = given.optional_input(rows.n);
  const MixtureParameters all = read(given, d);
  const auto loglik = given.output(ANY);
  const std::size_t K = all.K, S = loglik.size();
  given.require(S > 0 && K % S == 0, "is not of as many mixtures as there are");
  const auto weights = given.output(K), total = given.output(K, d);
  const auto spread = all.full ? given.output(K, d, d) : given.output(K, d);
  const std::size_t threads = given.size();
  const Unlocked unlocked(given);
  Driver::passes(rows, weight, all, S, {loglik, weights, total, spread}, threads);
}

template <class T>
void mixture_joint(Arguments& given) {
  const auto rows = given.rows<T>();
  const MixtureParameters all = mixture_of(given, rows.d);
  const auto joint = given.output(rows.n, all.K);
  const std::size_t threads = given.size();
  const Unlocked unlocked(given);
  Mixture<T>::joint(rows, all, joint, threads);
}

template <class T>
void mixture_incomplete_rows(Arguments& given) {
  const auto rows = given.rows<T>();
  const std::size_t n = rows.n, d = rows.d;
  const MixtureParameters all = incomplete_mixture_of(given, d);
  const auto joint = given.optional_output(n, all.K), filled = given.optional_output(n, d);
  const auto deviation = given.optional_output(n, d);
  given.require((filled != nullptr) == (deviation != nullptr), "is given without the filled rows, or these without it");
  const std::size_t threads = given.size();
  const Unlocked unlocked(given);
  IncompleteMixture<T>::describe(rows, all, {joint, filled, deviation}, threads);
}

inline PyMethodDef mixture_functions[] = {
    method<mixture_passes<double, Mixture<double>, mixture_of>>("mixture_passes_float64"),
    method<mixture_passes<float, Mixture<float>, mixture_of>>("mixture_passes_float32"),
    method<mixture_passes<double, IncompleteMixture<double>, incomplete_mixture_of>>("mixture_incomplete_float64"),
    method<mixture_passes<float, IncompleteMixture<float>, incomplete_mixture_of>>("mixture_incomplete_float32"),
    method<mixture_incomplete_rows<double>>("mixture_incomplete_rows_float64"),
    method<mixture_incomplete_rows<float>>("mixture_incomplete_rows_float32"),
    method<mixture_joint<double>>("mixture_joint_float64"),
    method<mixture_joint<float>>("mixture_joint_float32"),
    {},
};

}  // namespace eigenlens
