// The Python face of the kernels: checks nothing (the callers do), releases the GIL, picks the instruction set.
#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>

#include <cmath>
#include <cstdint>
#include <memory>
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
#include "kernels.hpp"
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
#include "kernels.hpp"
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
#include "kernels.hpp"
#undef LANES
#undef ROWS
#undef WIDE
}  // namespace eigenlens::baseline

namespace eigenlens {

// Python's own signals: an interrupt becomes the exception that its handler raises.
void attend_to_signals() {
  py::gil_scoped_acquire held;
  if (PyErr_CheckSignals() != 0) throw py::error_already_set();
}

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

// Calls for the version of a kernel that suits the active instruction set.
#ifdef EIGENLENS_X86
#define EIGENLENS_PICK(...) \
  (active == Isa::avx512 ? &avx512::__VA_ARGS__ : active == Isa::avx2 ? &avx2::__VA_ARGS__ : &baseline::__VA_ARGS__)
#else
#define EIGENLENS_PICK(...) (&baseline::__VA_ARGS__)
#endif

}  // namespace eigenlens

#include "moments_driver.hpp"
#include "gaussian_driver.hpp"

namespace eigenlens {

template <class T>
Rows<T> rows_of(const py::array& X) {
  const auto item = static_cast<std::ptrdiff_t>(sizeof(T));
  return {static_cast<const T*>(X.data()), X.strides(0) / item, X.strides(1) / item,
          static_cast<std::size_t>(X.shape(0)), static_cast<std::size_t>(X.shape(1)), nullptr};
}

// The points of rows, packed once for many calls.
template <class T, class C>
std::unique_ptr<Points<C>> points(const py::array& X, double gamma, py::array_t<double> centre, std::size_t threads) {
  const Rows<T> rows = rows_of<T>(X);
  const double* c = centre.data();
  py::gil_scoped_release free;
  return std::make_unique<Points<C>>(rows, c, gamma, threads);
}

template <class T>
Upper<T> upper_of(const py::list& panels, std::size_t step) {
  Upper<T> K{{}, {}, 0, step};
  for (const auto& item : panels) {
    auto panel = item.cast<py::array_t<T>>();
    K.panels.push_back(const_cast<T*>(panel.data()));
    K.strides.push_back(panel.strides(0) / sizeof(T));
    K.n += panel.shape(0);
  }
  return K;
}

// K (n, m) is written.
template <class T, class C>
void gaussian(const Points<C>& x, const Points<C>& y, py::array_t<T> K, std::size_t threads) {
  const std::size_t width = K.strides(0) / sizeof(T);
  T* values = K.mutable_data();
  py::gil_scoped_release free;
  gaussian_values<C, T>(x, y, values, width, threads);
}

// The panels, of `step` rows each, are written on and above the diagonal.
template <class T, class C>
void gaussian_gram(const Points<C>& x, const py::list& panels, std::size_t step, std::size_t threads) {
  const Upper<T> K = upper_of<T>(panels, step);
  py::gil_scoped_release free;
  gaussian_upper<C, T>(x, K, threads);
}

// V and Z are (n, a multiple of 8) and 64-byte aligned; Z is written.
template <class T>
void symmetric(const py::list& panels, std::size_t step, py::array_t<double> V, py::array_t<double> Z,
               std::size_t threads) {
  const Upper<T> K = upper_of<T>(panels, step);
  const std::size_t width = V.shape(1);
  const double* v = V.data();
  double* z = Z.mutable_data();
  py::gil_scoped_release free;
  symmetric_product<T>(K, v, z, width, threads);
}

template <class T>
void moments(const py::array& X, const py::object& weight, py::array_t<double> shift, const py::object& triangle,
             bool wide, py::array_t<double> sum, py::array_t<double> scatter, std::size_t threads) {
  Rows<T> rows = rows_of<T>(X);
  std::vector<double> root;
  if (!weight.is_none()) {
    auto w = weight.cast<py::array_t<double>>().unchecked<1>();
    root.resize(rows.n);
    for (std::size_t i = 0; i < rows.n; ++i) root[i] = std::sqrt(w(i));
    rows.root = root.data();
  }
  Aligned<double> blocks(triangle.is_none() ? 0 : baseline::tiles_of<double>(rows.d) * 64);
  if (!triangle.is_none()) {
    using Square = py::array_t<double, py::array::c_style | py::array::forcecast>;
    whitening_blocks(triangle.cast<Square>().data(), rows.d, blocks.data);
  }
  const double *c = shift.data(), *whitening = triangle.is_none() ? nullptr : blocks.data;
  double *s = sum.mutable_data(), *S = scatter.mutable_data();
  py::gil_scoped_release free;
  if (wide)
    wide_moments(rows, c, s, S, threads);
  else
    narrow_moments(rows, c, whitening, s, S, threads);
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
  const Aligned<double> sums(pieces * (size + 8));
  double* partial = sums.data;
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
}

}  // namespace eigenlens

#include "mixture_binding.hpp"
#include "density_binding.hpp"
#include "naive_binding.hpp"
#include "latent_binding.hpp"

PYBIND11_MODULE(_kernels, m) {
  using namespace eigenlens;
  attend = attend_to_signals;
  m.doc() = "The compiled kernels of eigenlens; see compiled/__init__.py for their NumPy twins.";
  m.def("isa", &isa_name);
  m.def("set_isa", &set_isa);
  m.def("moments_float64", &moments<double>);
  m.def("moments_float32", &moments<float>);
  py::class_<Points<double>>(m, "Points64");
  py::class_<Points<float>>(m, "Points32");
  m.def("points_float64", &points<double, double>);
  m.def("points_float32", &points<float, float>);
  m.def("points_float32_by_float64", &points<float, double>);
  m.def("gaussian", &gaussian<double, double>);
  m.def("gaussian", &gaussian<float, float>);
  m.def("gaussian", &gaussian<float, double>);
  m.def("gaussian_wide", &gaussian<double, float>);
  m.def("gaussian_gram_float64", &gaussian_gram<double, double>);
  m.def("gaussian_gram_float32", &gaussian_gram<float, float>);
  m.def("gaussian_gram_float32", &gaussian_gram<float, double>);
  m.def("symmetric_float64", &symmetric<double>);
  m.def("symmetric_float32", &symmetric<float>);
  m.def("normal_product", &normal_product<double, std::int32_t>);
  m.def("normal_product", &normal_product<float, std::int32_t>);
  m.def("normal_product", &normal_product<double, std::int64_t>);
  m.def("normal_product", &normal_product<float, std::int64_t>);
  bind_mixture(m);
  bind_density(m);
  bind_naive(m);
  bind_latent(m);
}
