#include "class_sums/driver.hpp"

#include <limits>
#include <stdexcept>

#define EIGENLENS_KERNELS "class_sums/kernels.hpp"
#include "common/instruction_sets.hpp"

#include "common/parallel.hpp"

namespace eigenlens {

namespace {

constexpr std::size_t MAX_PIECES = 64, MIN_ENTRIES = 1 << 17;  // entries of a piece at least

Pieces pieces_of(std::size_t n, std::size_t d, std::size_t max_pieces = MAX_PIECES) {
  return {n, std::clamp<std::size_t>(n * d / MIN_ENTRIES, 1, std::clamp<std::size_t>(max_pieces, 1, MAX_PIECES))};
}

}  // namespace

void CodeLines::check(std::size_t d, std::size_t count) const {
  for (std::size_t j = 0; j < d; ++j) {
    const auto first = static_cast<std::uint64_t>(start[j]), codes = static_cast<std::uint64_t>(width[j]);
    if (first >= count || codes >= count - first) throw std::invalid_argument("a column has lines beyond the table");
  }
}

void check_labels(const std::int32_t* y, std::size_t n, std::size_t C, std::size_t threads) {
  const Pieces pieces = pieces_of(n, 1);
  in_parallel(pieces.count, threads, [&](std::size_t p) {
    std::uint32_t most = 0;  // a negative label is a large one
    for (std::size_t i = pieces.cut(p); i < pieces.cut(p + 1); ++i)
      most = std::max(most, static_cast<std::uint32_t>(y[i]));
    if (pieces.cut(p) < pieces.cut(p + 1) && most >= C) throw std::invalid_argument("a label is not that of a class");
  });
}

void label_counts(const std::int32_t* y, const double* weight, std::size_t n, std::size_t C, double* counts,
                  std::size_t threads) {
  const Pieces pieces = pieces_of(n, 1, n / (4 * C + 1));
  const auto found = sum_pieces(pieces.count, C, threads, [&](std::size_t p, double* mine) {
    for (std::size_t i = pieces.cut(p); i < pieces.cut(p + 1); ++i) mine[y[i]] += weight ? weight[i] : 1.0;
  });
  std::copy_n(found.data, C, counts);
}

template <class T>
void ClassSums<T>::moments(const Rows<T>& rows, const std::int32_t* y, const double* weight, const double* centre,
                           std::size_t C, double* sums, std::size_t threads) {
  const auto kernel = EIGENLENS_PICK(class_sums::moments<Rows<T>>);
  const std::size_t size = C * 3 * rows.d;
  const Pieces pieces = pieces_of(rows.n, rows.d, (std::size_t(1) << 24) / (size + 1));
  const auto found = sum_pieces(pieces.count, size, threads, [&](std::size_t p, double* mine) {
    kernel(rows, y, weight, centre, pieces.cut(p), pieces.cut(p + 1), mine);
  });
  std::copy_n(found.data, size, sums);
}

template <class T>
void ClassSums<T>::joint(const Rows<T>& rows, const ClassDensities& classes, double* joint, std::size_t threads) {
  const auto kernel = EIGENLENS_PICK(class_sums::joint<Rows<T>, ClassDensities>);
  const Pieces pieces = pieces_of(rows.n, rows.d);
  in_parallel(pieces.count, threads,
              [&](std::size_t p) { kernel(rows, classes, pieces.cut(p), pieces.cut(p + 1), joint); });
}

template <class T>
void CodeSums<T>::ranges(const Rows<T>& codes, std::int64_t* ends, std::size_t threads) {
  const auto kernel = EIGENLENS_PICK(class_sums::ranges<Rows<T>, T>);
  const std::size_t d = codes.d;
  const Pieces pieces = pieces_of(codes.n, d);
  std::vector<T> low(pieces.count * d), high(pieces.count * d);
  for (std::size_t p = 0; p < pieces.count * d; ++p)
    low[p] = high[p] = codes.at(0)[static_cast<std::ptrdiff_t>(p % d) * codes.column_stride];
  in_parallel(pieces.count, threads, [&](std::size_t p) {
    kernel(codes, pieces.cut(p), pieces.cut(p + 1), low.data() + p * d, high.data() + p * d);
  });
  for (std::size_t j = 0; j < d; ++j) {
    T smallest = low[j], largest = high[j];
    for (std::size_t p = 1; p < pieces.count; ++p)
      smallest = std::min(smallest, low[p * d + j]), largest = std::max(largest, high[p * d + j]);
    ends[j] = static_cast<std::int64_t>(smallest), ends[d + j] = static_cast<std::int64_t>(largest);
  }
}

template <class T>
void CodeSums<T>::counts(const Rows<T>& codes, const CodeLines& lines, const std::int32_t* y, const double* weight,
                         std::size_t C, double* counts, std::size_t size, std::size_t threads) {
  const auto kernel = EIGENLENS_PICK(class_sums::counts<Rows<T>, CodeLines>);
  const Pieces pieces = pieces_of(codes.n, codes.d, codes.n * codes.d / (4 * size + 1));
  const auto found = sum_pieces(pieces.count, size, threads, [&](std::size_t p, double* mine) {
    kernel(codes, lines, y, weight, C, pieces.cut(p), pieces.cut(p + 1), mine);
  });
  std::copy_n(found.data, size, counts);
}

template <class T>
void CodeSums<T>::gather(const Rows<T>& codes, const CodeLines& lines, const double* table, std::size_t stride,
                         std::size_t C, double* joint, std::size_t threads) {
  const auto kernel = EIGENLENS_PICK(class_sums::gather<Rows<T>, CodeLines>);
  const Pieces pieces = pieces_of(codes.n, codes.d);
  in_parallel(pieces.count, threads, [&](std::size_t p) {
    kernel(codes, lines, table, stride, C, pieces.cut(p), pieces.cut(p + 1), joint);
  });
}

namespace {

inline std::size_t winner(const double* joint, std::size_t C) {
  std::size_t best = 0;
  for (std::size_t c = 1; c < C; ++c) best = joint[c] > joint[best] ? c : best;
  return best;
}

}  // namespace

void class_winners(const double* joint, std::size_t n, std::size_t C, std::int64_t* winners, std::size_t threads) {
  const Pieces pieces = pieces_of(n, C);
  in_parallel(pieces.count, threads, [&](std::size_t p) {
    for (std::size_t i = pieces.cut(p); i < pieces.cut(p + 1); ++i)
      winners[i] = static_cast<std::int64_t>(winner(joint + i * C, C));
  });
}

void class_decisions(double* joint, const double* levels, std::size_t n, std::size_t C, std::int64_t* winners,
                     double* ends, std::size_t threads) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  const Pieces pieces = pieces_of(n, C);
  std::vector<double> largest(pieces.count, -infinity), smallest(pieces.count, infinity);
  in_parallel(pieces.count, threads, [&](std::size_t p) {
    double high = -infinity, low = infinity, sum = 0.0;
    for (std::size_t i = pieces.cut(p); i < pieces.cut(p + 1); ++i) {
      double* row = joint + i * C;
      for (std::size_t c = 0; c < C; ++c) row[c] += levels[c];
      const std::size_t best = winner(row, C);
      winners[i] = static_cast<std::int64_t>(best);
      high = std::max(high, row[best]), low = std::min(low, row[best]);
      for (std::size_t c = 0; c < C; ++c) sum += row[c] == row[c] ? 0.0 : 1.0;
    }
    largest[p] = sum > 0.0 ? std::numeric_limits<double>::quiet_NaN() : high, smallest[p] = low;
  });
  ends[0] = -infinity, ends[1] = infinity;
  for (std::size_t p = 0; p < pieces.count; ++p) {
    ends[0] = largest[p] > ends[0] || largest[p] != largest[p] ? largest[p] : ends[0];
    if (ends[0] != ends[0]) return;
    ends[1] = std::min(ends[1], smallest[p]);
  }
}

template struct ClassSums<double>;
template struct ClassSums<float>;
template struct CodeSums<std::int8_t>;
template struct CodeSums<std::uint8_t>;
template struct CodeSums<std::int16_t>;
template struct CodeSums<std::int32_t>;
template struct CodeSums<std::int64_t>;

}  // namespace eigenlens
