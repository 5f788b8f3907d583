// Sums over the points of a sliding window on a line, without one subtraction of sums:
//
//     Σ_i w_i g((y − x_i) / h)     over the points with low ≤ (y − x_i) / h ≤ high
//
// for functions g with an addition theorem. Sorted queries whose windows hold a common point B are a group. Each window
// is then a part left of B and a part right of it: the first grows as the queries go down, the second as they go up, and
// both are sums of features of t = (x − B) / h. So an outlier or an offset of the data costs no digits, and a dense
// region leaves nothing behind in the empty one beside it. Cost O(n + m) after sorting. No include guard, on purpose.

// 1, t, t², …: for polynomials. `matrix` [j][l] holds what Σ w t^j · s^l counts for, s = (y − B) / h.
template <std::size_t DEGREE>
struct Powers {
  static constexpr std::size_t SIZE = DEGREE + 1, RESULTS = 2;
  const double* matrix;

  static void add(double* T, double t, double w) {
    for (std::size_t j = 0; j < SIZE; ++j, w *= t) T[j] += w;
  }
  // The sum, and the weight in the window.
  void results(const double* T, double s, double* out) const {
    double total = 0.0;
    for (std::size_t j = 0; j < SIZE; ++j) {
      double value = 0.0;
      for (std::size_t l = SIZE - j; l-- > 0;) value = value * s + matrix[j * SIZE + l];
      total += value * T[j];
    }
    out[0] = total;
    out[1] = T[0];
  }
};

// 1, cos(πt/2), sin(πt/2): for the cosine kernel. Results: Σ w cos(πu/2), Σ w sin(πu/2), Σ w.
struct Waves {
  static constexpr std::size_t SIZE = 3, RESULTS = 3;
  static constexpr double QUARTER = 1.5707963267948966;

  static void add(double* T, double t, double w) {
    T[0] += w;
    T[1] += w * std::cos(QUARTER * t);
    T[2] += w * std::sin(QUARTER * t);
  }
  void results(const double* T, double s, double* out) const {
    const double c = std::cos(QUARTER * s), d = std::sin(QUARTER * s);
    out[0] = c * T[1] + d * T[2];
    out[1] = d * T[1] - c * T[2];
    out[2] = T[0];
  }
};

// Queries y (count, sorted), at most GROUP at a time; adds to out (RESULTS rows of `stride`).
constexpr std::size_t GROUP = 4096;

template <class Features>
void window_sums(const double* x, const double* w, std::size_t n, const double* y, std::size_t count,
                 const Window& window, const Features& features, double* out, std::size_t stride) {
  constexpr std::size_t SIZE = Features::SIZE;
  const double a = window.low * window.h, b = window.high * window.h, inverse = 1.0 / window.h;
  std::vector<double> left(std::min(count, GROUP) * SIZE);
  for (std::size_t first = 0, last; first < count; first = last) {
    // Points before `middle` are in reach of every query of the group on their right, the others never fall behind.
    const double B = y[first] - a;
    const std::size_t middle = std::partition_point(x, x + n, [&](double v) { return y[first] - v >= a; }) - x;
    auto inside = [&](double u) { return window.closed ? u <= b : u < b; };
    for (last = first + 1; last < count && last - first < GROUP && y[last] - B <= b; ++last)
      if (middle < n && !inside(y[last] - x[middle])) break;
    double T[SIZE] = {};
    for (std::size_t q = last, p = middle; q-- > first;) {
      for (; p > 0 && inside(y[q] - x[p - 1]); --p) Features::add(T, (x[p - 1] - B) * inverse, w ? w[p - 1] : 1.0);
      std::copy_n(T, SIZE, left.data() + (q - first) * SIZE);
    }
    std::fill_n(T, SIZE, 0.0);
    for (std::size_t q = first, p = middle; q < last; ++q) {
      for (; p < n && y[q] - x[p] >= a; ++p) Features::add(T, (x[p] - B) * inverse, w ? w[p] : 1.0);
      double both[SIZE], found[Features::RESULTS];
      for (std::size_t j = 0; j < SIZE; ++j) both[j] = left[(q - first) * SIZE + j] + T[j];
      features.results(both, (y[q] - B) * inverse, found);
      for (std::size_t r = 0; r < Features::RESULTS; ++r) out[r * stride + q] += found[r];
    }
  }
}

template <std::size_t DEGREE>
void power_sums(const double* x, const double* w, std::size_t n, const double* y, std::size_t count,
                const Window& window, const double* matrix, double* out, std::size_t stride) {
  window_sums(x, w, n, y, count, window, Powers<DEGREE>{matrix}, out, stride);
}

inline void wave_sums(const double* x, const double* w, std::size_t n, const double* y, std::size_t count,
                      const Window& window, double* out, std::size_t stride) {
  window_sums(x, w, n, y, count, window, Waves{}, out, stride);
}
