// Rows that miss the same entries are worked on together.
#include <array>
#include <unordered_map>

#include "mixture/driver.hpp"

#define EIGENLENS_KERNELS "mixture/incomplete_kernels.hpp"
#include "common/instruction_sets.hpp"

#include "mixture/pieces.hpp"

namespace eigenlens {

namespace {

constexpr std::size_t MAX_SLOT_ROWS = 128;
constexpr std::size_t SLOTS_TOGETHER = 8;  // pieces have a multiple of this many

// Slot s are the rows order[starts[s]] … order[starts[s + 1] − 1], all of which miss the same entries.
struct Slots {
  const std::size_t *order, *starts;
};

struct Patterns {
  using Key = std::array<std::uint64_t, MixtureParameters::MAX_INCOMPLETE_COLUMNS / 64>;
  struct Hash {
    std::size_t operator()(const Key& key) const {
      std::uint64_t mixed = 0;
      for (const std::uint64_t word : key) mixed = (mixed ^ word) * 0x9e3779b97f4a7c15ull, mixed ^= mixed >> 29;
      return static_cast<std::size_t>(mixed);
    }
  };
  std::vector<std::size_t> order, starts;

  // Rows of weight 0, and unless `empty` those without entries, are left out.
  template <class T>
  Patterns(const Rows<T>& rows, const double* weight, bool empty) {
    std::unordered_map<Key, std::size_t, Hash> known;
    std::vector<std::size_t> which(rows.n), counts;
    constexpr std::size_t none = ~std::size_t(0);
    for (std::size_t i = 0; i < rows.n; ++i) {
      const T* x = rows.at(i);
      Key key{};
      for (std::size_t j = 0; j < rows.d; ++j, x += rows.column_stride)
        key[j / 64] |= static_cast<std::uint64_t>(*x == *x) << (j % 64);
      which[i] = none;
      if ((weight && !(weight[i] > 0.0)) || (!empty && key == Key{})) continue;
      which[i] = known.try_emplace(key, counts.size()).first->second;
      if (which[i] == counts.size()) counts.push_back(0);
      ++counts[which[i]];
    }
    std::vector<std::size_t> next(counts.size());
    std::size_t first = 0;
    for (std::size_t u = 0; u < counts.size(); first += counts[u++]) {
      next[u] = first;
      for (std::size_t at = first; at < first + counts[u]; at += MAX_SLOT_ROWS) starts.push_back(at);
    }
    starts.push_back(first);
    order.resize(first);
    for (std::size_t i = 0; i < rows.n; ++i)
      if (which[i] != none) order[next[which[i]]++] = i;
  }

  std::size_t slots() const { return starts.size() - 1; }
  Slots view() const { return {order.data(), starts.data()}; }
};

// Products that one mixture of K components needs.
double cost_of(const Patterns& patterns, std::size_t K, std::size_t d) {
  const double each = static_cast<double>(d * d * d) / 2, row = static_cast<double>(2 * d * d + 30);
  return static_cast<double>(K) *
         (static_cast<double>(patterns.slots()) * each + static_cast<double>(patterns.order.size()) * row);
}

Pieces pieces_of(const Patterns& patterns, double cost) {
  const std::size_t slots = patterns.slots();
  const double max_pieces = std::min<double>(MAX_PIECES, static_cast<double>(slots / SLOTS_TOGETHER));
  return {slots, static_cast<std::size_t>(std::max(1.0, std::min(cost / MIN_COST, max_pieces))), SLOTS_TOGETHER};
}

// As many threads as there is work for.
std::size_t workers(double cost, std::size_t threads) {
  return std::min(threads, static_cast<std::size_t>(1.0 + std::min(1e6, cost / MIN_COST)));
}

Components components_of(const MixtureParameters& all) {
  return {all.K, all.d, all.levels, all.means, all.shapes, all.d * all.d};
}

}  // namespace

template <class T>
void IncompleteMixture<T>::passes(const Rows<T>& rows, const double* weight, const MixtureParameters& all,
                                  std::size_t S, const MixtureSums& out, std::size_t threads) {
  const std::size_t K = all.K / S, d = all.d, size = 1 + d + d * (d + 1) / 2;
  const Patterns patterns(rows, weight, false);
  const double cost = cost_of(patterns, K, d);
  const Pieces pieces = pieces_of(patterns, cost);
  Aligned<double> parts(S * pieces.count * K * size);
  std::vector<double> logliks(S * pieces.count);
  const auto kernel = EIGENLENS_PICK(mixture::incomplete_pass<Rows<T>, Slots, Components>);
  in_parallel(S * pieces.count, workers(static_cast<double>(S) * cost, threads), [&](std::size_t task) {
    const std::size_t s = task / pieces.count, piece = task % pieces.count, k = s * K;
    const Components one{K, d, all.levels + k, all.means + k * d, all.shapes + k * d * d, d * d};
    logliks[task] = kernel(rows, weight, patterns.view(), one, pieces.cut(piece), pieces.cut(piece + 1),
                           parts.data + task * K * size);
  });
  for (std::size_t s = 0; s < S; ++s) {
    double* sums = parts.data + s * pieces.count * K * size;
    out.loglik[s] = logliks[s * pieces.count];
    for (std::size_t piece = 1; piece < pieces.count; ++piece) {
      out.loglik[s] += logliks[s * pieces.count + piece];
      for (std::size_t e = 0; e < K * size; ++e) sums[e] += sums[piece * K * size + e];
    }
    for (std::size_t k = s * K; k < s * K + K; ++k, sums += size) {
      out.weights[k] = sums[0];
      std::copy_n(sums + 1, d, out.total + k * d);
      const double* from = sums + 1 + d;
      for (std::size_t a = 0; a < d; ++a)
        for (std::size_t b = 0; b <= a; ++b, ++from)
          out.spread[(k * d + a) * d + b] = out.spread[(k * d + b) * d + a] = *from;
    }
  }
}

template <class T>
void IncompleteMixture<T>::describe(const Rows<T>& rows, const MixtureParameters& all, const IncompleteOutputs& out,
                                    std::size_t threads) {
  const Patterns patterns(rows, nullptr, true);
  const double cost = cost_of(patterns, all.K, all.d);
  const Pieces pieces = pieces_of(patterns, cost);
  const Components components = components_of(all);
  const auto kernel = EIGENLENS_PICK(mixture::describe_incomplete<Rows<T>, Slots, Components, IncompleteOutputs>);
  in_parallel(pieces.count, workers(cost, threads), [&](std::size_t p) {
    kernel(rows, patterns.view(), components, pieces.cut(p), pieces.cut(p + 1), out);
  });
}

template struct IncompleteMixture<double>;
template struct IncompleteMixture<float>;

}  // namespace eigenlens
