// Python bindings of weighted moments and of sparse normal products.
#pragma once

#include "common/python.hpp"
#include "moments/driver.hpp"

namespace eigenlens {

template <class T>
void moments(Arguments& given) {
  const auto rows = given.rows<T>();
  const auto weight = given.optional_input();
  const auto shift = given.input();
  const auto triangle = given.optional_input();
  const bool wide = given.boolean();
  const auto sum = given.output(), scatter = given.output();
  const std::size_t threads = given.size();
  const Unlocked unlocked(given);
  Moments<T>::about(rows, weight, shift, triangle, wide, sum, scatter, threads);
}

template <class T, class Index>
void normal_product(Arguments& given) {
  const auto data = given.input<T>();
  const auto indices = given.input<Index>(), indptr = given.input<Index>();
  const auto weight = given.optional_input(), V = given.input(), offset = given.input();
  const auto Z = given.output(), total = given.output();
  const std::size_t threads = given.size(), d = V.shape(0);
  const SparseRows<T, Index> rows{indptr.shape(0) - 1, data, indices, indptr, weight};
  const Unlocked unlocked(given);
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
    method<normal_product_of_any>("normal_product"),
    {},
};

}  // namespace eigenlens
