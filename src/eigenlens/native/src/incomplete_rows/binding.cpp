// Python bindings of the kernels for incomplete rows, on several threads. Rows may have any strides; everything
// else is contiguous float64.
//
// Rows are cut into pieces by n, d and k alone, each with sums of its own that are added in order: the rounding does not
// depend on the threads.
#include "common/python.hpp"

#define EIGENLENS_KERNELS "incomplete_rows/kernels.hpp"
#include "common/instruction_sets.hpp"

namespace eigenlens {

// x = W z + mu + e with noise psi, of y = (x − centre) / scale, in tables as the kernels read them.
struct LatentModel {
  std::size_t d, k, wide, refinements;
  const double *centre, *mean, *psi;
  std::vector<double> tables;
  const double *squares, *scaled, *minus, *leverage, *log_noise, *inverse;
  // squares (d, p) w_ja w_jb / psi_j; scaled (d, k) w_ja / psi_j; minus (k, wide) −w_ja; leverage (p, wide)
  // −w_ja w_jb / psi_j, twice off the diagonal; log_noise (d) log 2 pi psi_j; inverse (d) 1 / scale_j.

  LatentModel(const py::array_t<double>& centre_, const py::array_t<double>& scale_, const py::array_t<double>& mean_,
              const py::array_t<double>& W, const py::array_t<double>& psi_, std::size_t refinements)
      : d(W.shape(0)),
        k(W.shape(1)),
        wide((d + 3) / 4 * 4),
        refinements(refinements),
        centre(centre_.data()),
        mean(mean_.data()),
        psi(psi_.data()) {
    const std::size_t p = k * (k + 1) / 2;
    tables.assign(d * (p + k + 2) + wide * (p + k), 0.0);
    double *S = tables.data(), *V = S + d * p, *minus_ = V + d * k, *H = minus_ + k * wide, *log = H + p * wide, *over = log + d;
    const double* w = W.data();
    for (std::size_t j = 0; j < d; ++j, w += k) {
      over[j] = 1.0 / scale_.data()[j];
      log[j] = std::log(6.283185307179586 * psi[j]);
      for (std::size_t a = 0, e = 0; a < k; ++a) {
        V[j * k + a] = w[a] / psi[j];
        minus_[a * wide + j] = -w[a];
        for (std::size_t b = 0; b <= a; ++b, ++e) {
          S[j * p + e] = w[a] * w[b] / psi[j];
          H[e * wide + j] = a == b ? -S[j * p + e] : -2.0 * S[j * p + e];
        }
      }
    }
    squares = S, scaled = V, minus = minus_, leverage = H, log_noise = log, inverse = over;
  }
  LatentModel(const LatentModel&) = delete;

  double cost() const { return static_cast<double>(d) * static_cast<double>(2 * k * k + 5 * k + 4); }
};

constexpr std::size_t LATENT_PIECES = 16;
constexpr double LATENT_COST = 3e6;  // products of a piece at least: a fraction of a millisecond

struct LatentPieces {
  static constexpr std::size_t BATCH = baseline::incomplete_rows::BATCH;
  std::size_t n, count, step;
  LatentPieces(std::size_t n, double cost, std::size_t least) : n(n) {
    const double worth = std::min(static_cast<double>(n) * cost / LATENT_COST, static_cast<double>(n / least));
    count = static_cast<std::size_t>(std::clamp(worth, 1.0, static_cast<double>(LATENT_PIECES)));
    step = ((n + count - 1) / count + BATCH - 1) / BATCH * BATCH;
  }
  std::size_t cut(std::size_t piece) const { return std::min(n, piece * step); }
};

struct LatentSums {
  double *pairs, *right, *square, *totals, *log_det, *rows;

