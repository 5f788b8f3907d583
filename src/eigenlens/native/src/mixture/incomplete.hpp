// Incomplete rows of a mixture with full covariances. No include guard, on purpose.
//
// A pattern observes columns o and misses m. Elimination of the observed columns makes of C, in its own place,
//
//     L_oo with L_oo L_ooᵀ = C_oo,    L_mo = C_mo L_oo⁻ᵀ,    C_mm − L_mo L_moᵀ,
//
// so z = L_oo⁻¹ (x_o − μ_o) has the squared distance |z|², and L_mo z is what is expected of x_m − μ_m. LANES patterns
// lie along the vectors while C is eliminated, and then LANES rows of one pattern.

namespace mixture {
#include "mixture/limits.hpp"

constexpr std::size_t triangle(std::size_t a, std::size_t b) { return a < b ? triangle(b, a) : a * (a + 1) / 2 + b; }

struct Incomplete {
  std::size_t K, d, p;
  Buffer seen, missed;     // (d, LANES): 1 or 0 for each pattern
  Buffer table;            // (K, p, LANES): what elimination leaves of each covariance, a packed triangle
  Buffer inverse;          // (K, d, LANES): 1 / L_jj, and 0 where missing
  Buffer level;            // (K, LANES): ln pi_k − ½ ln |2π C_oo|
  Buffer share;            // (K, LANES): the rows of each pattern that a component has
  Buffer line, x, z;       // (d, LANES)
  Buffer delta;            // (K, d, LANES): x − μ_k of some rows, as expected where missing
  Buffer joint, r;         // (K, LANES)
  Buffer weight;           // (LANES)
  std::size_t lane = 0;    // the pattern of those rows
  std::vector<std::size_t> observed, missing;  // and its columns

  Incomplete(std::size_t K, std::size_t d)
      : K(K), d(d), p(d * (d + 1) / 2), seen(d * LANES), missed(d * LANES), table(K * p * LANES),
        inverse(K * d * LANES), level(K * LANES), share(K * LANES), line(d * LANES), x(d * LANES), z(d * LANES),
        delta(K * d * LANES), joint(K * LANES), r(K * LANES), weight(LANES) {}

  // The patterns of the slots first … last−1, by the first row of each.
  template <class Rows, class Slots, class Components>
  void factor(const Rows& rows, const Slots& slots, std::size_t first, std::size_t last, const Components& all) {
    for (std::size_t l = 0; l < LANES; ++l) {
      const auto* from = first + l < last ? rows.at(slots.order[slots.starts[first + l]]) : nullptr;
      for (std::size_t j = 0; j < d; ++j) {
        const auto value = from ? from[static_cast<std::ptrdiff_t>(j) * rows.column_stride] : 0;
        seen.data[j * LANES + l] = value == value ? 1.0 : 0.0;
        missed.data[j * LANES + l] = value == value ? 0.0 : 1.0;
      }
    }
    vec<double> columns = {};
    for (std::size_t j = 0; j < d; ++j) columns += load(seen.data + j * LANES);
    for (std::size_t k = 0; k < K; ++k) {
      const vec<double> log_det = eliminate(all.shapes + k * d * d, table.data + k * p * LANES,
                                            inverse.data + k * d * LANES) + columns * 1.8378770664093454836;
      store(level.data + k * LANES, all.levels[k] - 0.5 * log_det);
      store(share.data + k * LANES, vec<double>{});
    }
  }

  // One pivot after the other, and none where a column is missing: lanes differ in which lines are still to come. The
  // answer is ln |C_oo|.
  vec<double> eliminate(const double* C, double* T, double* inverses) {
    for (std::size_t a = 0, e = 0; a < d; ++a)
      for (std::size_t b = 0; b <= a; ++b, ++e) store(T + e * LANES, vec<double>{} + C[a * d + b]);
    vec<double> log_det = {};
    for (std::size_t j = 0; j < d; ++j) {
      const auto here = load(seen.data + j * LANES) != 0.0;
      const vec<double> pivot = load(T + triangle(j, j) * LANES);
      vec<double> root = {};
      for (std::size_t l = 0; l < LANES; ++l) root[l] = std::sqrt(pivot[l]);
      const vec<double> over = here ? 1.0 / root : vec<double>{};
      store(inverses + j * LANES, over);
      log_det += here ? logarithm(pivot) : vec<double>{};
      for (std::size_t a = 0; a < d; ++a) {
        double* at = T + triangle(a, j) * LANES;
        const vec<double> value = load(at), left = load(missed.data + a * LANES) + (a > j ? 1.0 : 0.0);
        const auto comes = here & (left != 0.0);
        const vec<double> l = value * over;
        store(line.data + a * LANES, comes ? l : vec<double>{});
        store(at, comes ? l : value);
      }
      for (std::size_t a = 0, e = 0; a < d; ++a) {
        const vec<double> left = load(line.data + a * LANES);
        for (std::size_t b = 0; b <= a; ++b, ++e)
          store(T + e * LANES, load(T + e * LANES) - left * load(line.data + b * LANES));
      }
    }
    return log_det;
  }

