// Weighted moments about a shift, for tall-skinny blocks:
//
//     sum_j      = Σ_i w_i (x_ij − c_j)
//     scatter_jl = Σ_i w_i (x_ij − c_j)(x_il − c_l)
//
// Included once per instruction set (see dispatch.hpp) with LANES, the doubles in a vector, and ROWS,
// the rows of a register tile. A panel of rows, shifted and multiplied by sqrt(w), is copied into strips
// of 8 columns; each tile of the upper triangle then runs down the panel with its sums in registers.
// All arithmetic is float64, also for float32 rows. No include guard, on purpose.

typedef double vec __attribute__((vector_size(LANES * 8)));

constexpr std::size_t STRIP = 8;           // columns of a strip: one cache line
constexpr std::size_t PANEL = 192;         // rows of a panel: it stays in the second-level cache
constexpr std::size_t STRIDE = PANEL * STRIP + STRIP;  // the odd line keeps strips out of each other's cache sets
constexpr std::size_t PARTS = STRIP / LANES;

inline std::size_t strips_of(std::size_t d) { return (d + STRIP - 1) / STRIP; }
inline std::size_t tiles_of(std::size_t d) { return strips_of(d) * (strips_of(d) + 1) / 2; }

// acc[ROWS × (STRIPS*8)] += Σ_r a[r][row + i] · b[r][j] over one panel, b being STRIPS neighbouring strips.
template <std::size_t STRIPS>
inline void tile(const double* a, const double* b, std::size_t rows, std::size_t row, double* out) {
  constexpr std::size_t V = STRIPS * PARTS;
  vec acc[ROWS][V] = {};
  for (std::size_t r = 0; r < rows; ++r) {
    vec right[V];
    for (std::size_t v = 0; v < V; ++v)
      right[v] = *reinterpret_cast<const vec*>(b + (v / PARTS) * STRIDE + r * STRIP + (v % PARTS) * LANES);
    for (std::size_t i = 0; i < ROWS; ++i) {
      const double left = a[r * STRIP + row + i];
      for (std::size_t v = 0; v < V; ++v) acc[i][v] += left * right[v];
    }
  }
  for (std::size_t i = 0; i < ROWS; ++i)
    for (std::size_t v = 0; v < V; ++v) {
      double* to = out + (v / PARTS) * STRIP * STRIP + (row + i) * STRIP + (v % PARTS) * LANES;
      *reinterpret_cast<vec*>(to) += acc[i][v];
    }
}

// Copies rows into the panel, strip by strip of 8 columns (the last one padded with zeros), and adds
// their weighted sums. Rows that lie one after the other are read in their order; columns that do, in theirs.
template <class T>
inline void pack(const T* x, std::ptrdiff_t row_stride, std::ptrdiff_t column_stride, const double* root,
                 const double* shift, std::size_t d, std::size_t rows, double* panel, double* sum) {
  const std::size_t whole = column_stride == 1 ? d / STRIP : 0;
  for (std::size_t r = 0; r < rows && whole; ++r) {
    const T* row = x + static_cast<std::ptrdiff_t>(r) * row_stride;
    const double w = root ? root[r] : 1.0;
    double* to = panel + r * STRIP;
    for (std::size_t s = 0; s < whole; ++s, to += STRIDE)
      for (std::size_t j = 0; j < STRIP; ++j) {
        const double value = w * (static_cast<double>(row[s * STRIP + j]) - shift[s * STRIP + j]);
        to[j] = value;
        sum[s * STRIP + j] += w * value;
      }
  }
  for (std::size_t column = whole * STRIP; column < strips_of(d) * STRIP; ++column) {
    double* to = panel + column / STRIP * STRIDE + column % STRIP;
    if (column >= d) {
      for (std::size_t r = 0; r < rows; ++r) to[r * STRIP] = 0.0;
      continue;
    }
    const T* from = x + static_cast<std::ptrdiff_t>(column) * column_stride;
    double total = 0.0;
    for (std::size_t r = 0; r < rows; ++r) {
      const double w = root ? root[r] : 1.0;
      const double value = w * (static_cast<double>(from[static_cast<std::ptrdiff_t>(r) * row_stride]) - shift[column]);
      to[r * STRIP] = value;
      total += w * value;
    }
    sum[column] += total;
  }
}

// The upper triangle of tiles, added to `tiles` (8×8 each, row-major by strips).
inline void syrk(const double* panel, std::size_t d, std::size_t rows, double* tiles) {
  const std::size_t strips = strips_of(d);
  double* out = tiles;
  for (std::size_t s = 0; s < strips; ++s) {
    const double* a = panel + s * STRIDE;
    std::size_t t = s;
    for (; t + WIDE <= strips; t += WIDE, out += WIDE * STRIP * STRIP)
      for (std::size_t row = 0; row < STRIP; row += ROWS) tile<WIDE>(a, panel + t * STRIDE, rows, row, out);
    for (; t < strips; ++t, out += STRIP * STRIP)
      for (std::size_t row = 0; row < STRIP; row += ROWS) tile<1>(a, panel + t * STRIDE, rows, row, out);
  }
}

// One piece of the rows: sum (d) and tiles (tiles_of(d) × 64), both added to.
template <class T>
void moments(const T* x, std::ptrdiff_t row_stride, std::ptrdiff_t column_stride, const double* root,
             const double* shift, std::size_t n, std::size_t d, double* sum, double* tiles) {
  const std::size_t bytes = strips_of(d) * STRIDE * sizeof(double);
  double* panel = static_cast<double*>(std::aligned_alloc(64, bytes));
  for (std::size_t begin = 0; begin < n; begin += PANEL) {
    const std::size_t rows = std::min(PANEL, n - begin);
    pack(x + static_cast<std::ptrdiff_t>(begin) * row_stride, row_stride, column_stride,
         root ? root + begin : nullptr, shift, d, rows, panel, sum);
    syrk(panel, d, rows, tiles);
  }
  std::free(panel);
}
