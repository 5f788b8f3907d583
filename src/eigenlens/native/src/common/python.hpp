// Conversions that all bindings share. They check nothing (their callers in Python do); the bindings release the GIL
// while the kernels work.
#pragma once

#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>

#include "common/rows.hpp"

namespace py = pybind11;

namespace eigenlens {

using Floats = py::array_t<double>;

template <class T>
Rows<T> rows_of(const py::array& X) {
  const auto item = static_cast<std::ptrdiff_t>(sizeof(T));
  return {static_cast<const T*>(X.data()), X.strides(0) / item, X.strides(1) / item,
          static_cast<std::size_t>(X.shape(0)), static_cast<std::size_t>(X.shape(1))};
}

// Numbers that are only read, or None, which is null; an array that is not contiguous float64 is copied.
struct OptionalInput {
  const double* data = nullptr;
  explicit OptionalInput(const py::object& given) {
    if (given.is_none()) return;
    auto numbers = given.cast<py::array_t<double, py::array::c_style | py::array::forcecast>>();
    data = numbers.data();
    kept = std::move(numbers);
  }

 private:
  py::object kept;
};

// Entries of an array that are written, or None, which is null.
template <class V>
V* optional_output(const py::object& array) {
  return array.is_none() ? nullptr : array.cast<py::array_t<V>>().mutable_data();
}

}  // namespace eigenlens
