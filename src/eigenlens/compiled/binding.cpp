// The Python face of the kernels: checks nothing (the callers do), releases the GIL, picks the instruction set.
#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>

#include <cmath>
#include <cstdint>
#include <stdexcept>
#include <string>

#include "dispatch.hpp"

namespace py = pybind11;

#ifdef EIGENLENS_X86
#ifdef __clang__
#pragma clang attribute push(__attribute__((target("avx512f,avx512dq,avx512vl,fma"))), apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("avx512f,avx512dq,avx512vl,fma,prefer-vector-width=512")
#endif
namespace eigenlens::avx512 {
#define LANES 8
#define ROWS 8
#define WIDE 3
#include "moments.hpp"
#include "sparse.hpp"
#undef LANES
#undef ROWS
#undef WIDE
}  // namespace eigenlens::avx512
#ifdef __clang__
#pragma clang attribute pop
#pragma clang attribute push(__attribute__((target("avx2,fma"))), apply_to = function)
#else
#pragma GCC pop_options
#pragma GCC push_options
#pragma GCC target("avx2,fma")
#endif
namespace eigenlens::avx2 {
#define LANES 4
#define ROWS 4
#define WIDE 1
#include "moments.hpp"
#include "sparse.hpp"
#undef LANES
#undef ROWS
#undef WIDE
}  // namespace eigenlens::avx2
#ifdef __clang__
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif
#endif  // EIGENLENS_X86

namespace eigenlens::baseline {
#define LANES 2
#define ROWS 2
#define WIDE 1
#include "moments.hpp"
#include "sparse.hpp"
#undef LANES
#undef ROWS
#undef WIDE
}  // namespace eigenlens::baseline

