// Python bindings of weighted moments and of sparse normal products.
#pragma once

#include "common/python.hpp"
#include "moments/driver.hpp"

namespace eigenlens {

template <class T>
void moments(Arguments& given) {
  const auto rows = given.rows<T>();
  const std::size_t n = rows.n, d = rows.d;
  const auto weight = given.optional_input(n);
  const auto shift = given.input(d);
  const auto triangle = given.optional_input(d, d);
  const bool wide = given.boolean();
  const auto sum = given.output(d), scatter = given.output(d, d);
  const std::size_t threads = given.size();
  const Unlocked unlocked(given);
  Moments<T>::about(rows, weight, shift, triangle, wide, sum, scatter, threads);
}

template <class T>
void moments_about_mean(Arguments& given) {
  const auto rows = given.rows<T>();
  const std::size_t d = rows.d;
  const auto weight = given.optional_input(rows.n);
  const double total = given.real();
  const bool wide = given.boolean();
  const auto mean = given.output(d), scatter = given.output(d, d), rest = given.output(d);
  const std::size_t threads = given.size();
  given.require(rows.n > 0, "is given without rows");
  const Unlocked unlocked(given);
  Moments<T>::about_mean(rows, weight, total, wide, mean, scatter, rest, threads);
}

template <class T, class Index>
void normal_product(Arguments& given) {
  const auto data = given.input<T>(ANY);
  const auto indices = given.input<Index>(data.size()), indptr = given.input<Index>(ANY);
  given.require(indptr.size() > 0, "is empty");
  const std::size_t n = indptr.size() - 1;
  const auto weight = given.optional_input(n), V = given.input_lines(ANY, 8), offset = given.input(8);
  const std::size_t d = V.shape(0);
  const auto Z = given.output_lines(d, 8), total = given.output(8);
  const std::size_t threads = given.size();
  const SparseRows<T, Index> rows{n, data, indices, indptr, weight};
  const Unlocked unlocked(given);
  rows.check(data.size(), d);
  rows.normal_product(d, V, offset, Z, total, threads);
}

template <class T>
void normal_product_of(Arguments& given) {
  given.holds<std::int32_t>(1) ? normal_product<T, std::int32_t>(given) : normal_product<T, std::int64_t>(given);
}

inline void normal_product_of_any(Arguments& given) {
  given.holds<float>(0) ? normal_product_of<float>(given) : normal_product_of<double>(given);
}

inline PyMethodDef moments_functions[] = {
    method<moments<double>>("moments_float64"),
    method<moments<float>>("moments_float32"),
    method<moments_about_mean<double>>("moments_about_mean_float64"),
    method<moments_about_mean<float>>("moments_about_mean_float32"),
    method<normal_product_of_any>("normal_product"),
    {},
};

}  // namespace eigenlens
