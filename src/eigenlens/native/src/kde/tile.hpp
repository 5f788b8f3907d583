// Σ_i w_i Π_j K(r_i (y_j − x_ij)) over a tile of points, the products and exponentials of several queries in registers.
//
// Coordinates are in units of the bandwidth. A strip holds eight points: their d coordinates line after line, then the
// inverse r of their own scale, then their weight. Differences are taken before they are squared, so that far-away rows
// keep their digits. No include guard, on purpose.

inline vec<double> modulus(vec<double> x) { return x < 0 ? -x : x; }
inline vec<double> positive(vec<double> x) { return x > 0 ? x : vec<double>{}; }

// How the d differences of a pair become one number, and that number the value of the kernel without its constant.
// Sums start at a level of the query's own: 0, or the distance of its nearest point.
struct SquareForm {  // 2^(level − Σ u²): the Gaussian, coordinates scaled for it
  static constexpr bool SUM = true;
  static double start(double level) { return level; }
  static vec<double> with(vec<double> acc, vec<double> u) { return acc - u * u; }
  static vec<double> value(vec<double> acc) { return power_of_two(acc); }
};
struct ModulusForm {  // 2^(level − Σ |u|): the Laplace kernel
  static constexpr bool SUM = true;
  static double start(double level) { return level; }
  static vec<double> with(vec<double> acc, vec<double> u) { return acc - modulus(u); }
  static vec<double> value(vec<double> acc) { return power_of_two(acc); }
};
template <int POWER>
struct BellForm {  // Π (1 − u²)^p
  static constexpr bool SUM = false;
  static double start(double) { return 1.0; }
  static vec<double> with(vec<double> acc, vec<double> u) {
    const vec<double> a = modulus(u);
    if constexpr (POWER == 0) return a <= 1.0 ? acc : vec<double>{};
    return acc * positive((1.0 - a) * (1.0 + a));
  }
  static vec<double> value(vec<double> acc) {
    return POWER < 2 ? acc : POWER == 2 ? acc * acc : acc * acc * acc;
  }
};
struct TentForm {  // Π (1 − |u|)
  static constexpr bool SUM = false;
  static double start(double) { return 1.0; }
  static vec<double> with(vec<double> acc, vec<double> u) { return acc * positive(1.0 - modulus(u)); }
  static vec<double> value(vec<double> acc) { return acc; }
};
struct WaveForm {  // Π cos(πu/2) = Π sin(π(1 − |u|)/2), by the Taylor series of the sine up to π/2
  static constexpr bool SUM = false;
  static double start(double) { return 1.0; }
  static vec<double> with(vec<double> acc, vec<double> u) {
    const vec<double> v = positive(1.0 - modulus(u)) * 1.5707963267948966, z = v * v;
    vec<double> sum{};
    for (int k = 11; k >= 1; --k) sum = (sum + 1.0) * z * (-1.0 / (2.0 * k * (2.0 * k + 1.0)));
    return acc * (v + v * sum);
  }
  static vec<double> value(vec<double> acc) { return acc; }
};

constexpr std::size_t TOGETHER = 4;  // queries of a register tile; it takes two vectors of points

// The forms of TOGETHER queries q (TOGETHER, d) and LANES points at p.
template <class Form, bool OWN>
inline void pair_forms(const double* p, const double* q, std::size_t d, const double* level,
                       vec<double> (&acc)[TOGETHER]) {
  for (std::size_t i = 0; i < TOGETHER; ++i) acc[i] = vec<double>{} + Form::start(level[i]);
  const vec<double> r = *reinterpret_cast<const vec<double>*>(p + d * 8);
  for (std::size_t j = 0; j < d; ++j) {
    const vec<double> x = *reinterpret_cast<const vec<double>*>(p + j * 8);
    for (std::size_t i = 0; i < TOGETHER; ++i) {
      vec<double> u = q[i * d + j] - x;
      if (OWN) u *= r;
      acc[i] = Form::with(acc[i], u);
    }
  }
}

// sums[i] += Σ w value(form from level[i] on) over an even number of strips. D is d where that is known, for few
// dimensions: their loop is unrolled then.
template <class Form, bool OWN, std::size_t D>
void tile_sums_of(const double* strip, std::size_t strips, std::size_t dimensions, const double* q,
                  const double* level, double* sums) {
  const std::size_t d = D ? D : dimensions, stride = (d + 2) * 8;
  vec<double> total[TOGETHER] = {};
  for (std::size_t at = 0; at < strips * PARTS; at += 2) {
    vec<double> acc[2][TOGETHER];
    const double* p[2] = {strip + at / PARTS * stride + at % PARTS * LANES,
                          strip + (at + 1) / PARTS * stride + (at + 1) % PARTS * LANES};
    for (int v = 0; v < 2; ++v) pair_forms<Form, OWN>(p[v], q, d, level, acc[v]);
    for (int v = 0; v < 2; ++v) {
      const vec<double> w = *reinterpret_cast<const vec<double>*>(p[v] + (d + 1) * 8);
      for (std::size_t i = 0; i < TOGETHER; ++i) total[i] += w * Form::value(acc[v][i]);
    }
  }
  for (std::size_t i = 0; i < TOGETHER; ++i) {
    double sum = 0.0;
    for (std::size_t l = 0; l < LANES; ++l) sum += total[i][l];
    sums[i] += sum;
  }
}

template <class Form, bool OWN>
void tile_sums(const double* strip, std::size_t strips, std::size_t d, const double* q, const double* level,
               double* sums) {
  switch (Form::SUM ? d : 0) {
    case 1: return tile_sums_of<Form, OWN, 1>(strip, strips, d, q, level, sums);
    case 2: return tile_sums_of<Form, OWN, 2>(strip, strips, d, q, level, sums);
    case 3: return tile_sums_of<Form, OWN, 3>(strip, strips, d, q, level, sums);
    case 4: return tile_sums_of<Form, OWN, 4>(strip, strips, d, q, level, sums);
    case 5: return tile_sums_of<Form, OWN, 5>(strip, strips, d, q, level, sums);
    default: return tile_sums_of<Form, OWN, 0>(strip, strips, d, q, level, sums);
  }
}

// nearest[i] = the smallest distance, a sum of squares or moduli, over `strips` strips and what it was before.
template <class Form, bool OWN>
void tile_nearest(const double* strip, std::size_t strips, std::size_t d, const double* q, double* nearest) {
  const std::size_t stride = (d + 2) * 8;
  const double level[TOGETHER] = {};
  for (std::size_t at = 0; at < strips * PARTS; ++at) {
    vec<double> acc[TOGETHER];
    pair_forms<Form, OWN>(strip + at / PARTS * stride + at % PARTS * LANES, q, d, level, acc);
    for (std::size_t i = 0; i < TOGETHER; ++i)
      for (std::size_t l = 0; l < LANES; ++l) nearest[i] = std::min(nearest[i], -acc[i][l]);
  }
}