  // `lines` pairs with each of `wide` columns and `q` sums of residuals.
  static std::size_t size(std::size_t lines, std::size_t q, std::size_t wide) {
    return (lines + q + 1) * wide + lines + 8;
  }
  LatentSums(double* at, std::size_t lines, std::size_t q, std::size_t wide)
      : pairs(at),
        right(pairs + lines * wide),
        square(right + q * wide),
        totals(square + wide),
        log_det(totals + lines + 1),
        rows(log_det + 1) {}
};

// Runs `kernel` on all pieces; the sums of all are what the answer points to.
template <class Kernel>
std::vector<double> latent_total(std::size_t n, const LatentModel& model, std::size_t lines, std::size_t q,
                                 std::size_t threads, Kernel kernel) {
  const std::size_t size = LatentSums::size(lines, q, model.wide);
  const LatentPieces pieces(n, model.cost(), 2 * LatentPieces::BATCH);
  std::vector<double> parts(pieces.count * size);
  in_parallel(pieces.count, threads, [&](std::size_t p) {
    kernel(pieces.cut(p), pieces.cut(p + 1), LatentSums(parts.data() + p * size, lines, q, model.wide));
  });
  for (std::size_t p = 1; p < pieces.count; ++p)
    for (std::size_t j = 0; j < size; ++j) parts[j] += parts[p * size + j];
  return parts;
}

// `wide` numbers a line to d.
inline void narrow(const double* from, std::size_t lines, const LatentModel& model, double* to) {
  for (std::size_t e = 0; e < lines; ++e) std::copy_n(from + e * model.wide, model.d, to + e * model.d);
}

using Floats = py::array_t<double>;

// pairs (p + q(q+1)/2, d), right (q, d), square (d,) and totals (p + q(q+1)/2 + 2,) are written; the last two totals
// are Σ w log |M| and the number of rows.
template <class T>
void latent_expected(const py::array& X, const py::object& weight, const Floats& centre, const Floats& scale,
                     const Floats& mean, const Floats& W, const Floats& psi, std::size_t refinements, Floats pairs,
                     Floats right, Floats square, Floats totals, std::size_t threads) {
  const Rows<T> rows = rows_of<T>(X);
  const LatentModel model(centre, scale, mean, W, psi, refinements);
  const double* w = weights_of(weight);
  double *P = pairs.mutable_data(), *R = right.mutable_data(), *s = square.mutable_data(), *t = totals.mutable_data();
  const std::size_t lines = pairs.shape(0), q = right.shape(0);
  const auto kernel = EIGENLENS_PICK(incomplete_rows::expected<Rows<T>, LatentModel, LatentSums>);
  py::gil_scoped_release free;
  auto sums = latent_total(rows.n, model, lines, q, threads, [&](std::size_t begin, std::size_t end, LatentSums part) {
    kernel(rows, w, model, begin, end, part);
  });
  const LatentSums found(sums.data(), lines, q, model.wide);
  narrow(found.pairs, lines, model, P);
  narrow(found.right, q, model, R);
  narrow(found.square, 1, model, s);
  std::copy_n(found.totals, lines, t);
  t[lines] = *found.log_det, t[lines + 1] = *found.rows;
}

// pairs (p, d), weights (d,), square (d,) and totals (p + 1,) are written; the last total is Σ w.
template <class T>
void latent_information(const py::array& X, const py::object& weight, const Floats& centre, const Floats& scale,
                        const Floats& mean, const Floats& W, const Floats& psi, Floats pairs, Floats weights,
                        Floats square, Floats totals, std::size_t threads) {
  const Rows<T> rows = rows_of<T>(X);
  const LatentModel model(centre, scale, mean, W, psi, 0);
  const double* w = weights_of(weight);
  double *P = pairs.mutable_data(), *N = weights.mutable_data(), *s = square.mutable_data(), *t = totals.mutable_data();
  const std::size_t lines = pairs.shape(0);
  const auto kernel = EIGENLENS_PICK(incomplete_rows::information<Rows<T>, LatentModel, LatentSums>);
  py::gil_scoped_release free;
  auto sums = latent_total(rows.n, model, lines, 1, threads, [&](std::size_t begin, std::size_t end, LatentSums part) {
    kernel(rows, w, model, begin, end, part);
  });
  const LatentSums found(sums.data(), lines, 1, model.wide);
  narrow(found.pairs, lines, model, P);
  narrow(found.right, 1, model, N);
  narrow(found.square, 1, model, s);
  std::copy_n(found.totals, lines + 1, t);
}

// A direction (m, D, f psi) of (mu, W, psi), in tables as the kernels read them.
struct LatentWay {
  const double *mean, *log_psi;
  std::vector<double> tables;
  const double *loadings, *minus_scaled, *precision;
  // loadings (k, wide) D_ja; minus_scaled (d, k) −D_ja / psi_j; precision (d, p) how w_ja w_jb / psi_j turns.

