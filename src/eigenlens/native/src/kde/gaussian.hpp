// Σ_i w_i exp(−u_i²/2), u_i = (y − x_i) / h, at sorted queries y among sorted points x, to a relative error everywhere.
//
// Queries within a short stretch about c are a group. On either side of c let a be the distance of its nearest point, in
// units of h, and a + δ that of another. At a query a step σ farther from them the side amounts to
//
//     exp(−(a + σ)²/2) Σ_j (−σ)^j L_j,    L_j = Σ_i w_i δ_i^j exp(−a δ_i − δ_i²/2) / j!
//
// so what underflows far out is one factor, kept as a logarithm. Points so far behind the nearest one that all of them
// together are negligible are left out. A query alone has σ = 0 and needs only L_0 and L_1. The derivative and
// the integral over σ follow from the L_j. No include guard, on purpose.

// L[j] of the points begin … end about the anchor, for j < TERMS.
template <std::size_t TERMS>
inline void side_terms(const Line& line, std::size_t begin, std::size_t end, double anchor, double a, double* L) {
  const double scale = 1.0 / line.h, bend = 0.5 * 1.4426950408889634, slant = a * 1.4426950408889634;
  vec<double> acc[TERMS] = {};
  for (std::size_t i = begin; i < end; i += LANES) {
    vec<double> x{}, w{};
    const std::size_t count = std::min<std::size_t>(LANES, end - i);
    if (count == LANES) {
      std::memcpy(&x, line.x + i, sizeof x);
      w += 1.0;
      if (line.w) std::memcpy(&w, line.w + i, sizeof w);
    } else {
      x += anchor;
      for (std::size_t l = 0; l < count; ++l) {
        x[l] = line.x[i + l];
        w[l] = line.w ? line.w[i + l] : 1.0;
      }
    }
    vec<double> delta = (x - anchor) * scale;  // of one sign on a side
    delta = delta > -delta ? delta : -delta;
    vec<double> term = w * power_of_two(-delta * (slant + bend * delta));
    for (std::size_t j = 0; j < TERMS; ++j, term *= delta) acc[j] += term;
  }
  double factorial = 1.0;
  for (std::size_t j = 0; j < TERMS; ++j) {
    if (j) factorial *= static_cast<double>(j);
    double total = 0.0;
    for (std::size_t l = 0; l < LANES; ++l) total += acc[j][l];
    L[j] = total / factorial;
  }
}

// P(σ) = Σ_j (−σ)^j L_j and −P′(σ).
inline void side_value(const double* L, std::size_t terms, double sigma, double& P, double& minus_slope) {
  P = minus_slope = 0.0;
  for (std::size_t j = terms; j-- > 0;) {
    if (j) minus_slope = minus_slope * -sigma + static_cast<double>(j) * L[j];
    P = P * -sigma + L[j];
  }
}

// The coefficients of σ⁰, σ¹, … of exp(−a²/2) exp(−aσ − σ²/2) P(σ), integrated once: the side's part of the integral
// from c on, without its constant. E_k of exp(−aσ − σ²/2): k E_k = −a E_{k−1} − E_{k−2}.
inline void side_integral(const double* L, std::size_t terms, double a, double* Q) {
  double E[32];
  E[0] = std::exp(-0.5 * a * a);
  for (std::size_t k = 1; k < terms; ++k)
    E[k] = (-a * E[k - 1] - (k > 1 ? E[k - 2] : 0.0)) / static_cast<double>(k);
  for (std::size_t k = 0; k < terms; ++k) {
    double total = 0.0;
    for (std::size_t j = 0; j <= k; ++j) total += (j % 2 ? -L[j] : L[j]) * E[k - j];
    Q[k] = total / static_cast<double>(k + 1);
  }
}

struct Side {
  bool there;
  std::size_t begin, end;
  double anchor, a;
};

// The points on either side of c that count for queries within `half` of it.
inline void sides_about(const Line& line, double c, double half, Side& left, Side& right) {
  const double *x = line.x, *end = x + line.n;
  const std::size_t k = std::lower_bound(x, end, c) - x;
  left = {k > 0, 0, k, k > 0 ? x[k - 1] : 0.0, k > 0 ? (c - x[k - 1]) / line.h : INFINITY};
  right = {k < line.n, k, line.n, k < line.n ? x[k] : 0.0, k < line.n ? (x[k] - c) / line.h : INFINITY};
  const double nearest = std::min(left.a, right.a) + half;
  // A few units in the last place more: rounding may not lose the nearest point, however far away it is.
  const double reach = (std::sqrt(nearest * nearest + line.span) + half) * line.h * (1.0 + 1e-15);
  left.begin = std::lower_bound(x, x + k, c - reach) - x;
  right.end = std::upper_bound(x + k, end, c + reach) - x;
  left.there = left.begin < left.end;
  right.there = right.begin < right.end;
}

