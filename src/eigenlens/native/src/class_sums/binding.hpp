// Python bindings of sums within classes.
#pragma once

#include "class_sums/driver.hpp"
#include "common/python.hpp"

namespace eigenlens {

template <class T>
void class_moments(Arguments& given) {
  const auto rows = given.rows<T>();
  const auto y = given.input<std::int32_t>();
  const auto weight = given.optional_input(), centre = given.input();
  const auto sums = given.output();
  const std::size_t threads = given.size(), C = sums.shape(0);
  const Unlocked unlocked(given);
  ClassSums<T>::moments(rows, y, weight, centre, C, sums, threads);
}

template <class T>
void class_joint(Arguments& given) {
  const auto rows = given.rows<T>();
  const auto bases = given.input(), means = given.input(), scales = given.input(), levels = given.input();
  const auto joint = given.output();
  const std::size_t threads = given.size();
  const Unlocked unlocked(given);
  ClassSums<T>::joint(rows, {bases.size(), bases, means, scales, levels}, joint, threads);
}

template <class T>
void code_ranges(Arguments& given) {
  const auto codes = given.rows<T>();
  const auto ends = given.output<std::int64_t>();
  const std::size_t threads = given.size();
  const Unlocked unlocked(given);
  CodeSums<T>::ranges(codes, ends, threads);
}

inline CodeLines lines_of(Arguments& given) {
  const auto lines = given.input<std::int64_t>();
  const std::size_t d = lines.shape(1);
  return {lines, lines + d, lines + 2 * d};
}

template <class T>
void code_counts(Arguments& given) {
  const auto codes = given.rows<T>();
  const CodeLines lines = lines_of(given);
  const auto y = given.input<std::int32_t>();
  const auto weight = given.optional_input();
  const auto counts = given.output();
  const std::size_t threads = given.size(), size = counts.size(), C = counts.shape(1);
  const Unlocked unlocked(given);
  CodeSums<T>::counts(codes, lines, y, weight, C, counts, size, threads);
}

template <class T>
void code_gather(Arguments& given) {
  const auto codes = given.rows<T>();
  const CodeLines lines = lines_of(given);
  const auto table = given.input();
  const auto joint = given.output();
  const std::size_t threads = given.size(), stride = table.shape(1), C = joint.shape(1);
  const Unlocked unlocked(given);
  CodeSums<T>::gather(codes, lines, table, stride, C, joint, threads);
}

inline void winners(Arguments& given) {
  const auto joint = given.input();
  const auto found = given.output<std::int64_t>();
  const std::size_t n = joint.shape(0), C = joint.shape(1);
  const Unlocked unlocked(given);
  class_winners(joint, n, C, found);
}

inline PyMethodDef class_sums_functions[] = {
    method<class_moments<double>>("class_moments_float64"),
    method<class_moments<float>>("class_moments_float32"),
    method<class_joint<double>>("class_joint_float64"),
    method<class_joint<float>>("class_joint_float32"),
    method<winners>("class_winners"),
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
