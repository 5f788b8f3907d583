// Python bindings of sums within classes, for naive Bayes and discriminants. Rows may have any strides; everything else is contiguous.
#include "common/python.hpp"

#define EIGENLENS_KERNELS "class_sums/kernels.hpp"
#include "common/instruction_sets.hpp"

namespace eigenlens {

constexpr std::size_t CLASS_PIECES = 16, CLASS_ENTRIES = 1 << 17;  // at most so many pieces, of at least so many entries

// Rows begin … end−1 of a piece, by n and d alone: sums do not depend on the threads.
struct ClassPieces {
  std::size_t n, count, step;
  ClassPieces(std::size_t n, std::size_t d, std::size_t most) : n(n) {
    count = std::clamp<std::size_t>(n * d / CLASS_ENTRIES, 1, std::max<std::size_t>(1, most));
    step = (n + count - 1) / count;
  }
  std::size_t cut(std::size_t p) const { return std::min(n, p * step); }
};

struct ClassClasses {
  std::size_t C;
  const double *bases, *means, *scales, *levels;
};

struct ClassLines {
  const std::int64_t *low, *width, *start;
};

// sums (C, 3, d) are written.
template <class T>
void class_moments(const py::array& X, const py::array_t<std::int32_t>& y, const py::object& weight,
                   const py::array_t<double>& centre, py::array_t<double> sums, std::size_t threads) {
  const Rows<T> rows = rows_of<T>(X);
  const double *w = weights_of(weight), *c = centre.data();
  const std::int32_t* labels = y.data();
  double* out = sums.mutable_data();
  const std::size_t size = sums.size();
  const auto kernel = EIGENLENS_PICK(class_sums::moments<Rows<T>>);
  py::gil_scoped_release free;
  const ClassPieces pieces(rows.n, rows.d, std::min(CLASS_PIECES, (std::size_t(1) << 24) / (size + 1)));
  std::vector<double> parts(pieces.count * size);
  in_parallel(pieces.count, threads, [&](std::size_t p) {
    kernel(rows, labels, w, c, pieces.cut(p), pieces.cut(p + 1), parts.data() + p * size);
  });
  std::copy_n(parts.data(), size, out);
  for (std::size_t p = 1; p < pieces.count; ++p)
    for (std::size_t j = 0; j < size; ++j) out[j] += parts[p * size + j];
}

// joint (n, C) is added to.
template <class T>
void class_joint(const py::array& X, const py::array_t<double>& bases, const py::array_t<double>& means,
                 const py::array_t<double>& scales, const py::array_t<double>& levels, py::array_t<double> joint,
                 std::size_t threads) {
  const Rows<T> rows = rows_of<T>(X);
  const ClassClasses classes{static_cast<std::size_t>(bases.size()), bases.data(), means.data(), scales.data(),
                             levels.data()};
  double* out = joint.mutable_data();
  const auto kernel = EIGENLENS_PICK(class_sums::joint<Rows<T>, ClassClasses>);
  py::gil_scoped_release free;
  const ClassPieces pieces(rows.n, rows.d, CLASS_PIECES);
  in_parallel(pieces.count, threads,
              [&](std::size_t p) { kernel(rows, classes, pieces.cut(p), pieces.cut(p + 1), out); });
}

// The least and largest code (2, d) of each column of codes (n, d), n at least 1.
template <class T>
void class_ranges(const py::array& codes, py::array_t<std::int64_t> ends, std::size_t threads) {
  const Rows<T> rows = rows_of<T>(codes);
  std::int64_t* out = ends.mutable_data();
  const auto kernel = EIGENLENS_PICK(class_sums::ranges<Rows<T>, T>);
  py::gil_scoped_release free;
  const std::size_t d = rows.d;
  const ClassPieces pieces(rows.n, d, CLASS_PIECES);
  std::vector<T> low(pieces.count * d), high(pieces.count * d);
  for (std::size_t p = 0; p < pieces.count * d; ++p)
    low[p] = high[p] = rows.at(0)[static_cast<std::ptrdiff_t>(p % d) * rows.column_stride];
  in_parallel(pieces.count, threads, [&](std::size_t p) {
    kernel(rows, pieces.cut(p), pieces.cut(p + 1), low.data() + p * d, high.data() + p * d);
  });
  for (std::size_t j = 0; j < d; ++j) {
    T least = low[j], most = high[j];
    for (std::size_t p = 1; p < pieces.count; ++p)
      least = std::min(least, low[p * d + j]), most = std::max(most, high[p * d + j]);
    out[j] = static_cast<std::int64_t>(least), out[d + j] = static_cast<std::int64_t>(most);
  }
}

// lines (3, d): the first code of each column, the number of codes, and where its lines start. counts (lines, C) is written.
template <class T>
void class_counts(const py::array& codes, const py::array_t<std::int64_t>& lines, const py::array_t<std::int32_t>& y,
                  const py::object& weight, py::array_t<double> counts, std::size_t threads) {
  const Rows<T> rows = rows_of<T>(codes);
  const std::int64_t* low = lines.data();
  const ClassLines given{low, low + rows.d, low + 2 * rows.d};
  const double* w = weights_of(weight);
  const std::int32_t* labels = y.data();
  double* out = counts.mutable_data();
  const std::size_t size = counts.size(), C = counts.shape(1);
  const auto kernel = EIGENLENS_PICK(class_sums::counts<Rows<T>, ClassLines>);
  py::gil_scoped_release free;
  const std::size_t worth = rows.n * rows.d / (4 * size + 1);
  const ClassPieces pieces(rows.n, rows.d, std::min(CLASS_PIECES, worth));
  std::vector<double> parts(pieces.count * size);
  in_parallel(pieces.count, threads, [&](std::size_t p) {
    kernel(rows, given, labels, w, C, pieces.cut(p), pieces.cut(p + 1), parts.data() + p * size);
  });
  std::copy_n(parts.data(), size, out);
  for (std::size_t p = 1; p < pieces.count; ++p)
    for (std::size_t j = 0; j < size; ++j) out[j] += parts[p * size + j];
}

// table (lines, a multiple of 8), aligned; joint (n, C) is added to.
template <class T>
void class_gather(const py::array& codes, const py::array_t<std::int64_t>& lines, const py::array_t<double>& table,
                  py::array_t<double> joint, std::size_t threads) {
  const Rows<T> rows = rows_of<T>(codes);
  const std::int64_t* low = lines.data();
  const ClassLines given{low, low + rows.d, low + 2 * rows.d};
  const double* from = table.data();
  const std::size_t stride = table.shape(1), C = joint.shape(1);
  double* out = joint.mutable_data();
  const auto kernel = EIGENLENS_PICK(class_sums::gather<Rows<T>, ClassLines>);
  py::gil_scoped_release free;
  const ClassPieces pieces(rows.n, rows.d, CLASS_PIECES);
  in_parallel(pieces.count, threads,
              [&](std::size_t p) { kernel(rows, given, from, stride, C, pieces.cut(p), pieces.cut(p + 1), out); });
}

// The place (n,) of the largest entry of each row of joint (n, C), the first of equal ones; not-a-number is never it.
inline void class_winners(const py::array_t<double>& joint, py::array_t<std::int64_t> winners) {
  const double* from = joint.data();
  const std::size_t n = joint.shape(0), C = joint.shape(1);
  std::int64_t* out = winners.mutable_data();
  py::gil_scoped_release free;
  for (std::size_t i = 0; i < n; ++i, from += C) {
    std::size_t best = 0;
    for (std::size_t c = 1; c < C; ++c) best = from[c] > from[best] ? c : best;
    out[i] = static_cast<std::int64_t>(best);
  }
}

template <class T>
void bind_codes(py::module_& m, const std::string& type) {
  m.def(("naive_ranges_" + type).c_str(), &class_ranges<T>);
  m.def(("naive_counts_" + type).c_str(), &class_counts<T>);
  m.def(("naive_gather_" + type).c_str(), &class_gather<T>);
}

void bind_class_sums(py::module_& m) {
  m.def("naive_moments_float64", &class_moments<double>);
  m.def("naive_moments_float32", &class_moments<float>);
  m.def("naive_joint_float64", &class_joint<double>);
  m.def("naive_joint_float32", &class_joint<float>);
  m.def("naive_winners", &class_winners);
  bind_codes<std::int8_t>(m, "int8");
  bind_codes<std::uint8_t>(m, "uint8");
  bind_codes<std::int16_t>(m, "int16");
  bind_codes<std::int32_t>(m, "int32");
  bind_codes<std::int64_t>(m, "int64");
}

}  // namespace eigenlens