  LatentWay(const LatentModel& model, const Floats& W, const Floats& mean_, const Floats& D, const Floats& f)
      : mean(mean_.data()), log_psi(f.data()) {
    const std::size_t d = model.d, k = model.k, p = k * (k + 1) / 2;
    tables.assign(k * model.wide + d * (k + p), 0.0);
    double *across = tables.data(), *minus = across + k * model.wide, *turned = minus + d * k;
    const double *w = W.data(), *v = D.data();
    for (std::size_t j = 0; j < d; ++j, w += k, v += k)
      for (std::size_t a = 0, e = 0; a < k; ++a) {
        across[a * model.wide + j] = v[a];
        minus[j * k + a] = -v[a] / model.psi[j];
        for (std::size_t b = 0; b <= a; ++b, ++e)
          turned[j * p + e] = ((v[a] - log_psi[j] * w[a]) * w[b] + w[a] * v[b]) / model.psi[j];
      }
    loadings = across, minus_scaled = minus, precision = turned;
  }
  LatentWay(const LatentWay&) = delete;
};

// pairs (2p + 1, d), right (2k + 1, d) and square (d,) are written.
template <class T>
void latent_turn(const py::array& X, const py::object& weight, const Floats& centre, const Floats& scale,
                 const Floats& mean, const Floats& W, const Floats& psi, std::size_t refinements, const Floats& m,
                 const Floats& D, const Floats& f, Floats pairs, Floats right, Floats square, std::size_t threads) {
  const Rows<T> rows = rows_of<T>(X);
  const LatentModel model(centre, scale, mean, W, psi, refinements);
  const LatentWay way(model, W, m, D, f);
  const double* w = weights_of(weight);
  double *P = pairs.mutable_data(), *R = right.mutable_data(), *s = square.mutable_data();
  const std::size_t lines = pairs.shape(0), q = right.shape(0);
  const auto kernel = EIGENLENS_PICK(incomplete_rows::turn<Rows<T>, LatentModel, LatentWay, LatentSums>);
  py::gil_scoped_release free;
  auto sums = latent_total(rows.n, model, lines, q, threads, [&](std::size_t begin, std::size_t end, LatentSums part) {
    kernel(rows, w, model, way, begin, end, part);
  });
  const LatentSums found(sums.data(), lines, q, model.wide);
  narrow(found.pairs, lines, model, P);
  narrow(found.right, q, model, R);
  narrow(found.square, 1, model, s);
}

template <class T>
struct LatentOut {
  double *z, *C, *log_density;
  T* filled;
  double* deviation;
};

template <class V>
V* written(const py::object& array) {
  return array.is_none() ? nullptr : array.cast<py::array_t<V>>().mutable_data();
}

// Each of z (n, k), C (n, p), log_density (n,), filled (n, d) and deviation (n, d) that is not None is written.
template <class T>
void latent_rows(const py::array& X, const Floats& centre, const Floats& scale, const Floats& mean, const Floats& W,
                 const Floats& psi, const py::object& z, const py::object& C, const py::object& log_density,
                 const py::object& filled, const py::object& deviation, std::size_t threads) {
  const Rows<T> rows = rows_of<T>(X);
  const LatentModel model(centre, scale, mean, W, psi, 0);
  const LatentOut<T> out{written<double>(z), written<double>(C), written<double>(log_density), written<T>(filled),
                         written<double>(deviation)};
  const auto kernel = EIGENLENS_PICK(incomplete_rows::describe<Rows<T>, LatentModel, LatentOut<T>>);
  py::gil_scoped_release free;
  const LatentPieces pieces(rows.n, model.cost(), LatentPieces::BATCH);
  in_parallel(pieces.count, threads,
              [&](std::size_t p) { kernel(rows, model, pieces.cut(p), pieces.cut(p + 1), out); });
}

void bind_incomplete_rows(py::module_& m) {
  m.def("latent_expected_float64", &latent_expected<double>);
  m.def("latent_expected_float32", &latent_expected<float>);
  m.def("latent_information_float64", &latent_information<double>);
  m.def("latent_information_float32", &latent_information<float>);
  m.def("latent_turn_float64", &latent_turn<double>);
  m.def("latent_turn_float32", &latent_turn<float>);
  m.def("latent_rows_float64", &latent_rows<double>);
  m.def("latent_rows_float32", &latent_rows<float>);
}

}  // namespace eigenlens