namespace eigenlens {

Isa active = best_isa();

const char* isa_name() {
  switch (active) {
    case Isa::avx512: return "avx512";
    case Isa::avx2: return "avx2";
    default: return "baseline";
  }
}

// Only downwards: an instruction set the processor lacks is refused.
void set_isa(const std::string& name) {
  if (name != "avx512" && name != "avx2" && name != "baseline") throw std::invalid_argument("unknown: " + name);
  const Isa wanted = name == "avx512" ? Isa::avx512 : name == "avx2" ? Isa::avx2 : Isa::baseline;
  if (wanted > best_isa()) throw std::invalid_argument("this processor has no " + name);
  active = wanted;
}

template <class T>
using Moments = void (*)(const T*, std::ptrdiff_t, std::ptrdiff_t, const double*, const double*, const double*,
                         std::size_t, std::size_t, double*, double*);

template <class T>
Moments<T> moments_kernel() {
#ifdef EIGENLENS_X86
  if (active == Isa::avx512) return avx512::moments<T>;
  if (active == Isa::avx2) return avx2::moments<T>;
#endif
  return baseline::moments<T>;
}

// The rows are cut into a number of pieces that depends on n alone, so the rounding does too.
constexpr std::size_t PIECES = 16, PIECE_ROWS = 512;

// The blocks of an upper triangular R (d, d) that whiten() wants: −R_ts above the diagonal, R_ss⁻¹ on it.
std::vector<double> whitening_blocks(const double* R, std::size_t d) {
  const std::size_t strips = baseline::strips_of(d);
  std::vector<double> blocks(baseline::tiles_of(d) * 64 + 8);
  double* at = blocks.data();
  auto entry = [&](std::size_t i, std::size_t j) { return i < d && j < d ? R[i * d + j] : i == j ? 1.0 : 0.0; };
  for (std::size_t s = 0; s < strips; ++s) {
    for (std::size_t t = 0; t < s; ++t, at += 64)
      for (std::size_t i = 0; i < 8; ++i)
        for (std::size_t j = 0; j < 8; ++j) at[i * 8 + j] = -entry(t * 8 + i, s * 8 + j);
    for (std::size_t j = 0; j < 8; ++j) {  // column j of the inverse, from the diagonal up
      at[j * 8 + j] = 1.0 / entry(s * 8 + j, s * 8 + j);
      for (std::size_t i = j; i-- > 0;) {
        double total = 0.0;
        for (std::size_t k = i + 1; k <= j; ++k) total += entry(s * 8 + i, s * 8 + k) * at[k * 8 + j];
        at[i * 8 + j] = -total / entry(s * 8 + i, s * 8 + i);
      }
    }
    at += 64;
  }
  return blocks;
}

template <class T>
void moments(const py::array& X, const py::object& weight, py::array_t<double> shift, const py::object& triangle,
             py::array_t<double> sum, py::array_t<double> scatter, std::size_t threads) {
  const std::size_t n = X.shape(0), d = X.shape(1);
  const auto item = static_cast<std::ptrdiff_t>(sizeof(T));
  const std::ptrdiff_t rs = X.strides(0) / item, cs = X.strides(1) / item;
  const T* x = static_cast<const T*>(X.data());
  std::vector<double> root;
  if (!weight.is_none()) {
    auto w = weight.cast<py::array_t<double>>().unchecked<1>();
    root.resize(n);
    for (std::size_t i = 0; i < n; ++i) root[i] = std::sqrt(w(i));
  }
  const double *c = shift.data(), *r = root.empty() ? nullptr : root.data();
  double *s = sum.mutable_data(), *S = scatter.mutable_data();
  double* blocks = nullptr;
  if (!triangle.is_none()) {
    using Square = py::array_t<double, py::array::c_style | py::array::forcecast>;
    const std::vector<double> made = whitening_blocks(triangle.cast<Square>().data(), d);
    blocks = static_cast<double*>(std::aligned_alloc(64, (made.size() * sizeof(double) + 63) / 64 * 64));
    if (!blocks) throw std::bad_alloc();
    std::copy(made.begin(), made.end(), blocks);
  }
  const auto kernel = moments_kernel<T>();
  const std::size_t strips = baseline::strips_of(d), tiles = baseline::tiles_of(d) * 64;
  const std::size_t pieces = std::clamp<std::size_t>(n / PIECE_ROWS, 1, PIECES), step = (n + pieces - 1) / pieces;

  py::gil_scoped_release free;
  std::vector<double> sums(pieces * d);
  double* partial = static_cast<double*>(std::aligned_alloc(64, pieces * tiles * sizeof(double)));
  if (!partial) throw std::bad_alloc();
  in_parallel(pieces, threads, [&](std::size_t p) {
    double* mine = partial + p * tiles;
    std::memset(mine, 0, tiles * sizeof(double));
    const std::size_t begin = std::min(n, p * step), end = std::min(n, begin + step);
    kernel(x + static_cast<std::ptrdiff_t>(begin) * rs, rs, cs, r ? r + begin : nullptr, c, blocks, end - begin, d,
           sums.data() + p * d, mine);
  });
  for (std::size_t p = 1; p < pieces; ++p) {
    for (std::size_t j = 0; j < d; ++j) sums[j] += sums[p * d + j];
    for (std::size_t j = 0; j < tiles; ++j) partial[j] += partial[p * tiles + j];
  }
  for (std::size_t j = 0; j < d; ++j) s[j] = sums[j];
  const double* from = partial;
  for (std::size_t a = 0; a < strips; ++a)
    for (std::size_t b = a; b < strips; ++b, from += 64)
      for (std::size_t i = a * 8; i < std::min(d, a * 8 + 8); ++i)
        for (std::size_t j = b * 8; j < std::min(d, b * 8 + 8); ++j)
          S[i * d + j] = S[j * d + i] = from[(i - a * 8) * 8 + (j - b * 8)];
  std::free(partial);
  std::free(blocks);
}

template <class T, class Index>
using NormalProduct = void (*)(const T*, const Index*, const Index*, const double*, std::size_t, std::size_t,
                               const double*, const double*, double*, double*);

template <class T, class Index>
NormalProduct<T, Index> normal_product_kernel() {
#ifdef EIGENLENS_X86
  if (active == Isa::avx512) return avx512::normal_product<T, Index>;
  if (active == Isa::avx2) return avx2::normal_product<T, Index>;
#endif
  return baseline::normal_product<T, Index>;
}

// V and Z are (d, 8) and 64-byte aligned; Z and total are written, not added to.
constexpr std::size_t SPARSE_PIECES = 8;

template <class T, class Index>
void normal_product(py::array_t<T> data, py::array_t<Index> indices, py::array_t<Index> indptr,
                    const py::object& weight, py::array_t<double> V, py::array_t<double> offset,
                    py::array_t<double> Z, py::array_t<double> total, std::size_t threads) {
  const std::size_t n = indptr.shape(0) - 1, size = Z.size();
  py::array_t<double> weights;
  if (!weight.is_none()) weights = weight.cast<py::array_t<double, py::array::c_style | py::array::forcecast>>();
  const double* w = weight.is_none() ? nullptr : weights.data();
  const T* x = data.data();
  const Index *columns = indices.data(), *starts = indptr.data();
  const double *v = V.data(), *o = offset.data();
  double *z = Z.mutable_data(), *t = total.mutable_data();
  const auto kernel = normal_product_kernel<T, Index>();
  const std::size_t stored = static_cast<std::size_t>(starts[n] - starts[0]);
  const std::size_t pieces = std::clamp<std::size_t>(stored / (4 * size + 1), 1, SPARSE_PIECES);

  py::gil_scoped_release free;
  double* partial = static_cast<double*>(std::aligned_alloc(64, pieces * (size + 8) * sizeof(double)));
  if (!partial) throw std::bad_alloc();
  // Pieces hold about the same number of stored entries.
  auto cut = [&](std::size_t p) {
    const Index at = static_cast<Index>(starts[0] + static_cast<Index>(stored / pieces * p));
    return p == pieces ? n : static_cast<std::size_t>(std::lower_bound(starts, starts + n, at) - starts);
  };
  in_parallel(pieces, threads, [&](std::size_t p) {
    double* mine = partial + p * (size + 8);
    std::memset(mine, 0, (size + 8) * sizeof(double));
    kernel(x - starts[0], columns - starts[0], starts, w, p ? cut(p) : 0, cut(p + 1), v, o, mine, mine + size);
  });
  for (std::size_t p = 1; p < pieces; ++p)
    for (std::size_t j = 0; j < size + 8; ++j) partial[j] += partial[p * (size + 8) + j];
  std::memcpy(z, partial, size * sizeof(double));
  std::memcpy(t, partial + size, 8 * sizeof(double));
  std::free(partial);
}

}  // namespace eigenlens

PYBIND11_MODULE(_kernels, m) {
  using namespace eigenlens;
  m.doc() = "The compiled kernels of eigenlens; see compiled/__init__.py for their NumPy twins.";
  m.def("isa", &isa_name);
  m.def("set_isa", &set_isa);
  m.def("moments_float64", &moments<double>);
  m.def("moments_float32", &moments<float>);
  m.def("normal_product", &normal_product<double, std::int32_t>);
  m.def("normal_product", &normal_product<float, std::int32_t>);
  m.def("normal_product", &normal_product<double, std::int64_t>);
  m.def("normal_product", &normal_product<float, std::int64_t>);
}
