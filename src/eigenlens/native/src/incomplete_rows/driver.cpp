#include "incomplete_rows/driver.hpp"

#define EIGENLENS_KERNELS "incomplete_rows/kernels.hpp"
#include "common/instruction_sets.hpp"

#include "common/parallel.hpp"

namespace eigenlens {

namespace {

// The parameters in tables as the kernels read them.
struct LatentModel {
  std::size_t d, k, wide, refinements;
  const double *centre, *mean, *psi;
  std::vector<double> tables;
  const double *squares, *scaled, *minus, *leverage, *log_noise, *inverse;
  // squares (d, p) w_ja w_jb / psi_j; scaled (d, k) w_ja / psi_j; minus (k, wide) −w_ja; leverage (p, wide)
  // −w_ja w_jb / psi_j, twice off the diagonal; log_noise (d) log 2 pi psi_j; inverse (d) 1 / scale_j.

  LatentModel(const LatentParameters& given, std::size_t refinements)
      : d(given.d),
        k(given.k),
        wide((d + 3) / 4 * 4),
        refinements(refinements),
        centre(given.centre),
        mean(given.mean),
        psi(given.psi) {
    const std::size_t p = k * (k + 1) / 2;
    tables.assign(d * (p + k + 2) + wide * (p + k), 0.0);
    double *S = tables.data(), *V = S + d * p, *minus_ = V + d * k, *H = minus_ + k * wide, *log = H + p * wide, *over = log + d;
    const double* w = given.W;
    for (std::size_t j = 0; j < d; ++j, w += k) {
      over[j] = 1.0 / given.scale[j];
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

  // Products per row.
  double cost() const { return static_cast<double>(d) * static_cast<double>(2 * k * k + 5 * k + 4); }
};

// The direction in tables as the kernels read them.
struct DirectionTables {
  const double *mean, *log_psi;
  std::vector<double> tables;
  const double *loadings, *minus_scaled, *precision;
  // loadings (k, wide) D_ja; minus_scaled (d, k) −D_ja / psi_j; precision (d, p) the derivative of w_ja w_jb / psi_j.

  DirectionTables(const LatentModel& model, const double* w, const LatentDirection& given)
      : mean(given.mean), log_psi(given.log_psi) {
    const std::size_t d = model.d, k = model.k, p = k * (k + 1) / 2;
    tables.assign(k * model.wide + d * (k + p), 0.0);
    double *across = tables.data(), *minus = across + k * model.wide, *derivative = minus + d * k;
    const double* v = given.W;
    for (std::size_t j = 0; j < d; ++j, w += k, v += k)
      for (std::size_t a = 0, e = 0; a < k; ++a) {
        across[a * model.wide + j] = v[a];
        minus[j * k + a] = -v[a] / model.psi[j];
        for (std::size_t b = 0; b <= a; ++b, ++e)
          derivative[j * p + e] = ((v[a] - log_psi[j] * w[a]) * w[b] + w[a] * v[b]) / model.psi[j];
      }
    loadings = across, minus_scaled = minus, precision = derivative;
  }
  DirectionTables(const DirectionTables&) = delete;
};

static_assert(LatentParameters::MAX_LATENT == baseline::incomplete_rows::WIDEST);
constexpr std::size_t BATCH = baseline::incomplete_rows::BATCH;
constexpr std::size_t ENOUGH_PIECES = 16, MAX_PIECES = 64, MAX_SUMS = 1 << 21;  // numbers that more than enough may take
constexpr double MIN_COST = 3e6;  // products of a piece at least: a fraction of a millisecond

// `size` are the numbers that a piece sums.
Pieces pieces_of(std::size_t n, double cost, std::size_t min_rows, std::size_t size) {
  const double worth = std::min(static_cast<double>(n) * cost / MIN_COST, static_cast<double>(n / min_rows));
  const std::size_t most = std::clamp<std::size_t>(MAX_SUMS / (size + 1), ENOUGH_PIECES, MAX_PIECES);
  return {n, static_cast<std::size_t>(std::clamp(worth, 1.0, static_cast<double>(most))), BATCH};
}

// `lines` pairs with each of `wide` columns, and `q` sums of residuals.
struct LatentSums {
  double *pairs, *right, *square, *totals, *log_det, *rows;

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

// Calls kernel(begin, end, sums) for all pieces, and done(sums over all rows). pairs, right and square are written
// without the padding of the columns.
template <class Kernel, class Done>
void sum_rows(std::size_t n, const LatentModel& model, std::size_t lines, std::size_t q, double* pairs, double* right,
              double* square, std::size_t threads, Kernel kernel, Done done) {
  const std::size_t size = LatentSums::size(lines, q, model.wide);
  const Pieces pieces = pieces_of(n, model.cost(), 2 * BATCH, size);
  const auto sums = sum_pieces(pieces.count, size, threads, [&](std::size_t p, double* mine) {
    kernel(pieces.cut(p), pieces.cut(p + 1), LatentSums(mine, lines, q, model.wide));
  });
  const LatentSums found(sums.data, lines, q, model.wide);
  const auto copy = [&](const double* from, std::size_t count, double* to) {
    for (std::size_t e = 0; e < count; ++e) std::copy_n(from + e * model.wide, model.d, to + e * model.d);
  };
  copy(found.pairs, lines, pairs);
  copy(found.right, q, right);
  copy(found.square, 1, square);
  done(found);
}

}  // namespace

template <class T>
void IncompleteRows<T>::expected(const Rows<T>& rows, const double* weight, const LatentParameters& parameters,
                                 std::size_t refinements, double* pairs, double* right, double* square, double* totals,
                                 std::size_t threads) {
  const LatentModel model(parameters, refinements);
  const std::size_t k = model.k, p = k * (k + 1) / 2, lines = p + p + k + 1;
  const auto kernel = EIGENLENS_PICK(incomplete_rows::expected<Rows<T>, LatentModel, LatentSums>);
  sum_rows(
      rows.n, model, lines, k + 1, pairs, right, square, threads,
      [&](std::size_t begin, std::size_t end, const LatentSums& sums) { kernel(rows, weight, model, begin, end, sums); },
      [&](const LatentSums& found) {
        std::copy_n(found.totals, lines, totals);
        totals[lines] = *found.log_det, totals[lines + 1] = *found.rows;
      });
}

template <class T>
void IncompleteRows<T>::information(const Rows<T>& rows, const double* weight, const LatentParameters& parameters,
                                    double* pairs, double* weights, double* square, double* totals,
                                    std::size_t threads) {
  const LatentModel model(parameters, 0);
  const std::size_t lines = model.k * (model.k + 1) / 2;
  const auto kernel = EIGENLENS_PICK(incomplete_rows::information<Rows<T>, LatentModel, LatentSums>);
  sum_rows(
      rows.n, model, lines, 1, pairs, weights, square, threads,
      [&](std::size_t begin, std::size_t end, const LatentSums& sums) { kernel(rows, weight, model, begin, end, sums); },
      [&](const LatentSums& found) { std::copy_n(found.totals, lines + 1, totals); });
}

template <class T>
void IncompleteRows<T>::derivative(const Rows<T>& rows, const double* weight, const LatentParameters& parameters,
                                   std::size_t refinements, const LatentDirection& direction, double* pairs,
                                   double* right, double* square, std::size_t threads) {
  const LatentModel model(parameters, refinements);
  const DirectionTables tables(model, parameters.W, direction);
  const std::size_t k = model.k, lines = k * (k + 1) + 1;
  const auto kernel = EIGENLENS_PICK(incomplete_rows::derivative<Rows<T>, LatentModel, DirectionTables, LatentSums>);
  sum_rows(
      rows.n, model, lines, 2 * k + 1, pairs, right, square, threads,
      [&](std::size_t begin, std::size_t end, const LatentSums& sums) {
        kernel(rows, weight, model, tables, begin, end, sums);
      },
      [](const LatentSums&) {});
}

template <class T>
void IncompleteRows<T>::describe(const Rows<T>& rows, const LatentParameters& parameters, const LatentOutputs<T>& out,
                                 std::size_t threads) {
  const LatentModel model(parameters, 0);
  const auto kernel = EIGENLENS_PICK(incomplete_rows::describe<Rows<T>, LatentModel, LatentOutputs<T>>);
  const Pieces pieces = pieces_of(rows.n, model.cost(), BATCH, 0);
  in_parallel(pieces.count, threads,
              [&](std::size_t p) { kernel(rows, model, pieces.cut(p), pieces.cut(p + 1), out); });
}

template struct IncompleteRows<double>;
template struct IncompleteRows<float>;

}  // namespace eigenlens
