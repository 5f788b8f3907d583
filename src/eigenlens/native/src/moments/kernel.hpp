// Weighted moments about a shift:
//
//     sum     = Σ_i w_i y_i,   scatter = Σ_i w_i y_i y_iᵀ,   with y_i = x_i − c, or y_i = (x_i − c) R⁻¹
//
// Included once per instruction set (see instruction_sets.hpp) with LANES, the doubles in a vector, and ROWS,
// the rows of a register tile. A panel of rows, shifted and multiplied by sqrt(w), is copied into strips
// one cache line wide; each tile of the upper triangle then runs down the panel with its sums in registers.
// C is the type that is multiplied and summed over one panel, double or float; panels are added in double.
// No include guard, on purpose.

constexpr std::size_t PANEL = 192;  // rows of a panel: a narrow one stays in the second-level cache
constexpr std::size_t AT_ONCE = 8;  // rows that are packed together
template <class C>
constexpr std::size_t STRIDE = (PANEL + 1) * STRIP<C>;  // the odd line keeps strips out of each other's cache sets
template <class C>
constexpr std::size_t TILE = STRIP<C> * STRIP<C>;

// Tiles of the upper triangle that stand before strip s of `strips`.
inline std::size_t tiles_before(std::size_t s, std::size_t strips) { return s * strips - s * (s - 1) / 2; }
template <class C>
inline std::size_t tiles_of(std::size_t d) {
  return tiles_before(strips_of<C>(d), strips_of<C>(d));
}

// Adds Σ_r a[r][row + i] · b[r][j] over one panel to out[ROWS × (STRIPS strips)].
template <std::size_t STRIPS, class C>
inline void tile(const C* a, const C* b, std::size_t rows, std::size_t row, double* out) {
  constexpr std::size_t V = STRIPS * PARTS;
  vec<C> acc[ROWS][V] = {};
  multiply<STRIPS>(a + row, b, STRIDE<C>, rows, acc);
  for (std::size_t i = 0; i < ROWS; ++i)
    for (std::size_t v = 0; v < V; ++v) {
      double* to = out + (v / PARTS) * TILE<C> + (row + i) * STRIP<C> + (v % PARTS) * LANE<C>;
      if constexpr (sizeof(C) == sizeof(double))
        *reinterpret_cast<vec<double>*>(to) += acc[i][v];
      else
        for (std::size_t l = 0; l < LANE<C>; ++l) to[l] += static_cast<double>(acc[i][v][l]);
    }
}

// Whole strips of rows that lie one after the other, a row at a time: best where all strips stay in cache.
template <bool WEIGHTED, class T>
inline void pack_rows(const T* x, std::ptrdiff_t row_stride, const double* root, const double* __restrict shift,
                      std::size_t whole, std::size_t rows, double* __restrict panel, double* __restrict sum) {
  constexpr std::size_t side = STRIP<double>;
  for (std::size_t r = 0; r < rows; ++r) {
    const T* row = x + static_cast<std::ptrdiff_t>(r) * row_stride;
    const double w = WEIGHTED ? root[r] : 1.0;
    double* to = panel + r * side;
    for (std::size_t s = 0; s < whole; ++s, to += STRIDE<double>)
      for (std::size_t j = 0; j < side; ++j) {
        const double value = w * (static_cast<double>(row[s * side + j]) - shift[s * side + j]);
        to[j] = value;
        sum[s * side + j] += w * value;
      }
  }
}

