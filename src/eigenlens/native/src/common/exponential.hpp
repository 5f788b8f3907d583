// The vector exponential of arguments that are not positive. Included once per instruction set; no include guard.

template <class C>
struct Exponential;
template <>
struct Exponential<double> {
  typedef long long bits;
  static constexpr double lowest = -708.0, magic = 6755399441055744.0;  // 1.5 · 2⁵²: adding it rounds to an integer
  static constexpr double log2e = 1.4426950408889634, high = 6.93147180369123816490e-01, low = 1.90821492927058770002e-10;
  static constexpr int bias = 1023, mantissa = 52, degree = 13;
};
template <>
struct Exponential<float> {
  typedef int bits;
  static constexpr float lowest = -87.0f, magic = 12582912.0f;  // 1.5 · 2²³
  static constexpr float log2e = 1.44269504f, high = 0.693359375f, low = -2.12194440e-4f;
  static constexpr int bias = 127, mantissa = 23, degree = 7;
};

// 1/k!, k = 0 … 13: the Taylor series of e^r, whose rest is below half a unit for |r| ≤ ln 2 / 2.
constexpr double INVERSE_FACTORIALS[] = {1.0,        1.0,         1.0 / 2,       1.0 / 6,        1.0 / 24,
                                         1.0 / 120,  1.0 / 720,   1.0 / 5040,    1.0 / 40320,    1.0 / 362880,
                                         1.0 / 3628800, 1.0 / 39916800, 1.0 / 479001600, 1.0 / 6227020800};

// e^x for x ≤ 0 to about one unit in the last place: e^x = 2ⁿ e^r. Zero where the result would not be a normal number;
// not-a-number stays.
template <class C>
inline vec<C> exponential(vec<C> x) {
  using E = Exponential<C>;
  typedef typename Vector<C>::template of<typename E::bits> integers;
  const vec<C> shifted = x * E::log2e + E::magic;
  const vec<C> n = shifted - E::magic;
  const vec<C> r = (x - n * E::high) - n * E::low;
  vec<C> sum = r * static_cast<C>(INVERSE_FACTORIALS[E::degree]) + static_cast<C>(INVERSE_FACTORIALS[E::degree - 1]);
  for (int k = E::degree - 2; k >= 0; --k) sum = sum * r + static_cast<C>(INVERSE_FACTORIALS[k]);
  const integers exponent = ((integers)shifted + E::bias) << E::mantissa;
  const vec<C> value = sum * (vec<C>)exponent;
  return x < E::lowest ? vec<C>{} : value;
}
