// The vector power of two. Included once per instruction set; no include guard.

// 2^x for −1020 ≤ x ≤ 0 to about one unit in the last place; below, what it is at −1020: nothing beside the others, and
// never a denormal number, whose arithmetic is ten times slower. The polynomial interpolates 2^r, |r| ≤ ½, at the
// Chebyshev points, with a relative error of 4e-18.
constexpr double POWERS_OF_TWO[] = {1.0,
                                    0.6931471805599453,
                                    0.24022650695910158,
                                    0.055504108664821625,
                                    0.009618129107587256,
                                    0.001333355814640647,
                                    0.00015403530463724353,
                                    1.5252733841556773e-05,
                                    1.3215432535912375e-06,
                                    1.0178057087733941e-07,
                                    7.074194297288521e-09,
                                    4.4558179083360645e-10};
inline vec<double> power_of_two(vec<double> x) {
  typedef Vector<double>::of<long long> integers;
  constexpr double magic = 6755399441055744.0;
  const vec<double> lowest = vec<double>{} - 1020.0;
  x = x > lowest ? x : lowest;
  const vec<double> shifted = x + magic, r = x - (shifted - magic);
  vec<double> sum = r * POWERS_OF_TWO[11] + POWERS_OF_TWO[10];
  for (int k = 9; k >= 0; --k) sum = sum * r + POWERS_OF_TWO[k];
  const integers bits = (integers)sum + ((integers)shifted << 52);
  return (vec<double>)bits;
}