  // The rows from now on are of this pattern.
  void choose(std::size_t l) {
    lane = l;
    observed.clear(), missing.clear();
    for (std::size_t j = 0; j < d; ++j) (seen.data[j * LANES + l] != 0.0 ? observed : missing).push_back(j);
  }

  // Up to LANES rows; where there are none they have the weight 0.
  template <class Rows>
  void read(const Rows& rows, const double* weights, const std::size_t* which, std::size_t count) {
    for (std::size_t l = 0; l < LANES; ++l) {
      weight.data[l] = l >= count ? 0.0 : weights ? weights[which[l]] : 1.0;
      const auto* from = rows.at(which[l < count ? l : 0]);
      for (const std::size_t j : observed)
        x.data[j * LANES + l] = static_cast<double>(from[static_cast<std::ptrdiff_t>(j) * rows.column_stride]);
    }
  }

  // x − μ_k, with the expectation of missing values, and the joint densities.
  void place(std::size_t k, const double* mean, double max_half) {
    const double *T = table.data + k * p * LANES + lane, *over = inverse.data + k * d * LANES + lane;
    double* to = delta.data + k * d * LANES;
    for (const std::size_t j : observed) {
      const vec<double> value = load(x.data + j * LANES) - mean[j];
      store(to + j * LANES, value);
      store(z.data + j * LANES, value);
    }
    for (const std::size_t j : missing) store(to + j * LANES, vec<double>{});
    vec<double> square = {};
    for (std::size_t i = 0; i < observed.size(); ++i) {
      const std::size_t j = observed[i];
      const vec<double> value = load(z.data + j * LANES) * over[j * LANES];
      square += value * value;
      for (std::size_t next = i + 1; next < observed.size(); ++next) {
        double* at = z.data + observed[next] * LANES;
        store(at, load(at) - T[triangle(observed[next], j) * LANES] * value);
      }
      for (const std::size_t m : missing)
        store(to + m * LANES, load(to + m * LANES) + T[triangle(m, j) * LANES] * value);
    }
    const vec<double> half = 0.5 * square;
    store(joint.data + k * LANES, level.data[k * LANES + lane] - (half > max_half ? vec<double>{} + max_half : half));
  }

  template <class Components>
  void place_all(const Components& all) {
    for (std::size_t k = 0; k < K; ++k) place(k, all.means + k * d, FARTHEST);
  }

  // Responsibilities times weights, those that would add nothing being 0; the answer is Σ w ln Σ exp(joint).
  double shares() {
    vec<double> top = vec<double>{} - HUGE_VAL, sum = {};
    for (std::size_t k = 0; k < K; ++k) {
      const vec<double> value = load(joint.data + k * LANES);
      top = value > top ? value : top;
    }
    top = top == -HUGE_VAL ? vec<double>{} : top;
    for (std::size_t k = 0; k < K; ++k) {
      const vec<double> value = load(joint.data + k * LANES), e = exponential<double>(value - top);
      const vec<double> distance = 2.0 * (level.data[k * LANES + lane] - value);
      const vec<double> kept = e * (1.0 + distance) < NEGLIGIBLE ? vec<double>{} : e;
      store(r.data + k * LANES, kept);
      sum += kept;
    }
    const vec<double> w = load(weight.data), log = top + logarithm(sum);
    const vec<double> scale = (w == 0.0) | (sum == 0.0) ? vec<double>{} : w / sum;
    for (std::size_t k = 0; k < K; ++k) store(r.data + k * LANES, load(r.data + k * LANES) * scale);
    return horizontal(w == 0.0 ? vec<double>{} : w * log);
  }

  // Adds Σ r, Σ r δ and Σ r δδᵀ of the rows to `sums` (K, 1 + d + p, LANES).
  void add(double* sums) {
    for (std::size_t k = 0; k < K; ++k, sums += (1 + d + p) * LANES) {
      const vec<double> part = load(r.data + k * LANES);
      const double whole = horizontal(part);
      if (whole == 0.0) continue;
      share.data[k * LANES + lane] += whole;
      store(sums, load(sums) + part);
      const double* from = delta.data + k * d * LANES;
      double* to = sums + (1 + d) * LANES;
      for (std::size_t a = 0; a < d; ++a) {
        const vec<double> left = part * load(from + a * LANES);
        store(sums + (1 + a) * LANES, load(sums + (1 + a) * LANES) + left);
        for (std::size_t b = 0; b <= a; ++b, to += LANES) store(to, load(to) + left * load(from + b * LANES));
      }
    }
  }

