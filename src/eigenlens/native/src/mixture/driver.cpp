#include "mixture/driver.hpp"

#define EIGENLENS_KERNELS "mixture/kernels.hpp"
#include "common/instruction_sets.hpp"

#include "mixture/pieces.hpp"
#include "moments/spread.hpp"

namespace eigenlens {

namespace {

constexpr std::size_t BATCH = baseline::mixture::BATCH, MIN_PIECES = 4;
constexpr std::size_t MAX_SUMS = std::size_t(1) << 23;  // numbers that the sums of all pieces may take

// `cost` is that of one row in products, `size` the numbers that a piece sums.
Pieces pieces_of(std::size_t n, double cost, std::size_t size) {
  const std::size_t max_pieces = std::clamp(MAX_SUMS / (size + 1), MIN_PIECES, MAX_PIECES);
  const double worth = std::min(static_cast<double>(n) * cost / MIN_COST, static_cast<double>(n) / BATCH);
  return {n, static_cast<std::size_t>(std::clamp(worth, 1.0, static_cast<double>(max_pieces))), BATCH};
}

std::size_t packed_root_size(std::size_t d) {
  std::size_t size = 0;
  for (std::size_t i = 0; i < d; i += 4) size += 4 * std::min(d, i + 4);
  return size;
}

void pack_root(const double* root, std::size_t d, double* to) {
  for (std::size_t first = 0; first < d; first += 4)
    for (std::size_t j = 0; j < std::min(d, first + 4); ++j)
      for (std::size_t i = first; i < first + 4; ++i) *to++ = i < d && j <= i ? root[i * d + j] : 0.0;
}

// Components with their roots packed as the kernels read them (see Full).
struct PackedComponents {
  Aligned<double> packed;
  Components components;

  explicit PackedComponents(const MixtureParameters& given)
      : packed(given.full ? given.K * packed_root_size(given.d) : 0),
        components{given.K, given.d, given.levels, given.means, given.shapes, given.d} {
    if (!given.full) return;
    const std::size_t d = given.d, size = packed_root_size(d);
    components.shape_size = size;
    components.shapes = packed.data;
    for (std::size_t k = 0; k < given.K; ++k) pack_root(given.shapes + k * d * d, d, packed.data + k * size);
  }
};

struct PassSums {
  double loglik;
  Aligned<double> of_components;  // (K, size)
};

// Runs the kernel over all pieces of the rows.
template <class T, class Kernel>
PassSums sum_rows(Kernel kernel, const Rows<T>& rows, const double* weight, const Components& components,
                  std::size_t size, std::size_t threads) {
  const std::size_t all = components.K * size;
  const Pieces pieces = pieces_of(rows.n, components.cost(), all);
  auto sums = sum_pieces(pieces.count, all + 1, threads, [&](std::size_t p, double* mine) {
    mine[all] = kernel(rows, weight, components, pieces.cut(p), pieces.cut(p + 1), mine);
  });
  return {sums.data[all], std::move(sums)};
}

constexpr std::size_t NARROW_COLUMNS = 16;  // up to here rows lie along the vectors

template <class T>
double full_pass(const Rows<T>& rows, const double* weight, const Components& components, double* weights,
                 double* total, double* scatter, std::size_t threads) {
  const std::size_t K = components.K, d = components.d;
  const bool narrow = d <= NARROW_COLUMNS;
  const std::size_t size = narrow ? EIGENLENS_PICK(mixture::narrow_size)(d) : baseline::mixture::wide_size(d);
  const auto kernel = narrow ? EIGENLENS_PICK(mixture::narrow_pass<Rows<T>, Components>)
                             : EIGENLENS_PICK(mixture::wide_pass<Rows<T>, Components>);
  const PassSums sums = sum_rows(kernel, rows, weight, components, size, threads);
  const auto unpack = EIGENLENS_PICK(mixture::narrow_unpack);
  for (std::size_t k = 0; k < K; ++k) {
    const double* from = sums.of_components.data + k * size;
    if (narrow) {
      unpack(from, d, weights + k, total + k * d, scatter + k * d * d);
      continue;
    }
    weights[k] = from[0];
    std::copy_n(from + 8, d, total + k * d);
    spread<double>(from + 8 + baseline::strips_of<double>(d) * 8, d, scatter + k * d * d);
  }
  return sums.loglik;
}

template <class T>
double diagonal_pass(const Rows<T>& rows, const double* weight, const Components& components, double* weights,
                     double* total, double* square, std::size_t threads) {
  const std::size_t K = components.K, d = components.d, size = baseline::mixture::diagonal_size(d);
  const auto kernel = EIGENLENS_PICK(mixture::diagonal_pass<Rows<T>, Components>);
  const PassSums sums = sum_rows(kernel, rows, weight, components, size, threads);
  for (std::size_t k = 0; k < K; ++k) {
    const double* from = sums.of_components.data + k * size;
    weights[k] = from[0];
    std::copy_n(from + 8, d, total + k * d);
    std::copy_n(from + 8 + baseline::strips_of<double>(d) * 8, d, square + k * d);
  }
  return sums.loglik;
}

}  // namespace

// Threads share the mixtures if there are enough of them, else the rows of each.
template <class T>
void Mixture<T>::passes(const Rows<T>& rows, const double* weight, const MixtureParameters& all, std::size_t S,
                        const MixtureSums& sums, std::size_t threads) {
  const PackedComponents packed(all);
  const Components& given = packed.components;
  const auto pass = all.full ? full_pass<T> : diagonal_pass<T>;
  const std::size_t K = all.K / S, d = all.d, spread_size = all.full ? d * d : d;
  const double cost = given.cost() * static_cast<double>(rows.n);
  const std::size_t worth = static_cast<std::size_t>(std::max(1.0, std::min(cost / MIN_COST, 1e6)));
  const std::size_t each = S < threads ? threads : 1;
  in_parallel(S, each == 1 ? std::min(threads, worth) : 1, [&](std::size_t s) {
    const std::size_t k = s * K, size = given.shape_size;
    const Components one{K, d, given.levels + k, given.means + k * d, given.shapes + k * size, size};
    sums.loglik[s] = pass(rows, weight, one, sums.weights + k, sums.total + k * d, sums.spread + k * spread_size, each);
  });
}

template <class T>
void Mixture<T>::joint(const Rows<T>& rows, const MixtureParameters& all, double* joint, std::size_t threads) {
  const PackedComponents packed(all);
  const auto kernel = all.full ? EIGENLENS_PICK(mixture::full_joint<Rows<T>, Components>)
                               : EIGENLENS_PICK(mixture::diagonal_joint<Rows<T>, Components>);
  const Pieces pieces = pieces_of(rows.n, packed.components.cost(), 0);
  in_parallel(pieces.count, threads,
              [&](std::size_t p) { kernel(rows, packed.components, pieces.cut(p), pieces.cut(p + 1), joint); });
}

template struct Mixture<double>;
template struct Mixture<float>;

}  // namespace eigenlens
