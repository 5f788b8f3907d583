// Full covariances: distances by triangular whitening, scatters in two ways. Included by pass.hpp. No include
// guard, on purpose.

constexpr std::size_t ABREAST = LANES == 8 ? 6 : 3;  // vectors of rows that are whitened together
constexpr std::size_t GROUP = ABREAST * LANES;
static_assert(BATCH % GROUP == 0, "groups fill a batch");

// Adds the squares of I whitened columns to q. Line j of `root` holds 4 entries, of which I are used.
template <std::size_t I>
inline void whiten(const double* root, const double* delta, std::size_t lines, vec<double> (&q)[ABREAST]) {
  vec<double> acc[I][ABREAST] = {};
  for (std::size_t j = 0; j < lines; ++j) {
    vec<double> right[ABREAST];
    for (std::size_t v = 0; v < ABREAST; ++v) right[v] = load(delta + j * GROUP + v * LANES);
    for (std::size_t i = 0; i < I; ++i)
      for (std::size_t v = 0; v < ABREAST; ++v) acc[i][v] += root[j * 4 + i] * right[v];
  }
  for (std::size_t i = 0; i < I; ++i)
    for (std::size_t v = 0; v < ABREAST; ++v) q[v] += acc[i][v] * acc[i][v];
}

// Four columns at a time; the triangle ends their lines.
inline void distances(const double* root, const double* delta, std::size_t d, vec<double> (&q)[ABREAST]) {
  std::size_t i = 0;
  for (; i + 4 <= d; root += (i + 4) * 4, i += 4) whiten<4>(root, delta, i + 4, q);
  switch (d - i) {
    case 3: return whiten<3>(root, delta, d, q);
    case 2: return whiten<2>(root, delta, d, q);
    case 1: return whiten<1>(root, delta, d, q);
  }
}

// components.shapes: of each component's root, for each four of its rows, column after column up to the diagonal, four
// entries per column.
struct Full {
  Buffer delta;
  explicit Full(std::size_t d) : delta(d * GROUP) {}

  template <class Components>
  void joint(Batch& batch, const Components& components, std::size_t k) {
    const std::size_t d = batch.d;
    const double *mean = components.means + k * d, *root = components.shapes + k * components.shape_size;
    for (std::size_t r = 0; r < BATCH; r += GROUP) {
      for (std::size_t j = 0; j < d; ++j)
        for (std::size_t v = 0; v < GROUP; v += LANES)
          store(delta.data + j * GROUP + v, load(batch.columns.data + j * LINE + r + v) - mean[j]);
      vec<double> q[ABREAST] = {};
      distances(root, delta.data, d, q);
      for (std::size_t v = 0; v < ABREAST; ++v) batch.place(k, r + v * LANES, components.levels[k], 0.5 * q[v]);
    }
  }
};

constexpr std::size_t SIDE = LANES == 8 ? 4 : 3;  // columns on each side of a square of pairs

// Adds Σ_r a_i[r] b_j[r] to out, lane by lane, for I lines a and J lines b; on the diagonal (a = b) for i ≤ j.
template <std::size_t I, std::size_t J, bool DIAGONAL>
inline double* pairs(const double* a, const double* b, std::size_t rows, double* out) {
  vec<double> acc[I][J];
  for (std::size_t i = 0; i < I; ++i)
    for (std::size_t j = DIAGONAL ? i : 0; j < J; ++j) acc[i][j] = vec<double>{};
  for (std::size_t r = 0; r < rows; r += LANES) {
    vec<double> left[I], right[J];
    for (std::size_t i = 0; i < I; ++i) left[i] = load(a + i * LINE + r);
    for (std::size_t j = 0; j < J; ++j) right[j] = load(b + j * LINE + r);
    for (std::size_t i = 0; i < I; ++i)
      for (std::size_t j = DIAGONAL ? i : 0; j < J; ++j) acc[i][j] += left[i] * right[j];
  }
  for (std::size_t i = 0; i < I; ++i)
    for (std::size_t j = DIAGONAL ? i : 0; j < J; ++j, out += LANES) store(out, load(out) + acc[i][j]);
  return out;
}

template <std::size_t J>
inline double* pairs_of_rest(const double* a, std::size_t i, std::size_t rest, std::size_t rows, double* out) {
  if constexpr (J > 0) {
    if (rest < J) return pairs_of_rest<J - 1>(a, i, rest, rows, out);
    const double* last = a + i * LINE;
    for (std::size_t s = 0; s < i; s += SIDE) out = pairs<SIDE, J, false>(a + s * LINE, last, rows, out);
    return pairs<J, J, true>(last, last, rows, out);
  }
  return out;
}

// All pairs i ≤ j of `lines` lines: squares in columns, each from the top down to the diagonal.
inline void all_pairs(const double* a, std::size_t lines, std::size_t rows, double* out) {
  std::size_t i = 0;
  for (; i + SIDE <= lines; i += SIDE) out = pairs_of_rest<SIDE>(a, i, SIDE, rows, out);
  pairs_of_rest<SIDE - 1>(a, i, lines - i, rows, out);
}