// The same in float, a few rows at a time: their sums are made in float before they are added in double.
template <bool WEIGHTED>
inline void pack_rows(const float* x, std::ptrdiff_t row_stride, const double* root, const double* __restrict shift,
                      std::size_t whole, std::size_t rows, float* __restrict panel, double* __restrict sum) {
  for (std::size_t first = 0; first < rows; first += AT_ONCE) {
    const std::size_t last = std::min(rows, first + AT_ONCE);
    for (std::size_t column = 0; column < whole * STRIP<float>; column += LANE<float>) {
      float* to = panel + column / STRIP<float> * STRIDE<float> + column % STRIP<float>;
      vec<float> middle, total = {};
      for (std::size_t l = 0; l < LANE<float>; ++l) middle[l] = static_cast<float>(shift[column + l]);
      for (std::size_t r = first; r < last; ++r) {
        const float w = WEIGHTED ? static_cast<float>(root[r]) : 1.0f;
        vec<float> given;
        std::memcpy(&given, x + static_cast<std::ptrdiff_t>(r) * row_stride + column, sizeof given);
        const vec<float> value = w * (given - middle);
        *reinterpret_cast<vec<float>*>(to + r * STRIP<float>) = value;
        total += w * value;
      }
      for (std::size_t l = 0; l < LANE<float>; ++l) sum[column + l] += static_cast<double>(total[l]);
    }
  }
}

// Copies rows into the panel, strip by strip (the last one padded with zeros), and adds their weighted
// sums. Rows that lie one after the other are read in their order; columns that do, in theirs.
template <bool WEIGHTED, class C, class T>
inline void pack(const T* x, std::ptrdiff_t row_stride, std::ptrdiff_t column_stride, const double* root,
                 const double* shift, std::size_t d, std::size_t rows, C* panel, double* sum) {
  const std::size_t whole = column_stride == 1 ? d / STRIP<C> : 0;
  pack_rows<WEIGHTED>(x, row_stride, root, shift, whole, rows, panel, sum);
  for (std::size_t column = whole * STRIP<C>; column < strips_of<C>(d) * STRIP<C>; ++column) {
    C* to = panel + column / STRIP<C> * STRIDE<C> + column % STRIP<C>;
    if (column >= d) {
      for (std::size_t r = 0; r < rows; ++r) to[r * STRIP<C>] = 0;
      continue;
    }
    const T* from = x + static_cast<std::ptrdiff_t>(column) * column_stride;
    double total = 0.0;
    for (std::size_t r = 0; r < rows; ++r) {
      const double w = WEIGHTED ? root[r] : 1.0;
      const double value = w * (static_cast<double>(from[static_cast<std::ptrdiff_t>(r) * row_stride]) - shift[column]);
      to[r * STRIP<C>] = static_cast<C>(value);
      total += w * value;
    }
    sum[column] += total;
  }
}

// The tiles of strips first … last−1 with themselves and all later strips, added to `tiles` (row-major by strips).
template <class C>
inline void syrk(const C* panel, std::size_t strips, std::size_t rows, std::size_t first, std::size_t last,
                 double* tiles) {
  double* out = tiles + tiles_before(first, strips) * TILE<C>;
  for (std::size_t s = first; s < last; ++s) {
    const C* a = panel + s * STRIDE<C>;
    std::size_t t = s;
    for (; t + WIDE <= strips; t += WIDE, out += WIDE * TILE<C>)
      for (std::size_t row = 0; row < STRIP<C>; row += ROWS) tile<WIDE>(a, panel + t * STRIDE<C>, rows, row, out);
    for (; WIDE > 2 && t + 2 <= strips; t += 2, out += 2 * TILE<C>)
      for (std::size_t row = 0; row < STRIP<C>; row += ROWS) tile<2>(a, panel + t * STRIDE<C>, rows, row, out);
    for (; t < strips; ++t, out += TILE<C>)
      for (std::size_t row = 0; row < STRIP<C>; row += ROWS) tile<1>(a, panel + t * STRIDE<C>, rows, row, out);
  }
}

// out += rows · block, for ROW rows of a strip and an 8×8 block.
template <std::size_t ROW>
inline void rows_times_block(const double* rows, const double* block, vec<double> (&out)[ROW][PARTS]) {
  for (std::size_t i = 0; i < STRIP<double>; ++i) {
    vec<double> right[PARTS];
    for (std::size_t p = 0; p < PARTS; ++p) right[p] = *reinterpret_cast<const vec<double>*>(block + i * STRIP<double> + p * LANES);
    for (std::size_t r = 0; r < ROW; ++r)
      for (std::size_t p = 0; p < PARTS; ++p) out[r][p] += rows[r * STRIP<double> + i] * right[p];
  }
}

