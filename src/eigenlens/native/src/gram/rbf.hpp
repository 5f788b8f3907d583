// Values of the Gaussian kernel, the exponential taken while the products are in registers:
//
//     k(x, y) = exp(−γ|x − y|²) = exp(min(0, a·b − |a|²/2 − |b|²/2)),   a = √(2γ) (x − c),  b = √(2γ) (y − c)
//
// The centre c keeps the digits of rows whose mean is large. Both sides are packed alike, so k(x, y) = k(y, x) to the
// last digit. C is the type of the arithmetic, O that of the values. No include guard, on purpose.

// Lines that a strip of points takes: an odd number keeps strips out of each other's cache sets.
inline std::size_t lines_of(std::size_t d) { return d | 1; }

// One strip of up to STRIP points x (count, d): their columns become lines; level = −|a|²/2.
template <class C, class T>
void pack_points(const T* x, std::ptrdiff_t row_stride, std::ptrdiff_t column_stride, std::size_t count,
                 std::size_t d, const double* centre, double scale, C* strip, C* level) {
  for (std::size_t i = 0; i < STRIP<C>; ++i) {
    double square = 0.0;
    for (std::size_t j = 0; j < d; ++j) {
      const T* entry = x + static_cast<std::ptrdiff_t>(i) * row_stride + static_cast<std::ptrdiff_t>(j) * column_stride;
      const C value = i < count ? static_cast<C>(scale * (static_cast<double>(*entry) - centre[j])) : C(0);
      strip[j * STRIP<C> + i] = value;
      square += static_cast<double>(value) * static_cast<double>(value);
    }
    level[i] = static_cast<C>(-0.5 * square);
  }
}

// Kernel values of points row … row+ROWS−1 of strip a with the points of STRIPS strips b, as far as there are any.
template <std::size_t STRIPS, class C, class O>
inline void gaussian_tile(const C* a, const C* b, std::size_t d, const C* level_a, const C* level_b, O* out,
                          std::size_t width, std::size_t rows, std::size_t columns) {
  constexpr std::size_t V = STRIPS * PARTS;
  typedef typename Vector<C>::template of<O> values;
  vec<C> acc[ROWS][V] = {};
  multiply<STRIPS>(a, b, lines_of(d) * STRIP<C>, d, acc);
  for (std::size_t i = 0; i < std::min<std::size_t>(ROWS, rows); ++i) {
    O row[V * LANE<C>];
    for (std::size_t v = 0; v < V; ++v) {
      const vec<C> power = acc[i][v] + (*reinterpret_cast<const vec<C>*>(level_b + v * LANE<C>) + level_a[i]);
      const values value = __builtin_convertvector(exponential<C>(power > 0 ? vec<C>{} : power), values);
      std::memcpy(row + v * LANE<C>, &value, sizeof value);
    }
    if (columns >= V * LANE<C>)
      std::memcpy(out + i * width, row, sizeof row);
    else
      std::copy_n(row, columns, out + i * width);
  }
}

// The values (rows, columns) of strips a with strips b, written to out with `width` entries per row.
template <class C, class O>
void gaussian(const C* a, const C* level_a, std::size_t rows, const C* b, const C* level_b, std::size_t columns,
              std::size_t d, O* out, std::size_t width) {
  const std::size_t stride = lines_of(d) * STRIP<C>;
  for (std::size_t t = 0; t < strips_of<C>(columns);) {
    const std::size_t left = columns - t * STRIP<C>;
    const std::size_t wide = left > (WIDE - 1) * STRIP<C> ? WIDE : 1;
    for (std::size_t i = 0; i < rows; i += ROWS) {
      const C* strip = a + i / STRIP<C> * stride + i % STRIP<C>;
      O* to = out + i * width + t * STRIP<C>;
      const C *right = b + t * stride, *levels = level_b + t * STRIP<C>;
      if (wide == WIDE)
        gaussian_tile<WIDE>(strip, right, d, level_a + i, levels, to, width, rows - i, left);
      else
        gaussian_tile<1>(strip, right, d, level_a + i, levels, to, width, rows - i, left);
    }
    t += wide;
  }
}