// Few columns: rows lie along the vectors. A last column of ones, weighed like the others, gives total and weight, so
// the statistics are the pairs of d + 1 columns in the order of all_pairs.
struct Narrow : Full {
  Buffer lines;
  explicit Narrow(std::size_t d) : Full(d), lines((d + 1) * LINE) {}

  static std::size_t size(std::size_t d) { return (d + 1) * (d + 2) / 2 * LANES; }
  void read(const Batch&) {}

  template <class Components>
  void add(Batch& batch, const Components& components, std::size_t k, double* sums) {
    const double* mean = components.means + k * batch.d;
    const std::size_t rows = batch.members_count * 2 > BATCH ? all_rows(batch, mean) : members_only(batch, mean);
    all_pairs(lines.data, batch.d + 1, rows, sums);
  }

  std::size_t all_rows(const Batch& batch, const double* mean) {
    for (std::size_t j = 0; j < batch.d; ++j)
      for (std::size_t r = 0; r < BATCH; r += LANES) {
        const vec<double> delta = load(batch.columns.data + j * LINE + r) - mean[j];
        store(lines.data + j * LINE + r, load(batch.root.data + r) * delta);
      }
    std::memcpy(lines.data + batch.d * LINE, batch.root.data, BATCH * sizeof(double));
    return BATCH;
  }

  std::size_t members_only(Batch& batch, const double* mean) {
    batch.gather();
    const std::size_t count = batch.members_count, end = (count + LANES - 1) / LANES * LANES;
    double* root = lines.data + batch.d * LINE;
    for (std::size_t c = 0; c < end; ++c) root[c] = c < count ? batch.root.data[c] : 0.0;
    for (std::size_t j = 0; j < batch.d; ++j) {
      double* to = lines.data + j * LINE;
      const double* from = batch.columns.data + j * LINE;
      for (std::size_t c = 0; c < count; ++c) to[c] = root[c] * (from[batch.member[c]] - mean[j]);
      for (std::size_t c = count; c < end; ++c) to[c] = 0.0;
    }
    return end;
  }

  static void unpack(const double* sums, std::size_t d, double* weight, double* total, double* scatter) {
    for (std::size_t first = 0; first <= d; first += SIDE) {
      const std::size_t last = std::min(d + 1, first + SIDE);
      for (std::size_t start = 0; start <= first; start += SIDE)
        for (std::size_t i = start; i < std::min(d + 1, start + SIDE); ++i)
          for (std::size_t j = std::max(i, first); j < last; ++j, sums += LANES) {
            const double value = horizontal(load(sums));
            if (j < d)
              scatter[i * d + j] = scatter[j * d + i] = value;
            else
              *(i < d ? total + i : weight) = value;
          }
    }
  }
};

// Many columns: the members' rows are packed into strips as for the moments, and multiplied by the same tiles. The
// statistics are the weight (of 8 numbers the first), the totals, and the tiles of the upper triangle.
struct Wide : Full {
  Strips strips;
  Buffer panel;
  explicit Wide(std::size_t d) : Full(d), strips(d), panel(strips.count * STRIDE<double>) {}
  static_assert(BATCH <= PANEL, "a batch fills one panel at most");

  static std::size_t size(std::size_t d) {
    return 8 + strips_of<double>(d) * STRIP<double> + tiles_of<double>(d) * TILE<double>;
  }
  void read(const Batch& batch) { strips.read(batch); }

  template <class Components>
  void add(Batch& batch, const Components& components, std::size_t k, double* sums) {
    sums[0] += batch.share;
    batch.gather();
    for (std::size_t s = 0; s < strips.count; ++s) {
      const double* mean = strips.part(components.means + k * batch.d, batch.d, s);
      pack_strip(batch, strips.of(s), mean, panel.data + s * STRIDE<double>, sums + 8 + s * STRIP<double>);
    }
    syrk(panel.data, strips.count, batch.members_count, 0, strips.count, sums + 8 + strips.count * STRIP<double>);
  }

  static void pack_strip(const Batch& batch, const double* from, const double* mean, double* to, double* sum) {
    vec<double> middle[PARTS], total[PARTS];
    for (std::size_t p = 0; p < PARTS; ++p) middle[p] = load(mean + p * LANES), total[p] = load(sum + p * LANES);
    for (std::size_t c = 0; c < batch.members_count; ++c, to += STRIP<double>) {
      const double root = batch.root.data[c], *row = from + batch.member[c] * STRIP<double>;
      for (std::size_t p = 0; p < PARTS; ++p) {
        const vec<double> value = root * (load(row + p * LANES) - middle[p]);
        store(to + p * LANES, value);
        total[p] += root * value;
      }
    }
    for (std::size_t p = 0; p < PARTS; ++p) store(sum + p * LANES, total[p]);
  }
};

inline void narrow_unpack(const double* sums, std::size_t d, double* weight, double* total, double* scatter) {
  Narrow::unpack(sums, d, weight, total, scatter);
}
