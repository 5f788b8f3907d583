// Z = K V for a symmetric K (n, n) that is kept on and above its diagonal, each entry read once:
// a tile K_IJ gives K_IJ V_J to Z_I and K_IJᵀ V_I to Z_J. K may be float; all arithmetic is double. V and Z (n, width)
// have rows of whole cache lines. No include guard, on purpose.

constexpr std::size_t CHUNK = 64;  // columns of a tile: its parts of V and Z stay in the first-level cache

// One tile k of ROWS rows, `stride` entries apart, and `columns` columns, for VECTORS vectors of the columns of V.
template <std::size_t VECTORS, class Stride>
inline void both_ways(const double* k, Stride stride, std::size_t columns, const double* Vi, const double* Vj,
                      double* Zi, double* Zj, std::size_t width) {
  vec<double> acc[ROWS][VECTORS] = {}, mine[ROWS][VECTORS];
  for (std::size_t c = 0; c < columns; ++c)
    for (std::size_t v = 0; v < VECTORS; ++v) {
      const vec<double> right = *reinterpret_cast<const vec<double>*>(Vj + c * width + v * LANES);
      for (std::size_t r = 0; r < ROWS; ++r) acc[r][v] += k[r * stride + c] * right;
    }
  for (std::size_t r = 0; r < ROWS; ++r)
    for (std::size_t v = 0; v < VECTORS; ++v) {
      *reinterpret_cast<vec<double>*>(Zi + r * width + v * LANES) += acc[r][v];
      mine[r][v] = *reinterpret_cast<const vec<double>*>(Vi + r * width + v * LANES);
    }
  for (std::size_t c = 0; c < columns; ++c)
    for (std::size_t v = 0; v < VECTORS; ++v) {
      vec<double>* to = reinterpret_cast<vec<double>*>(Zj + c * width + v * LANES);
      vec<double> sum = *to;
      for (std::size_t r = 0; r < ROWS; ++r) sum += k[r * stride + c] * mine[r][v];
      *to = sum;
    }
}

// The square on the diagonal, from `i` to `end`, by its entries on and above the diagonal.
template <class T>
void on_diagonal(const Upper<T>& K, std::size_t i, std::size_t end, const double* V, double* Z, std::size_t width) {
  for (std::size_t r = i; r < end; ++r)
    for (std::size_t c = r; c < end; ++c) {
      const double value = static_cast<double>(*K.at(r, c));
      for (std::size_t v = 0; v < width; ++v) Z[r * width + v] += value * V[c * width + v];
      for (std::size_t v = 0; v < width && c > r; ++v) Z[c * width + v] += value * V[r * width + v];
    }
}

// The same for all columns of V.
template <class Stride>
inline void tile_product(const double* k, Stride stride, std::size_t columns, const double* Vi, const double* Vj,
                         double* Zi, double* Zj, std::size_t width) {
  std::size_t v = 0;
  for (; v + WIDE * LANES <= width; v += WIDE * LANES)
    both_ways<WIDE>(k, stride, columns, Vi + v, Vj + v, Zi + v, Zj + v, width);
  for (; WIDE > 2 && v + 2 * LANES <= width; v += 2 * LANES)
    both_ways<2>(k, stride, columns, Vi + v, Vj + v, Zi + v, Zj + v, width);
  for (; v < width; v += LANES) both_ways<1>(k, stride, columns, Vi + v, Vj + v, Zi + v, Zj + v, width);
}

// One tile of ROWS rows from i and up to CHUNK columns from j, all above the diagonal: doubles are read in place.
template <class T>
inline void off_diagonal(const Upper<T>& K, std::size_t i, std::size_t j, std::size_t columns, const double* V, double* Z,
                         std::size_t width) {
  const double *Vi = V + i * width, *Vj = V + j * width;
  double *Zi = Z + i * width, *Zj = Z + j * width;
  if constexpr (std::is_same_v<T, double>) {
    tile_product(K.at(i, j), K.strides[i / K.step], columns, Vi, Vj, Zi, Zj, width);
  } else {
    alignas(64) double k[ROWS * CHUNK];
    for (std::size_t r = 0; r < ROWS; ++r) {
      const T* row = K.at(i + r, j);
      for (std::size_t c = 0; c < columns; ++c) k[r * CHUNK + c] = static_cast<double>(row[c]);
    }
    tile_product(k, std::integral_constant<std::size_t, CHUNK>(), columns, Vi, Vj, Zi, Zj, width);
  }
}

// The part of Z that the rows first … last−1 of K (on and above the diagonal) contribute, which is 0 before `first`, a
// multiple of CHUNK. Long stretches of rows are read at a time, while their parts of V and Z stay in the second-level
// cache.
template <class T>
void symmetric_product(const Upper<T>& K, std::size_t first, std::size_t last, const double* V, double* Z,
                       std::size_t width) {
  const std::size_t span = std::max<std::size_t>(1, 256 * 1024 / (16 * std::max<std::size_t>(width, 1) * CHUNK)) * CHUNK;
  for (std::size_t begin = first; begin < K.n; begin += span) {
    const std::size_t end = std::min(K.n, begin + span);
    for (std::size_t i = first; i < std::min(last, end); i += ROWS)
      for (std::size_t j = std::max(begin, i / CHUNK * CHUNK + CHUNK); j < end; j += CHUNK)
        off_diagonal(K, i, j, std::min(CHUNK, end - j), V, Z, width);
  }
  for (std::size_t i = first; i < last; i += CHUNK) on_diagonal(K, i, std::min(i + CHUNK, last), V, Z, width);
}