// Every row y of the panel becomes y R⁻¹, strip after strip: y_s ← (y_s − Σ_{t<s} y_t R_ts) R_ss⁻¹. `blocks` holds, for
// each strip s, the 8×8 blocks −R_0s … −R_(s−1)s and then R_ss⁻¹. The rows of the panel are a multiple of 4.
inline void whiten(double* panel, const double* blocks, std::size_t d, std::size_t rows) {
  constexpr std::size_t ROW = 4;
  for (std::size_t s = 0; s < strips_of<double>(d); ++s) {
    for (std::size_t r = 0; r < rows; r += ROW) {
      double* mine = panel + s * STRIDE<double> + r * STRIP<double>;
      vec<double> acc[ROW][PARTS];
      std::memcpy(acc, mine, sizeof acc);
      for (std::size_t t = 0; t < s; ++t)
        rows_times_block<ROW>(panel + t * STRIDE<double> + r * STRIP<double>, blocks + t * TILE<double>, acc);
      alignas(64) double row[ROW * STRIP<double>];
      std::memcpy(row, acc, sizeof acc);
      vec<double> solved[ROW][PARTS] = {};
      rows_times_block<ROW>(row, blocks + s * TILE<double>, solved);
      std::memcpy(mine, solved, sizeof solved);
    }
    blocks += (s + 1) * TILE<double>;
  }
}

// The weighted sums of a panel whose rows carry sqrt(w) already.
inline void add_sums(const double* panel, const double* root, std::size_t d, std::size_t rows, double* sum) {
  for (std::size_t column = 0; column < d; ++column) {
    const double* from = panel + column / STRIP<double> * STRIDE<double> + column % STRIP<double>;
    double total = 0.0;
    for (std::size_t r = 0; r < rows; ++r) total += (root ? root[r] : 1.0) * from[r * STRIP<double>];
    sum[column] += total;
  }
}

// One panel of at most PANEL rows: packed, and whitened where `blocks` (as for whiten) are given; its sums added.
template <class C, class T>
inline void fill(const T* x, std::ptrdiff_t row_stride, std::ptrdiff_t column_stride, const double* root,
                 const double* shift, std::size_t d, std::size_t rows, C* panel, double* sum) {
  if (root)
    pack<true>(x, row_stride, column_stride, root, shift, d, rows, panel, sum);
  else
    pack<false>(x, row_stride, column_stride, root, shift, d, rows, panel, sum);
}

// One piece of the rows: sum (d) and tiles (tiles_of(d) × 64), both added to; `blocks` as for whiten, or null.
template <class T>
void moments(const T* x, std::ptrdiff_t row_stride, std::ptrdiff_t column_stride, const double* root,
             const double* shift, const double* blocks, std::size_t n, std::size_t d, double* sum, double* tiles) {
  const std::size_t strips = strips_of<double>(d), bytes = strips * STRIDE<double> * sizeof(double);
  double* panel = static_cast<double*>(std::aligned_alloc(64, bytes));
  std::memset(panel, 0, bytes);
  std::vector<double> unused(blocks ? d : 0);
  for (std::size_t begin = 0; begin < n; begin += PANEL) {
    const std::size_t rows = std::min(PANEL, n - begin);
    const T* from = x + static_cast<std::ptrdiff_t>(begin) * row_stride;
    const double* weight = root ? root + begin : nullptr;
    fill(from, row_stride, column_stride, weight, shift, d, rows, panel, blocks ? unused.data() : sum);
    if (blocks) {
      whiten(panel, blocks, d, (rows + 3) / 4 * 4);  // what stands behind the last row is not used
      add_sums(panel, weight, d, rows, sum);
    }
    syrk(panel, strips, rows, 0, strips, tiles);
  }
  std::free(panel);
}
