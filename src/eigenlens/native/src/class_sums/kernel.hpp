// Sums within classes, and log densities of columns that are independent given the class:
//
//     weight_cj = Σ_i w_i,   total_cj = Σ_i w_i δ_ij,   square_cj = Σ_i w_i δ_ij²,   δ_ij = x_ij − centre_cj   (y_i = c, x_ij there)
//     joint_ic += Σ_j (level_cj − ((x_ij − mean_cj) scale_cj)²)        and        joint_ic += Σ_j table_j[code_ij][c]
//
// Not-a-number is a missing value, which takes no part. Included once per instruction set; no include guard, on purpose.
namespace class_sums {

constexpr std::size_t TILE_ROWS = 64, TILE_COLUMNS = 64, ABREAST = 4;

// Rows first … first+count−1 of some columns, one column after the other; whether an entry is missing.
template <class T>
inline bool turn(const T* x, std::ptrdiff_t row_stride, std::ptrdiff_t column_stride, std::size_t count,
                 std::size_t columns, double* tile) {
  bool missing = false;
  for (std::size_t j = 0; j < columns; ++j) {
    const T* from = x + static_cast<std::ptrdiff_t>(j) * column_stride;
    double* to = tile + j * TILE_ROWS;
    for (std::size_t r = 0; r < count; ++r) to[r] = static_cast<double>(from[static_cast<std::ptrdiff_t>(r) * row_stride]);
    for (std::size_t r = count; r < TILE_ROWS; ++r) to[r] = 0.0;
    bool found = false;
    for (std::size_t r = 0; r < TILE_ROWS; ++r) found |= to[r] != to[r];
    missing |= found;
  }
  return missing;
}

// sums: weight, total and square (3, d) of each class.
template <class T>
inline void add_row(const T* __restrict x, double w, std::size_t d, const double* __restrict centre,
                    double* __restrict weight, double* __restrict total, double* __restrict square) {
  for (std::size_t j = 0; j < d; ++j) {
    const double value = static_cast<double>(x[j]), distance = value - centre[j];
    const bool seen = value == value;
    const double delta = seen ? distance : 0.0, share = seen ? w : 0.0, weighed = w * delta;
    weight[j] += share;
    total[j] += weighed;
    square[j] += weighed * delta;
  }
}

template <class Rows>
void moments(const Rows& rows, const std::int32_t* y, const double* w, const double* centre, std::size_t begin,
             std::size_t end, double* sums) {
  using T = std::remove_cv_t<std::remove_reference_t<decltype(*rows.x)>>;
  const std::size_t d = rows.d;
  std::vector<T> line(rows.column_stride == 1 ? 0 : TILE_ROWS * d);
  for (std::size_t first = begin; first < end; first += TILE_ROWS) {
    const std::size_t count = std::min(TILE_ROWS, end - first);
    if (!line.empty())
      for (std::size_t j = 0; j < d; ++j)
        for (std::size_t r = 0; r < count; ++r)
          line[r * d + j] = rows.at(first + r)[static_cast<std::ptrdiff_t>(j) * rows.column_stride];
    for (std::size_t r = 0; r < count; ++r) {
      const std::size_t i = first + r, c = static_cast<std::size_t>(y[i]);
      if (w && w[i] == 0.0) continue;  // such a row may hold anything
      double* mine = sums + 3 * c * d;
      add_row(line.empty() ? rows.at(i) : line.data() + r * d, w ? w[i] : 1.0, d, centre + c * d, mine, mine + d,
              mine + 2 * d);
    }
  }
}

// out[c][·] −= Σ_j ((x_j − mean_j) scale_j)², or level_j for a missing value, which the base of the class contains.
template <bool MISSING>
inline void distances(const double* tile, std::size_t columns, const double* mean, const double* scale,
                      const double* level, double* out) {
  for (std::size_t r = 0; r < TILE_ROWS; r += ABREAST * LANES) {
    vec<double> q[ABREAST];
    for (std::size_t v = 0; v < ABREAST; ++v) q[v] = *reinterpret_cast<const vec<double>*>(out + r + v * LANES);
    for (std::size_t j = 0; j < columns; ++j)
      for (std::size_t v = 0; v < ABREAST; ++v) {
        const vec<double> x = *reinterpret_cast<const vec<double>*>(tile + j * TILE_ROWS + r + v * LANES);
        const vec<double> t = (x - mean[j]) * scale[j];
        if constexpr (MISSING) {
          const vec<double> taken = vec<double>{} + level[j];
          q[v] -= x == x ? t * t : taken;
        } else {
          q[v] -= t * t;
        }
      }
    for (std::size_t v = 0; v < ABREAST; ++v) *reinterpret_cast<vec<double>*>(out + r + v * LANES) = q[v];
  }
}

template <class Rows, class Classes>
void joint(const Rows& rows, const Classes& classes, std::size_t begin, std::size_t end, double* out) {
  const std::size_t d = rows.d, C = classes.C;
  alignas(64) double tile[TILE_COLUMNS * TILE_ROWS];
  double* sums = static_cast<double*>(std::aligned_alloc(64, C * TILE_ROWS * sizeof(double)));
  if (!sums) throw std::bad_alloc();
  for (std::size_t first = begin; first < end; first += TILE_ROWS) {
    const std::size_t count = std::min(TILE_ROWS, end - first);
    for (std::size_t c = 0; c < C; ++c) std::fill_n(sums + c * TILE_ROWS, TILE_ROWS, classes.bases[c]);
    for (std::size_t j = 0; j < d; j += TILE_COLUMNS) {
      const std::size_t columns = std::min(TILE_COLUMNS, d - j);
      const bool missing = turn(rows.at(first) + static_cast<std::ptrdiff_t>(j) * rows.column_stride, rows.row_stride,
                             rows.column_stride, count, columns, tile);
      for (std::size_t c = 0; c < C; ++c) {
        const double *mean = classes.means + c * d + j, *scale = classes.scales + c * d + j;
        if (missing)
          distances<true>(tile, columns, mean, scale, classes.levels + c * d + j, sums + c * TILE_ROWS);
        else
          distances<false>(tile, columns, mean, scale, nullptr, sums + c * TILE_ROWS);
      }
    }
    for (std::size_t r = 0; r < count; ++r)
      for (std::size_t c = 0; c < C; ++c) out[(first + r) * C + c] += sums[c * TILE_ROWS + r];
  }
  std::free(sums);
}

// ---- codes ------------------------------------------------------------------------------------------------------

// The smallest and the largest code of each column.
template <class T>
inline void widen(const T* __restrict codes, std::size_t d, T* __restrict low, T* __restrict high) {
  for (std::size_t j = 0; j < d; ++j) {
    low[j] = codes[j] < low[j] ? codes[j] : low[j];
    high[j] = codes[j] > high[j] ? codes[j] : high[j];
  }
}

template <class Rows, class T>
void ranges(const Rows& rows, std::size_t begin, std::size_t end, T* low, T* high) {
  const std::size_t d = rows.d;
  if (rows.column_stride == 1) {
    for (std::size_t i = begin; i < end; ++i) widen(rows.at(i), d, low, high);
    return;
  }
  for (std::size_t j = 0; j < d; ++j) {
    const T* at = rows.at(begin) + static_cast<std::ptrdiff_t>(j) * rows.column_stride;
    T smallest = low[j], largest = high[j];
    for (std::size_t i = begin; i < end; ++i, at += rows.row_stride) {
      smallest = *at < smallest ? *at : smallest;
      largest = *at > largest ? *at : largest;
    }
    low[j] = smallest, high[j] = largest;
  }
}

// Which line of the tables a code stands for: of column j those from `start`, the last for codes out of its range.
template <class T>
inline std::size_t line_of(T code, std::int64_t low, std::uint64_t width, std::uint64_t start) {
  const std::uint64_t index = static_cast<std::uint64_t>(static_cast<std::int64_t>(code)) - static_cast<std::uint64_t>(low);
  return static_cast<std::size_t>(start + (index < width ? index : width));
}

// counts[line][class] += w
template <class Rows, class Lines>
void counts(const Rows& rows, const Lines& lines, const std::int32_t* y, const double* w, std::size_t C,
            std::size_t begin, std::size_t end, double* out) {
  for (std::size_t i = begin; i < end; ++i) {
    const auto* row = rows.at(i);
    const double weight = w ? w[i] : 1.0;
    const std::size_t c = static_cast<std::size_t>(y[i]);
    for (std::size_t j = 0; j < rows.d; ++j)
      out[line_of(row[static_cast<std::ptrdiff_t>(j) * rows.column_stride], lines.low[j], lines.width[j], lines.start[j]) * C + c] += weight;
  }
}

// out[i][·] += Σ_j table[line][·], the lines of the table being `stride` numbers, a multiple of LANES, apart.
template <std::size_t PARTS_, class Rows, class Lines>
inline void gather_some(const Rows& rows, const Lines& lines, const double* table, std::size_t stride, std::size_t first,
                        std::size_t C, std::size_t begin, std::size_t end, double* out) {
  const std::size_t kept = std::min(C - first, PARTS_ * LANES);
  for (std::size_t i = begin; i < end; ++i) {
    const auto* row = rows.at(i);
    vec<double> sum[PARTS_] = {};
    for (std::size_t j = 0; j < rows.d; ++j) {
      const double* from = table + first + stride * line_of(row[static_cast<std::ptrdiff_t>(j) * rows.column_stride],
                                                            lines.low[j], lines.width[j], lines.start[j]);
      for (std::size_t p = 0; p < PARTS_; ++p) sum[p] += *reinterpret_cast<const vec<double>*>(from + p * LANES);
    }
    for (std::size_t c = 0; c < kept; ++c) out[i * C + first + c] += sum[c / LANES][c % LANES];
  }
}

template <class Rows, class Lines>
void gather(const Rows& rows, const Lines& lines, const double* table, std::size_t stride, std::size_t C,
            std::size_t begin, std::size_t end, double* out) {
  std::size_t first = 0;
  for (; first + 8 < C; first += 8) gather_some<PARTS>(rows, lines, table, stride, first, C, begin, end, out);
  if (C - first <= LANES)
    gather_some<1>(rows, lines, table, stride, first, C, begin, end, out);
  else
    gather_some<PARTS>(rows, lines, table, stride, first, C, begin, end, out);
}
}  // namespace class_sums
