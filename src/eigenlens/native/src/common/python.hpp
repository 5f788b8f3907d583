// Parts that all bindings share. They check nothing (their callers in Python do) and release the GIL while they work.
#pragma once

#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>

#include <cmath>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>

#include "common/dispatch.hpp"
#include "common/rows.hpp"

namespace py = pybind11;

namespace eigenlens {

template <class T>
Rows<T> rows_of(const py::array& X) {
  const auto item = static_cast<std::ptrdiff_t>(sizeof(T));
  return {static_cast<const T*>(X.data()), X.strides(0) / item, X.strides(1) / item,
          static_cast<std::size_t>(X.shape(0)), static_cast<std::size_t>(X.shape(1)), nullptr};
}

inline const double* weights_of(const py::object& weight) {
  return weight.is_none() ? nullptr : weight.cast<py::array_t<double>>().data();
}

}  // namespace eigenlens
