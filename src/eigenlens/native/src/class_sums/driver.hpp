// Sums within classes, for naive Bayes and discriminants, on several threads. Rows may have any strides; everything else
// is contiguous.
#pragma once

#include <cstddef>
#include <cstdint>

#include "common/rows.hpp"

namespace eigenlens {

// C classes with bases (C), and means, scales and levels (C, d).
struct ClassDensities {
  std::size_t C;
  const double *bases, *means, *scales, *levels;
};

// The lines of the tables of d columns: the first code of each column, the number of codes, and where its lines start.
struct CodeLines {
  const std::int64_t *low, *width, *start;

  // Throws unless the lines of all d columns are among `count` lines.
  void check(std::size_t d, std::size_t count) const;
};

// Throws unless all labels (n) are among C classes.
void check_labels(const std::int32_t* y, std::size_t n, std::size_t C, std::size_t threads);

// counts (C) are written: Σ w, or the number, of the labels of each class.
void label_counts(const std::int32_t* y, const double* weight, std::size_t n, std::size_t C, double* counts,
                  std::size_t threads);

template <class T>
struct ClassSums {
  // sums (C, 3, d) are written.
  static void moments(const Rows<T>& rows, const std::int32_t* y, const double* weight, const double* centre,
                      std::size_t C, double* sums, std::size_t threads);
  // joint (n, C) is added to.
  static void joint(const Rows<T>& rows, const ClassDensities& classes, double* joint, std::size_t threads);
};

template <class T>
struct CodeSums {
  // The smallest and largest code (2, d) of each column of codes (n, d), n at least 1, are written to `ends`.
  static void ranges(const Rows<T>& codes, std::int64_t* ends, std::size_t threads);
  // counts (lines, C), `size` numbers, are written.
  static void counts(const Rows<T>& codes, const CodeLines& lines, const std::int32_t* y, const double* weight,
                     std::size_t C, double* counts, std::size_t size, std::size_t threads);
  // table (lines, stride), stride a multiple of 8, is aligned; joint (n, C) is added to.
  static void gather(const Rows<T>& codes, const CodeLines& lines, const double* table, std::size_t stride,
                     std::size_t C, double* joint, std::size_t threads);
};

// The place (n,) of the largest entry of each row of joint (n, C), the first of equal ones; never one of not-a-number.
void class_winners(const double* joint, std::size_t n, std::size_t C, std::int64_t* winners, std::size_t threads);

// The same after levels (C) have been added to the rows. ends (2) are the largest entry of all, not-a-number if there is
// one, and the smallest of the winning entries.
void class_decisions(double* joint, const double* levels, std::size_t n, std::size_t C, std::int64_t* winners,
                     double* ends, std::size_t threads);

}  // namespace eigenlens
