// Incomplete rows of a mixture on several threads: rows of one pattern together, and the sums of all.
#pragma once

#include <array>
#include <unordered_map>

#include "mixture/driver.hpp"

namespace eigenlens {

constexpr std::size_t WIDEST_INCOMPLETE = 256;   // columns at most
constexpr std::size_t SLOT = 128;          // rows of a slot at most
constexpr std::size_t SLOTS_TOGETHER = 8;  // pieces have a multiple of this many

// Slot s are the rows order[starts[s]] … order[starts[s + 1] − 1], all of which miss the same entries.
struct Slots {
  const std::size_t *order, *starts;
};

struct Patterns {
  using Key = std::array<std::uint64_t, WIDEST_INCOMPLETE / 64>;
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
      for (std::size_t at = first; at < first + counts[u]; at += SLOT) starts.push_back(at);
    }
    starts.push_back(first);
    order.resize(first);
    for (std::size_t i = 0; i < rows.n; ++i)
      if (which[i] != none) order[next[which[i]]++] = i;
  }

  std::size_t slots() const { return starts.size() - 1; }
  Slots view() const { return {order.data(), starts.data()}; }
};

// Slots are cut into pieces by the rows, K and d alone: the rounding does not depend on the threads.
struct SlotPieces {
  std::size_t slots, count, step;
  double cost;  // of one mixture, in products

  SlotPieces(const Patterns& patterns, std::size_t K, std::size_t d) : slots(patterns.slots()) {
    const double each = static_cast<double>(d * d * d) / 2, row = static_cast<double>(2 * d * d + 30);
    cost = static_cast<double>(K) *
           (static_cast<double>(slots) * each + static_cast<double>(patterns.order.size()) * row);
    const double most = std::min<double>(MOST_PIECES, static_cast<double>(slots / SLOTS_TOGETHER));
    count = static_cast<std::size_t>(std::max(1.0, std::min(cost / COST_OF_PIECE, most)));
    step = ((slots + count - 1) / count + SLOTS_TOGETHER - 1) / SLOTS_TOGETHER * SLOTS_TOGETHER;
  }
  std::size_t cut(std::size_t piece) const { return std::min(slots, piece * step); }

  // As many threads as there is work for, for S mixtures.
  std::size_t workers(std::size_t S, std::size_t threads) const {
    const double worth = std::min(1e6, static_cast<double>(S) * cost / COST_OF_PIECE);
    return std::min(threads, static_cast<std::size_t>(1.0 + worth));
  }
};

// S mixtures of the same number of components; levels are ln pi_k, and shapes the covariances. All of loglik (S),
// weights (S K), total (S K, d) and scatter (S K, d, d) are written.
template <class T>
void incomplete_passes(const Rows<T>& rows, const double* weight, const Components& all, std::size_t S, double* loglik,
                 double* weights, double* total, double* scatter, std::size_t threads) {
  const std::size_t K = all.K / S, d = all.d, size = 1 + d + d * (d + 1) / 2;
  const Patterns patterns(rows, weight, false);
  const SlotPieces pieces(patterns, K, d);
  Aligned<double> parts(S * pieces.count * K * size);
  std::vector<double> logliks(S * pieces.count);
  const auto kernel = EIGENLENS_PICK(mixture::incomplete_pass<Rows<T>, Slots, Components>);
  in_parallel(S * pieces.count, pieces.workers(S, threads), [&](std::size_t task) {
    const std::size_t s = task / pieces.count, piece = task % pieces.count, k = s * K;
    const Components one{K, d, all.levels + k, all.means + k * d, all.shapes + k * d * d, d * d};
    logliks[task] = kernel(rows, weight, patterns.view(), one, pieces.cut(piece), pieces.cut(piece + 1),
                           parts.data + task * K * size);
  });
  for (std::size_t s = 0; s < S; ++s) {
    double* sums = parts.data + s * pieces.count * K * size;
    loglik[s] = logliks[s * pieces.count];
    for (std::size_t piece = 1; piece < pieces.count; ++piece) {
      loglik[s] += logliks[s * pieces.count + piece];
      for (std::size_t e = 0; e < K * size; ++e) sums[e] += sums[piece * K * size + e];
    }
    for (std::size_t k = s * K; k < s * K + K; ++k, sums += size) {
      weights[k] = sums[0];
      std::copy_n(sums + 1, d, total + k * d);
      const double* from = sums + 1 + d;
      for (std::size_t a = 0; a < d; ++a)
        for (std::size_t b = 0; b <= a; ++b, ++from)
          scatter[(k * d + a) * d + b] = scatter[(k * d + b) * d + a] = *from;
    }
  }
}

// Each that is not null: joint (n, K); filled and deviation (n, d), of which missing values alone are written.
struct IncompleteOut {
  double *joint, *filled, *deviation;
};

template <class T>
void incomplete_rows_of(const Rows<T>& rows, const Components& all, const IncompleteOut& out, std::size_t threads) {
  const Patterns patterns(rows, nullptr, true);
  const SlotPieces pieces(patterns, all.K, all.d);
  const auto kernel = EIGENLENS_PICK(mixture::describe_incomplete<Rows<T>, Slots, Components, IncompleteOut>);
  in_parallel(pieces.count, pieces.workers(1, threads), [&](std::size_t p) {
    kernel(rows, patterns.view(), all, pieces.cut(p), pieces.cut(p + 1), out);
  });
}

}  // namespace eigenlens