  // Adds what is left of the covariances of missing values, as often as there are rows.
  void add_left(double* sums) {
    for (std::size_t k = 0; k < K; ++k) {
      const double* T = table.data + k * p * LANES;
      double* to = sums + (k * (1 + d + p) + 1 + d) * LANES;
      for (std::size_t a = 0; a < d; ++a) {
        const vec<double> left = load(share.data + k * LANES) * load(missed.data + a * LANES);
        for (std::size_t b = 0; b <= a; ++b, T += LANES, to += LANES) {
          const auto both = left * load(missed.data + b * LANES);
          store(to, load(to) + (both == 0.0 ? vec<double>{} : both * load(T)));
        }
      }
    }
  }

  // Σ_k r_k (μ_k + δ_k) of the missing values, and the deviations about it.
  template <class Components, class Out>
  void fill(const Components& all, const std::size_t* which, std::size_t count, const Out& out) {
    for (const std::size_t m : missing) {
      vec<double> mean = {}, spread = {};
      for (std::size_t k = 0; k < K; ++k)
        mean += load(r.data + k * LANES) * (all.means[k * d + m] + load(delta.data + (k * d + m) * LANES));
      for (std::size_t k = 0; k < K; ++k) {
        const vec<double> off = all.means[k * d + m] + load(delta.data + (k * d + m) * LANES) - mean;
        const double left = table.data[(k * p + triangle(m, m)) * LANES + lane];
        spread += load(r.data + k * LANES) * (std::max(left, 0.0) + off * off);
      }
      for (std::size_t l = 0; l < count; ++l) {
        out.filled[which[l] * d + m] = mean[l];
        out.deviation[which[l] * d + m] = std::sqrt(spread[l]);
      }
    }
  }
};

// Calls work(rows of one pattern, how many) for the slots begin … end−1, LANES rows at a time, and between(), after
// those of LANES patterns.
template <class Rows, class Slots, class Components, class Work, class Between>
void each_pattern(Incomplete& batch, const Rows& rows, const double* weight, const Slots& slots, const Components& all,
                  std::size_t begin, std::size_t end, Work work, Between between) {
  for (std::size_t first = begin; first < end; first += LANES) {
    const std::size_t last = std::min(end, first + LANES);
    batch.factor(rows, slots, first, last, all);
    for (std::size_t slot = first; slot < last; ++slot) {
      batch.choose(slot - first);
      for (std::size_t i = slots.starts[slot]; i < slots.starts[slot + 1]; i += LANES) {
        const std::size_t count = std::min<std::size_t>(LANES, slots.starts[slot + 1] - i);
        batch.read(rows, weight, slots.order + i, count);
        batch.place_all(all);
        work(slots.order + i, count);
      }
    }
    between();
  }
}

// The slots begin … end−1: their sums, (K, 1 + d + p) numbers, are written, and the log-likelihood is the answer.
template <class Rows, class Slots, class Components>
double incomplete_pass(const Rows& rows, const double* weight, const Slots& slots, const Components& all, std::size_t begin,
                 std::size_t end, double* sums) {
  Incomplete batch(all.K, all.d);
  const std::size_t size = all.K * (1 + all.d + batch.p);
  Buffer wide(size * LANES);
  double loglik = 0.0;
  each_pattern(
      batch, rows, weight, slots, all, begin, end,
      [&](const std::size_t*, std::size_t) {
        loglik += batch.shares();
        batch.add(wide.data);
      },
      [&] { batch.add_left(wide.data); });
  for (std::size_t e = 0; e < size; ++e) sums[e] = horizontal(load(wide.data + e * LANES));
  return loglik;
}

// Of the rows in the slots begin … end−1, each that is not null: joint (n, K), filled (n, d) and deviation (n, d), of
// which missing values alone are written.
template <class Rows, class Slots, class Components, class Out>
void describe_incomplete(const Rows& rows, const Slots& slots, const Components& all, std::size_t begin, std::size_t end,
                   const Out& out) {
  Incomplete batch(all.K, all.d);
  each_pattern(
      batch, rows, nullptr, slots, all, begin, end,
      [&](const std::size_t* which, std::size_t count) {
        for (std::size_t k = 0; out.joint && k < all.K; ++k)
          for (std::size_t l = 0; l < count; ++l) out.joint[which[l] * all.K + k] = batch.joint.data[k * LANES + l];
        if (!out.filled) return;
        batch.shares();
        batch.fill(all, which, count, out);
      },
      [] {});
}
}  // namespace mixture
