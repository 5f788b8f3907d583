// Weighted moments about a shift, for tall-skinny blocks:
//
//     sum     = Σ_i w_i y_i,   scatter = Σ_i w_i y_i y_iᵀ,   with y_i = x_i − c, or y_i = (x_i − c) R⁻¹
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

// Copies rows into the panel, strip by strip of 8 columns (the last one padded with zeros), and adds their
// weighted sums. Rows that lie one after the other are read in their order; columns that do, in theirs.
template <bool WEIGHTED, class T>
inline void pack(const T* x, std::ptrdiff_t row_stride, std::ptrdiff_t column_stride, const double* root,
                 const double* shift, std::size_t d, std::size_t rows, double* panel, double* sum) {
  const std::size_t whole = column_stride == 1 ? d / STRIP : 0;
  for (std::size_t r = 0; r < rows && whole; ++r) {
    const T* row = x + static_cast<std::ptrdiff_t>(r) * row_stride;
    const double w = WEIGHTED ? root[r] : 1.0;
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
      const double w = WEIGHTED ? root[r] : 1.0;
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
    for (; WIDE > 2 && t + 2 <= strips; t += 2, out += 2 * STRIP * STRIP)
      for (std::size_t row = 0; row < STRIP; row += ROWS) tile<2>(a, panel + t * STRIDE, rows, row, out);
    for (; t < strips; ++t, out += STRIP * STRIP)
      for (std::size_t row = 0; row < STRIP; row += ROWS) tile<1>(a, panel + t * STRIDE, rows, row, out);
  }
}

// out += rows · block, for ROW rows of a strip and an 8×8 block.
template <std::size_t ROW>
inline void rows_times_block(const double* rows, const double* block, vec (&out)[ROW][PARTS]) {
  for (std::size_t i = 0; i < STRIP; ++i) {
    vec right[PARTS];
    for (std::size_t p = 0; p < PARTS; ++p) right[p] = *reinterpret_cast<const vec*>(block + i * STRIP + p * LANES);
    for (std::size_t r = 0; r < ROW; ++r)
      for (std::size_t p = 0; p < PARTS; ++p) out[r][p] += rows[r * STRIP + i] * right[p];
  }
}

// Every row y of the panel becomes y R⁻¹, strip after strip: y_s ← (y_s − Σ_{t<s} y_t R_ts) R_ss⁻¹. `blocks` holds, for
// each strip s, the 8×8 blocks −R_0s … −R_(s−1)s and then R_ss⁻¹. The rows of the panel are a multiple of 4.
inline void whiten(double* panel, const double* blocks, std::size_t d, std::size_t rows) {
  constexpr std::size_t ROW = 4;
  for (std::size_t s = 0; s < strips_of(d); ++s) {
    for (std::size_t r = 0; r < rows; r += ROW) {
      double* mine = panel + s * STRIDE + r * STRIP;
      vec acc[ROW][PARTS];
      std::memcpy(acc, mine, sizeof acc);
      for (std::size_t t = 0; t < s; ++t)
        rows_times_block<ROW>(panel + t * STRIDE + r * STRIP, blocks + t * STRIP * STRIP, acc);
      alignas(64) double row[ROW * STRIP];
      std::memcpy(row, acc, sizeof acc);
      vec solved[ROW][PARTS] = {};
      rows_times_block<ROW>(row, blocks + s * STRIP * STRIP, solved);
      std::memcpy(mine, solved, sizeof solved);
    }
    blocks += (s + 1) * STRIP * STRIP;
  }
}

// The weighted sums of a panel whose rows carry sqrt(w) already.
inline void add_sums(const double* panel, const double* root, std::size_t d, std::size_t rows, double* sum) {
  for (std::size_t column = 0; column < d; ++column) {
    const double* from = panel + column / STRIP * STRIDE + column % STRIP;
    double total = 0.0;
    for (std::size_t r = 0; r < rows; ++r) total += (root ? root[r] : 1.0) * from[r * STRIP];
    sum[column] += total;
  }
}

// One piece of the rows: sum (d) and tiles (tiles_of(d) × 64), both added to; `blocks` as for whiten, or null.
template <class T>
void moments(const T* x, std::ptrdiff_t row_stride, std::ptrdiff_t column_stride, const double* root,
             const double* shift, const double* blocks, std::size_t n, std::size_t d, double* sum, double* tiles) {
  const std::size_t bytes = strips_of(d) * STRIDE * sizeof(double);
  double* panel = static_cast<double*>(std::aligned_alloc(64, bytes));
  std::memset(panel, 0, bytes);
  std::vector<double> unused(blocks ? d : 0);
  for (std::size_t begin = 0; begin < n; begin += PANEL) {
    const std::size_t rows = std::min(PANEL, n - begin);
    const T* from = x + static_cast<std::ptrdiff_t>(begin) * row_stride;
    double* sums = blocks ? unused.data() : sum;
    if (root)
      pack<true>(from, row_stride, column_stride, root + begin, shift, d, rows, panel, sums);
    else
      pack<false>(from, row_stride, column_stride, root, shift, d, rows, panel, sums);
    if (blocks) {
      whiten(panel, blocks, d, (rows + 3) / 4 * 4);  // what stands behind the last row is not used
      add_sums(panel, root ? root + begin : nullptr, d, rows, sum);
    }
    syrk(panel, d, rows, tiles);
  }
  std::free(panel);
}