// log-scale level, and value and slope of its exponential: Σ w K = e^level value, its derivative by y e^level slope / h.
template <std::size_t TERMS>
void gaussian_group(const Line& line, const double* y, std::size_t first, std::size_t last, double* level,
                    double* value, double* slope) {
  const double c = 0.5 * (y[first] + y[last - 1]);
  Side side[2];
  sides_about(line, c, 0.5 * (y[last - 1] - y[first]) / line.h, side[0], side[1]);
  double L[2][TERMS];
  for (int k = 0; k < 2; ++k)
    if (side[k].there) side_terms<TERMS>(line, side[k].begin, side[k].end, side[k].anchor, side[k].a, L[k]);
  for (std::size_t q = first; q < last; ++q) {
    double power[2] = {-INFINITY, -INFINITY}, distance[2] = {}, sigma[2] = {};
    for (int k = 0; k < 2; ++k) {
      if (!side[k].there) continue;
      sigma[k] = (k ? c - y[q] : y[q] - c) / line.h;
      distance[k] = (k ? side[k].anchor - y[q] : y[q] - side[k].anchor) / line.h;
      power[k] = -0.5 * distance[k] * distance[k];
    }
    level[q] = std::max(power[0], power[1]);
    value[q] = slope[q] = 0.0;
    for (int k = 0; k < 2; ++k) {
      if (!side[k].there) continue;
      double P, minus_slope;
      side_value(L[k], TERMS, sigma[k], P, minus_slope);
      const double scale = std::exp(power[k] - level[q]);
      value[q] += scale * P;
      slope[q] += (k ? 1.0 : -1.0) * scale * (distance[k] * P + minus_slope);
    }
  }
}

// Σ w Φ((y − x) / h) in cells of a group's width: its value in the middle of a cell, and the integral from there on. From
// one cell to the next the value is carried over; elsewhere, and FAR from all points, it is summed.
constexpr double FAR = 5.0;

template <std::size_t TERMS>
class Integral {
 public:
  explicit Integral(const Line& line) : line(line) {}

  // Makes the cell about c ready; `next`: whether it follows the one before.
  void enter(double c, bool next) {
    const double end = start_of_next;
    next = next && !far;
    sides_about(line, c, line.half, side[0], side[1]);
    far = std::min(side[0].a, side[1].a) > FAR;
    if (far) return;
    for (int k = 0; k < 2; ++k) {
      if (!side[k].there) continue;
      double L[TERMS];
      side_terms<TERMS>(line, side[k].begin, side[k].end, side[k].anchor, side[k].a, L);
      side_integral(L, TERMS, side[k].a, Q[k]);
    }
    middle = next ? end - from_middle(-line.half) : summed(c);
    start_of_next = middle + from_middle(line.half);
  }
  double at(double y, double s) {
    if (!far) return middle + from_middle(s);
    sides_about(line, y, 0.0, side[0], side[1]);
    return summed(y);
  }

 private:
  const Line& line;
  Side side[2];
  bool far = true;
  double Q[2][TERMS], middle = 0.0, start_of_next = 0.0;

  double from_middle(double s) const {
    double sum = 0.0;
    for (int k = 0; k < 2; ++k) {
      if (!side[k].there) continue;
      double total = 0.0;
      for (std::size_t j = TERMS; j-- > 0;) total = total * (k ? -s : s) + Q[k][j];
      sum += total;
    }
    return 0.39894228040143268 * s * sum;
  }
  double summed(double c) const {
    const double root = 0.70710678118654752 / line.h;
    double sum = line.below[side[0].begin];
    for (std::size_t i = side[0].begin; i < side[1].end; ++i)
      sum += (line.w ? line.w[i] : 1.0) * 0.5 * std::erfc((line.x[i] - c) * root);
    return sum;
  }
};

constexpr std::size_t FEW = 4;  // queries of a group below which each goes alone

template <std::size_t TERMS>
void gaussian_sums(const Line& line, const double* y, std::size_t begin, std::size_t end, double* level,
                   double* value, double* slope) {
  for (std::size_t first = begin, last; first < end; first = last) {
    for (last = first + 1; last < end && y[last] - y[first] <= 2.0 * line.half * line.h;) ++last;
    if (last - first >= FEW)
      gaussian_group<TERMS>(line, y, first, last, level, value, slope);
    else
      for (std::size_t q = first; q < last; ++q) gaussian_group<2>(line, y, q, q + 1, level, value, slope);
  }
}

template <std::size_t TERMS>
void gaussian_integrals(const Line& line, const double* y, std::size_t begin, std::size_t end, double* value) {
  Integral<TERMS> integral(line);
  const double width = 2.0 * line.half * line.h, origin = y[begin];
  double cell = -1.0, c = 0.0;
  for (std::size_t q = begin; q < end; ++q) {
    const double wanted = std::floor((y[q] - origin) / width);
    if (wanted != cell) {
      c = origin + (wanted + 0.5) * width;
      integral.enter(c, wanted == cell + 1.0 && cell >= 0.0 && wanted < 1e9);
      cell = wanted;
    }
    value[q] = integral.at(y[q], (y[q] - c) / line.h);
  }
}
