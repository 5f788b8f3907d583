// Vectors of doubles: loads, stores, sums and logarithms. Included once per instruction set; no include guard.

inline vec<double> load(const double* at) { return *reinterpret_cast<const vec<double>*>(at); }
inline void store(double* at, vec<double> value) { *reinterpret_cast<vec<double>*>(at) = value; }

struct Buffer {
  double* data;
  explicit Buffer(std::size_t size) : data(static_cast<double*>(std::aligned_alloc(64, (size + 8) / 8 * 64))) {
    std::memset(data, 0, (size + 8) / 8 * 64);
  }
  Buffer(const Buffer&) = delete;
  ~Buffer() { std::free(data); }
};

// LANES entries that lie `stride` apart. Spelled out, as a loop becomes a gather, which is slower.
template <class T, std::size_t... L>
inline vec<double> apart(const T* from, std::ptrdiff_t stride, std::index_sequence<L...>) {
  return vec<double>{static_cast<double>(from[static_cast<std::ptrdiff_t>(L) * stride])...};
}
template <class T>
inline vec<double> apart(const T* from, std::ptrdiff_t stride) {
  return apart(from, stride, std::make_index_sequence<LANES>());
}

inline double horizontal(const vec<double>& v) {
  double sum = 0.0;
  for (std::size_t l = 0; l < LANES; ++l) sum += v[l];
  return sum;
}

// log s of a sum s of exponentials, to about one unit: s = 2ⁿ m with m in [√½, √2), log m = 2 artanh((m−1)/(m+1)).
// −∞ for zero; not-a-number stays.
inline vec<double> logarithm(vec<double> s) {
  typedef Vector<double>::of<long long> integers;
  constexpr long long half = 0x3fe6a09e667f3bcdLL;  // the bits of √½
  const integers bits = (integers)s - half;
  const integers n = bits >> 52, m = (bits & 0x000fffffffffffffLL) + half;
  const vec<double> f = (vec<double>)m - 1.0, t = f / (f + 2.0), square = t * t;
  vec<double> series = square * (1.0 / 23) + 1.0 / 21;
  for (int k = 19; k >= 3; k -= 2) series = series * square + 1.0 / k;
  const vec<double> whole = __builtin_convertvector(n, vec<double>);
  const vec<double> rest = 2.0 * (t + t * square * series) + whole * Exponential<double>::low;
  const vec<double> value = whole * Exponential<double>::high + rest;
  return s == 0.0 ? vec<double>{} - HUGE_VAL : s == s ? value : s;
}
