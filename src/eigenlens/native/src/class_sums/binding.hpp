// Python bindings of sums within classes.
#pragma once

#include "class_sums/driver.hpp"
#include "common/python.hpp"

namespace eigenlens {

template <class T>
void class_moments(Arguments& given) {
  const auto rows = given.rows<T>();
  const auto y = given.input<std::int32_t>(rows.n);
  const auto weight = given.optional_input(rows.n), centre = given.input(ANY, rows.d);
  const std::size_t C = centre.shape(0);
  const auto sums = given.output(C, 3, rows.d);
  const std::size_t threads = given.size();
  const Unlocked unlocked(given);
  check_labels(y, rows.n, C, threads);
  ClassSums<T>::moments(rows, y, weight, centre, C, sums, threads);
}

template <class T>
void class_joint(Arguments& given) {
  const auto rows = given.rows<T>();
  const auto bases = given.input(ANY);
  const std::size_t C = bases.size(), d = rows.d;
  const auto means = given.input(C, d), scales = given.input(C, d), levels = given.input(C, d);
  const auto joint = given.output(rows.n, C);
  const std::size_t threads = given.size();
  const Unlocked unlocked(given);
  ClassSums<T>::joint(rows, {C, bases, means, scales, levels}, joint, threads);
}

template <class T>
void code_ranges(Arguments& given) {
  const auto codes = given.rows<T>();
  given.require(codes.n > 0, "is empty");
  const auto ends = given.output<std::int64_t>(2, codes.d);
  const std::size_t threads = given.size();
  const Unlocked unlocked(given);
  CodeSums<T>::ranges(codes, ends, threads);
}

inline CodeLines lines_of(Arguments& given, std::size_t d) {
  const auto lines = given.input<std::int64_t>(3, d);
  return {lines, lines + d, lines + 2 * d};
}

template <class T>
void code_counts(Arguments& given) {
  const auto codes = given.rows<T>();
  const CodeLines lines = lines_of(given, codes.d);
  const auto y = given.input<std::int32_t>(codes.n);
  const auto weight = given.optional_input(codes.n);
  const auto counts = given.output(ANY, ANY);
  const std::size_t threads = given.size(), size = counts.size(), C = counts.shape(1);
  const Unlocked unlocked(given);
  lines.check(codes.d, counts.shape(0));
  check_labels(y, codes.n, C, threads);
  CodeSums<T>::counts(codes, lines, y, weight, C, counts, size, threads);
}

template <class T>
void code_gather(Arguments& given) {
  const auto codes = given.rows<T>();
  const CodeLines lines = lines_of(given, codes.d);
  const auto table = given.input_lines(ANY, ANY);
  const auto joint = given.output(codes.n, ANY);
  const std::size_t stride = table.shape(1), C = joint.shape(1);
  given.require(0 < C && C <= stride, "has another shape");
  const std::size_t threads = given.size();
  const Unlocked unlocked(given);
  lines.check(codes.d, table.shape(0));
  CodeSums<T>::gather(codes, lines, table, stride, C, joint, threads);
}

inline void counts_of_labels(Arguments& given) {
  const auto y = given.input<std::int32_t>(ANY);
  const std::size_t n = y.size();
  const auto weight = given.optional_input(n);
  const auto counts = given.output(ANY);
  const std::size_t threads = given.size(), C = counts.size();
  const Unlocked unlocked(given);
  check_labels(y, n, C, threads);
  label_counts(y, weight, n, C, counts, threads);
}

inline void winners(Arguments& given) {
  const auto joint = given.input(ANY, ANY);
  const std::size_t n = joint.shape(0), C = joint.shape(1);
  given.require(C > 0, "is empty");
  const auto found = given.output<std::int64_t>(n);
  const std::size_t threads = given.size();
  const Unlocked unlocked(given);
  class_winners(joint, n, C, found, threads);
}

inline void decisions(Arguments& given) {
  const auto levels = given.input(ANY);
  const std::size_t C = levels.size();
  given.require(C > 0, "is empty");
  const auto joint = given.output(ANY, C);
  const std::size_t n = joint.shape(0);
  const auto found = given.output<std::int64_t>(n);
  const auto ends = given.output(2);
  const std::size_t threads = given.size();
  const Unlocked unlocked(given);
  class_decisions(joint, levels, n, C, found, ends, threads);
}

inline PyMethodDef class_sums_functions[] = {
    method<class_moments<double>>("class_moments_float64"),
    method<class_moments<float>>("class_moments_float32"),
    method<class_joint<double>>("class_joint_float64"),
    method<class_joint<float>>("class_joint_float32"),
    method<counts_of_labels>("label_counts"),
    method<winners>("class_winners"),
    method<decisions>("class_decisions"),
    method<code_ranges<std::int8_t>>("code_ranges_int8"),
    method<code_ranges<std::uint8_t>>("code_ranges_uint8"),
    method<code_ranges<std::int16_t>>("code_ranges_int16"),
    method<code_ranges<std::int32_t>>("code_ranges_int32"),
    method<code_ranges<std::int64_t>>("code_ranges_int64"),
    method<code_counts<std::int8_t>>("class_counts_int8"),
    method<code_counts<std::uint8_t>>("class_counts_uint8"),
    method<code_counts<std::int16_t>>("class_counts_int16"),
    method<code_counts<std::int32_t>>("class_counts_int32"),
    method<code_counts<std::int64_t>>("class_counts_int64"),
    method<code_gather<std::int8_t>>("class_gather_int8"),
    method<code_gather<std::uint8_t>>("class_gather_uint8"),
    method<code_gather<std::int16_t>>("class_gather_int16"),
    method<code_gather<std::int32_t>>("class_gather_int32"),
    method<code_gather<std::int64_t>>("class_gather_int64"),
    {},
};

}  // namespace eigenlens
