// Products with a basis V (n, j) whose columns are contiguous, `stride` entries apart, and a block W (n, width) whose rows
// are whole cache lines: H = VᵀW, and W − V H. Both are for some rows, from the first entry of each column that is given.
// No include guard, on purpose.

// H[c] += Σ_r V[r, c] W[r] for COLUMNS columns and one vector of W.
template <std::size_t COLUMNS>
inline void add_products(const double* V, std::size_t stride, std::size_t rows, const double* W, std::size_t width,
                         double* H) {
  vec<double> acc[COLUMNS] = {};
  for (std::size_t r = 0; r < rows; ++r) {
    const vec<double> right = *reinterpret_cast<const vec<double>*>(W + r * width);
    for (std::size_t c = 0; c < COLUMNS; ++c) acc[c] += V[c * stride + r] * right;
  }
  for (std::size_t c = 0; c < COLUMNS; ++c) *reinterpret_cast<vec<double>*>(H + c * width) += acc[c];
}

// H (j, width) is added to.
inline void span_products(const double* V, std::size_t stride, std::size_t j, std::size_t rows, const double* W,
                   std::size_t width, double* H) {
  constexpr std::size_t AT_ONCE = 256;  // rows of W that stay in the first-level cache
  for (std::size_t first = 0; first < rows; first += AT_ONCE) {
    const std::size_t count = std::min(AT_ONCE, rows - first);
    for (std::size_t v = 0; v < width; v += LANES) {
      const double *basis = V + first, *block = W + first * width + v;
      std::size_t c = 0;
      for (; c + ROWS <= j; c += ROWS)
        add_products<ROWS>(basis + c * stride, stride, count, block, width, H + c * width + v);
      for (; c < j; ++c) add_products<1>(basis + c * stride, stride, count, block, width, H + c * width + v);
    }
  }
}

// W[r] −= Σ_c V[r, c] H[c] for COUNT rows and one vector of W.
template <std::size_t COUNT>
inline void take_away(const double* V, std::size_t stride, std::size_t j, const double* H, double* W,
                      std::size_t width) {
  vec<double> acc[COUNT];
  for (std::size_t r = 0; r < COUNT; ++r) acc[r] = *reinterpret_cast<const vec<double>*>(W + r * width);
  for (std::size_t c = 0; c < j; ++c) {
    const vec<double> right = *reinterpret_cast<const vec<double>*>(H + c * width);
    for (std::size_t r = 0; r < COUNT; ++r) acc[r] -= V[c * stride + r] * right;
  }
  for (std::size_t r = 0; r < COUNT; ++r) *reinterpret_cast<vec<double>*>(W + r * width) = acc[r];
}

inline void remove_span(const double* V, std::size_t stride, std::size_t j, std::size_t rows, const double* H, double* W,
                 std::size_t width) {
  for (std::size_t v = 0; v < width; v += LANES) {
    std::size_t r = 0;
    for (; r + ROWS <= rows; r += ROWS) take_away<ROWS>(V + r, stride, j, H + v, W + r * width + v, width);
    for (; r < rows; ++r) take_away<1>(V + r, stride, j, H + v, W + r * width + v, width);
  }
}
