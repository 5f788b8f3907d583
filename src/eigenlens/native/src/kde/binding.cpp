// Python bindings of the kernel density sums.
#include "common/python.hpp"

#define EIGENLENS_KERNELS "kde/kernels.hpp"
#include "common/instruction_sets.hpp"

#include "kde/driver.hpp"

namespace eigenlens {

using Numbers = py::array_t<double, py::array::c_style>;

inline const double* optional(const py::object& values, Numbers& keep) {
  if (values.is_none()) return nullptr;
  keep = values.cast<Numbers>();
  return keep.data();
}

inline void sort_order(const Numbers& values, Numbers sorted, py::array_t<std::int64_t> order) {
  const std::size_t n = values.size();
  const double* v = values.data();
  double* s = sorted.mutable_data();
  std::int64_t* o = order.mutable_data();
  py::gil_scoped_release free;
  sort_with_order(v, n, s, o);
}

// Calls work(queries, count, where they begin) for pieces of the sorted queries.
template <class Work>
void by_queries(const double* y, std::size_t m, std::size_t threads, Work work) {
  in_parallel((m + QUERIES - 1) / QUERIES, threads, [&](std::size_t piece) {
    const std::size_t first = piece * QUERIES;
    work(y + first, std::min(QUERIES, m - first), first);
  });
}

#define EIGENLENS_POWERS(space, degree)                                                                              \
  case degree:                                                                                                       \
    by_queries(y, m, threads, [&](const double* q, std::size_t count, std::size_t first) {                           \
      space::power_sums<degree>(x, w, n, q, count, space::Window{low, high, h, closed}, matrix, out + first, m);     \
    });                                                                                                              \
    break;
#define EIGENLENS_LINE(space)                                                                                        \
  {                                                                                                                  \
    switch (degree) {                                                                                                \
      EIGENLENS_POWERS(space, 0) EIGENLENS_POWERS(space, 1) EIGENLENS_POWERS(space, 2) EIGENLENS_POWERS(space, 3)    \
      EIGENLENS_POWERS(space, 4) EIGENLENS_POWERS(space, 5) EIGENLENS_POWERS(space, 6) EIGENLENS_POWERS(space, 7)    \
    }                                                                                                                \
  }

// Adds to sums (2, m). The work is scalar: the widest instructions would not help.
inline void window_powers(const Numbers& points, const py::object& weights, const Numbers& queries, double h, double low,
                          double high, bool closed, const Numbers& table, Numbers sums, std::size_t threads) {
  Numbers keep;
  const double *x = points.data(), *w = optional(weights, keep), *y = queries.data(), *matrix = table.data();
  const std::size_t n = points.size(), m = queries.size(), degree = table.shape(0) - 1;
  double* out = sums.mutable_data();
  py::gil_scoped_release free;
#ifdef EIGENLENS_X86
  if (active != Isa::baseline) EIGENLENS_LINE(avx2) else EIGENLENS_LINE(baseline)
#else
  EIGENLENS_LINE(baseline)
#endif
}

// Adds to sums (3, m).
inline void window_waves(const Numbers& points, const py::object& weights, const Numbers& queries, double h,
                         Numbers sums, std::size_t threads) {
  Numbers keep;
  const double *x = points.data(), *w = optional(weights, keep), *y = queries.data();
  const std::size_t n = points.size(), m = queries.size();
  double* out = sums.mutable_data();
  py::gil_scoped_release free;
  by_queries(y, m, threads, [&](const double* q, std::size_t count, std::size_t first) {
    baseline::wave_sums(x, w, n, q, count, baseline::Window{-1.0, 1.0, h, true}, out + first, m);
  });
}

// sums (4, m): the sum and the distance of the nearest point, before and behind.
inline void laplace(const Numbers& points, const py::object& weights, const Numbers& queries, double h, Numbers sums,
                    std::size_t threads) {
  Numbers keep;
  const double *x = points.data(), *w = optional(weights, keep), *y = queries.data();
  const std::size_t n = points.size(), m = queries.size();
  double* out = sums.mutable_data();
  py::gil_scoped_release free;
  in_parallel(2, threads, [&](std::size_t side) {
    (side ? laplace_sweep_back : laplace_sweep)(x, w, n, y, m, h, out + 2 * side * m, out + (2 * side + 1) * m);
  });
}

#define EIGENLENS_GAUSSIAN(space, TERMS)                                                                             \
  by_queries(y, m, threads, [&](const double* q, std::size_t count, std::size_t first) {                             \
    const space::Line line{x, w, below, n, h, span, half};                                                           \
    if (integral)                                                                                                    \
      space::gaussian_integrals<TERMS>(line, q, 0, count, out + first);                                              \
    else                                                                                                             \
      space::gaussian_sums<TERMS>(line, q, 0, count, out + first, out + m + first, out + 2 * m + first);             \
  });
#define EIGENLENS_TERMS(space)                                                                                       \
  {                                                                                                                  \
    if (terms <= 16) {                                                                                               \
      EIGENLENS_GAUSSIAN(space, 16)                                                                                  \
    } else {                                                                                                         \
      EIGENLENS_GAUSSIAN(space, 24)                                                                                  \
    }                                                                                                                \
  }

// sums (3, m): level, value, slope; or for the integral (1, m).
inline void gaussian_line(const Numbers& points, const py::object& weights, const Numbers& summed,
                          const Numbers& queries, double h, double span, double half, std::size_t terms, bool integral,
                          Numbers sums, std::size_t threads) {
  Numbers keep;
  const double *x = points.data(), *w = optional(weights, keep), *y = queries.data(), *below = summed.data();
  const std::size_t n = points.size(), m = queries.size();
  double* out = sums.mutable_data();
  py::gil_scoped_release free;
#ifdef EIGENLENS_X86
  if (active == Isa::avx512)
    EIGENLENS_TERMS(avx512)
  else if (active == Isa::avx2)
    EIGENLENS_TERMS(avx2)
  else
    EIGENLENS_TERMS(baseline)
#else
  EIGENLENS_TERMS(baseline)
#endif
}

inline std::unique_ptr<Tiles> tiles(const Numbers& points, const Numbers& weights, const py::object& inverse) {
  Numbers keep;
  const double *x = points.data(), *w = weights.data(), *r = optional(inverse, keep);
  const std::size_t n = points.shape(0), d = points.shape(1);
  py::gil_scoped_release free;
  return std::make_unique<Tiles>(x, w, r, n, d);
}

#define EIGENLENS_FORM(Form, squares)                                                                                \
  (own ? TileKernel{EIGENLENS_PICK_FORM(tile_sums, Form, true), EIGENLENS_PICK_FORM(tile_nearest, Form, true),         \
                    baseline::Form::SUM, squares}                                                                    \
       : TileKernel{EIGENLENS_PICK_FORM(tile_sums, Form, false), EIGENLENS_PICK_FORM(tile_nearest, Form, false),       \
                    baseline::Form::SUM, squares})
#ifdef EIGENLENS_X86
#define EIGENLENS_PICK_FORM(function, Form, own)                               \
  (active == Isa::avx512 ? &avx512::function<avx512::Form, own>                \
   : active == Isa::avx2 ? &avx2::function<avx2::Form, own>                    \
                         : &baseline::function<baseline::Form, own>)
#else
#define EIGENLENS_PICK_FORM(function, Form, own) (&baseline::function<baseline::Form, own>)
#endif

inline TileKernel tile_kernel(const std::string& form, bool own) {
  if (form == "gaussian") return EIGENLENS_FORM(SquareForm, true);
  if (form == "laplace") return EIGENLENS_FORM(ModulusForm, false);
  if (form == "box") return EIGENLENS_FORM(BellForm<0>, false);
  if (form == "epanechnikov") return EIGENLENS_FORM(BellForm<1>, false);
  if (form == "biweight") return EIGENLENS_FORM(BellForm<2>, false);
  if (form == "triweight") return EIGENLENS_FORM(BellForm<3>, false);
  if (form == "triangular") return EIGENLENS_FORM(TentForm, false);
  if (form == "cosine") return EIGENLENS_FORM(WaveForm, false);
  throw std::invalid_argument("unknown: " + form);
}

// sums (2, m): level and value.
inline void tile_sums(const Tiles& points, const Numbers& queries, const std::string& form, double tol, Numbers sums,
                      std::size_t threads) {
  const TileKernel kernel = tile_kernel(form, points.own);
  const double* y = queries.data();
  const std::size_t m = queries.shape(0);
  double* out = sums.mutable_data();
  py::gil_scoped_release free;
  space_sums(points, y, m, kernel, tol, out, out + m, threads);
}

void bind_kde(py::module_& m) {
  py::class_<Tiles>(m, "Tiles");
  m.def("sort_order", &sort_order);
  m.def("window_powers", &window_powers);
  m.def("window_waves", &window_waves);
  m.def("laplace", &laplace);
  m.def("gaussian_line", &gaussian_line);
  m.def("tiles", &tiles);
  m.def("tile_sums", &tile_sums);
}

}  // namespace eigenlens
