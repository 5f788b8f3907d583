// Python bindings of weighted moments and of sparse normal products.
#include "common/python.hpp"

#define EIGENLENS_KERNELS "moments/kernels.hpp"
#include "common/instruction_sets.hpp"

#include "moments/driver.hpp"

namespace eigenlens {

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

void bind_moments(py::module_& m) {
  m.def("moments_float64", &moments<double>);
  m.def("moments_float32", &moments<float>);
  m.def("normal_product", &normal_product<double, std::int32_t>);
  m.def("normal_product", &normal_product<float, std::int32_t>);
  m.def("normal_product", &normal_product<double, std::int64_t>);
  m.def("normal_product", &normal_product<float, std::int64_t>);
}

}  // namespace eigenlens
