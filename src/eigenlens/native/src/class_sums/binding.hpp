// Python bindings of sums within classes.
#pragma once

#include "class_sums/driver.hpp"
#include "common/python.hpp"

namespace eigenlens {

using Labels = py::array_t<std::int32_t>;
using Integers = py::array_t<std::int64_t>;

template <class T>
void class_moments(const py::array& X, const Labels& y, const py::object& weight, const Floats& centre, Floats sums,
                   std::size_t threads) {
  const Rows<T> rows = rows_of<T>(X);
  const OptionalInput w(weight);
  const double* c = centre.data();
  const std::int32_t* labels = y.data();
  double* out = sums.mutable_data();
  const std::size_t C = sums.shape(0);
  py::gil_scoped_release free;
  ClassSums<T>::moments(rows, labels, w.data, c, C, out, threads);
}

template <class T>
void class_joint(const py::array& X, const Floats& bases, const Floats& means, const Floats& scales,
                 const Floats& levels, Floats joint, std::size_t threads) {
  const Rows<T> rows = rows_of<T>(X);
  const ClassDensities classes{static_cast<std::size_t>(bases.size()), bases.data(), means.data(), scales.data(),
                               levels.data()};
  double* out = joint.mutable_data();
  py::gil_scoped_release free;
  ClassSums<T>::joint(rows, classes, out, threads);
}

template <class T>
void code_ranges(const py::array& codes, Integers ends, std::size_t threads) {
  const Rows<T> rows = rows_of<T>(codes);
  std::int64_t* out = ends.mutable_data();
  py::gil_scoped_release free;
  CodeSums<T>::ranges(rows, out, threads);
}

inline CodeLines lines_of(const Integers& lines) {
  const std::int64_t* low = lines.data();
  return {low, low + lines.shape(1), low + 2 * lines.shape(1)};
}

template <class T>
void code_counts(const py::array& codes, const Integers& lines, const Labels& y, const py::object& weight,
                 Floats counts, std::size_t threads) {
  const Rows<T> rows = rows_of<T>(codes);
  const CodeLines given = lines_of(lines);
  const OptionalInput w(weight);
  const std::int32_t* labels = y.data();
  double* out = counts.mutable_data();
  const std::size_t size = counts.size(), C = counts.shape(1);
  py::gil_scoped_release free;
  CodeSums<T>::counts(rows, given, labels, w.data, C, out, size, threads);
}

template <class T>
void code_gather(const py::array& codes, const Integers& lines, const Floats& table, Floats joint,
                 std::size_t threads) {
  const Rows<T> rows = rows_of<T>(codes);
  const CodeLines given = lines_of(lines);
  const double* from = table.data();
  const std::size_t stride = table.shape(1), C = joint.shape(1);
  double* out = joint.mutable_data();
  py::gil_scoped_release free;
  CodeSums<T>::gather(rows, given, from, stride, C, out, threads);
}

inline void winners(const Floats& joint, Integers found) {
  const double* from = joint.data();
  std::int64_t* out = found.mutable_data();
  const std::size_t n = joint.shape(0), C = joint.shape(1);
  py::gil_scoped_release free;
  class_winners(from, n, C, out);
}

template <class T>
void bind_codes(py::module_& m, const std::string& type) {
  m.def(("code_ranges_" + type).c_str(), &code_ranges<T>);
  m.def(("class_counts_" + type).c_str(), &code_counts<T>);
  m.def(("class_gather_" + type).c_str(), &code_gather<T>);
}

inline void bind_class_sums(py::module_& m) {
  m.def("class_moments_float64", &class_moments<double>);
  m.def("class_moments_float32", &class_moments<float>);
  m.def("class_joint_float64", &class_joint<double>);
  m.def("class_joint_float32", &class_joint<float>);
  m.def("class_winners", &winners);
  bind_codes<std::int8_t>(m, "int8");
  bind_codes<std::uint8_t>(m, "uint8");
  bind_codes<std::int16_t>(m, "int16");
  bind_codes<std::int32_t>(m, "int32");
  bind_codes<std::int64_t>(m, "int64");
}

}  // namespace eigenlens
