// A batch of incomplete rows: what is observed of them, their latent precisions and values. Included by kernel.hpp. No
// include guard, on purpose.

constexpr std::size_t BATCH = 128;                    // rows that are worked on together
constexpr std::size_t LINE = BATCH + 8;               // entries from one line to the next: an odd number of cache lines
constexpr std::size_t DOWN = 6;                       // lines of a tile
constexpr std::size_t ACROSS = LANES == 8 ? 4 : 2;    // and vectors, or other lines
constexpr std::size_t WIDEST = 16;                    // latent dimensions at most
constexpr std::size_t SIZE = WIDEST * (WIDEST + 1) / 2;
static_assert(BATCH % (ACROSS * LANES) == 0, "tiles fill a batch");

constexpr std::size_t size_of(std::size_t k) { return k * (k + 1) / 2; }  // entries of a packed triangle

// out_e = (from_e + Σ_j table[j][e] lines_j) mask_e for I lines e and ACROSS vectors of rows.
template <std::size_t I>
inline void combine(const double* table, std::size_t stride, const double* lines, std::size_t count,
                    const double* from, const double* mask, double* out) {
  vec<double> acc[I][ACROSS];
  for (std::size_t i = 0; i < I; ++i)
    for (std::size_t v = 0; v < ACROSS; ++v) acc[i][v] = load(from + i * LINE + v * LANES);
  for (std::size_t j = 0; j < count; ++j, lines += LINE, table += stride) {
    vec<double> right[ACROSS];
    for (std::size_t v = 0; v < ACROSS; ++v) right[v] = load(lines + v * LANES);
    for (std::size_t i = 0; i < I; ++i)
      for (std::size_t v = 0; v < ACROSS; ++v) acc[i][v] += table[i] * right[v];
  }
  for (std::size_t i = 0; i < I; ++i)
    for (std::size_t v = 0; v < ACROSS; ++v) {
      const std::size_t at = i * LINE + v * LANES;
      store(out + at, mask ? acc[i][v] * load(mask + at) : acc[i][v]);
    }
}

template <std::size_t I>
inline void combine_rest(std::size_t rest, const double* table, std::size_t stride, const double* lines,
                         std::size_t count, const double* from, const double* mask, double* out) {
  if constexpr (I > 0) {
    if (rest < I) return combine_rest<I - 1>(rest, table, stride, lines, count, from, mask, out);
    combine<I>(table, stride, lines, count, from, mask, out);
  }
}

// The same for any number of entries and rows; the mask may be null.
inline void combine_all(const double* table, std::size_t stride, std::size_t entries, const double* lines,
                        std::size_t count, const double* from, const double* mask, std::size_t rows, double* out) {
  for (std::size_t r = 0; r < rows; r += ACROSS * LANES)
    for (std::size_t e = 0; e < entries; e += DOWN) {
      const std::size_t at = e * LINE + r;
      combine_rest<DOWN>(std::min(DOWN, entries - e), table + e, stride, lines + r, count, from + at,
                         mask ? mask + at : nullptr, out + at);
    }
}

#ifdef __clang__
#define EIGENLENS_MIX(a, b, ...) __builtin_shufflevector(a, b, __VA_ARGS__)
#else
#define EIGENLENS_MIX(a, b, ...) __builtin_shuffle(a, b, Vector<double>::of<long long>{__VA_ARGS__})
#endif

// Adds the sums over the lanes of ACROSS vectors to as many numbers.
inline void add_lanes(const vec<double> (&a)[ACROSS], double* to) {
#if LANES == 8
  const vec<double> low = EIGENLENS_MIX(a[0], a[1], 0, 8, 2, 10, 4, 12, 6, 14) +
                          EIGENLENS_MIX(a[0], a[1], 1, 9, 3, 11, 5, 13, 7, 15);
  const vec<double> high = EIGENLENS_MIX(a[2], a[3], 0, 8, 2, 10, 4, 12, 6, 14) +
                           EIGENLENS_MIX(a[2], a[3], 1, 9, 3, 11, 5, 13, 7, 15);
  const vec<double> both = EIGENLENS_MIX(low, high, 0, 1, 8, 9, 4, 5, 12, 13) +
                           EIGENLENS_MIX(low, high, 2, 3, 10, 11, 6, 7, 14, 15);
  for (std::size_t i = 0; i < 4; ++i) to[i] += both[i] + both[i + 4];
#else
  for (std::size_t i = 0; i < ACROSS; ++i) to[i] += horizontal(a[i]);
#endif
}
#undef EIGENLENS_MIX

// sums[i][·] += Σ_r a_i[r] b_·[r] for I lines a and ACROSS lines b.
template <std::size_t I>
inline void dots(const double* a, const double* b, std::size_t rows, double* sums, std::size_t stride) {
  vec<double> acc[I][ACROSS] = {};
  for (std::size_t r = 0; r < rows; r += LANES) {
    vec<double> right[ACROSS];
    for (std::size_t v = 0; v < ACROSS; ++v) right[v] = load(b + v * LINE + r);
    for (std::size_t i = 0; i < I; ++i) {
      const vec<double> left = load(a + i * LINE + r);
      for (std::size_t v = 0; v < ACROSS; ++v) acc[i][v] += left * right[v];
    }
  }
  for (std::size_t i = 0; i < I; ++i) add_lanes(acc[i], sums + i * stride);
}

template <std::size_t I>
inline void dots_of_rest(std::size_t rest, const double* a, const double* b, std::size_t rows, double* sums,
                         std::size_t stride) {
  if constexpr (I > 0) {
    if (rest < I) return dots_of_rest<I - 1>(rest, a, b, rows, sums, stride);
    dots<I>(a, b, rows, sums, stride);
  }
}

// For `count` lines a and `wide` lines b, a multiple of ACROSS.
inline void all_dots(const double* a, std::size_t count, const double* b, std::size_t wide, std::size_t rows,
                     double* sums) {
  for (std::size_t j = 0; j < wide; j += ACROSS)
    for (std::size_t e = 0; e < count; e += DOWN)
      dots_of_rest<DOWN>(std::min(DOWN, count - e), a + e * LINE, b + j * LINE, rows, sums + e * wide + j, wide);
}

struct Batch {
  std::size_t d, k, p, wide;       // wide: d up to whole tiles; the lines beyond d are zeros
  std::size_t count = 0, rows = 0, there = 0;  // rows of the batch, up to whole tiles, and with information
  Buffer seen, delta, rest;        // (wide, LINE): 1 where observed; y − mu and y − mu − W z there
  Buffer root, C;                  // (p, LINE): see factor(); M⁻¹
  Buffer z, right;                 // (k, LINE): latent means; Σ w_j times what is left, over psi_j
  Buffer weight, log_det, one;     // (LINE)

  Batch(std::size_t d, std::size_t k)
      : d(d),
        k(k),
        p(size_of(k)),
        wide((d + 3) / 4 * 4),
        seen(wide * LINE),
        delta(wide * LINE),
        rest(wide * LINE),
        root(p * LINE),
        C(p * LINE),
        z(k * LINE),
        right(k * LINE),
        weight(LINE),
        log_det(LINE),
        one(LINE) {
    std::fill_n(one.data, BATCH, 1.0);
  }

  // Whether any row has information. Rows of weight zero, which may hold anything, and rows without an observed entry
  // have none.
  template <class Rows, class Model>
  bool read(const Rows& from, const double* weights, const Model& model, std::size_t first, std::size_t rows_here) {
    count = rows_here;
    rows = (count + ACROSS * LANES - 1) / (ACROSS * LANES) * (ACROSS * LANES);
    for (std::size_t r = 0; r < rows; ++r) weight.data[r] = r >= count ? 0.0 : weights ? weights[first + r] : 1.0;
    const std::ptrdiff_t down = from.row_stride, right = from.column_stride;
    const std::size_t whole = count / LANES * LANES;
    for (std::size_t r = 0; r < whole; r += LANES) {
      const auto* x = from.at(first + r);
      const vec<double> w = load(weight.data + r);
      vec<double> any = {};
      for (std::size_t j = 0; j < d; ++j, x += right) any += place(model, j, r, apart(x, down), w);
      store(weight.data + r, any == 0.0 ? vec<double>{} : w);
    }
    for (std::size_t r = whole; r < rows; r += LANES) {  // rows beyond the last are missing
      const vec<double> w = load(weight.data + r);
      vec<double> any = {};
      for (std::size_t j = 0; j < d; ++j) {
        vec<double> x = vec<double>{} + NAN;
        for (std::size_t l = 0; l < LANES && r + l < count; ++l)
          x[l] = static_cast<double>(from.at(first + r + l)[static_cast<std::ptrdiff_t>(j) * right]);
        any += place(model, j, r, x, w);
      }
      store(weight.data + r, any == 0.0 ? vec<double>{} : w);
    }
    there = 0;
    for (std::size_t r = 0; r < count; ++r) there += weight.data[r] != 0.0;
    return there > 0;
  }

  template <class Model>
  vec<double> place(const Model& model, std::size_t j, std::size_t r, vec<double> x, vec<double> w) {
    const auto here = (x == x) & (w != 0.0);
    const vec<double> one = here ? vec<double>{} + 1.0 : vec<double>{};
    const vec<double> y = (x - model.centre[j]) * model.inverse[j] - model.mean[j];
    store(seen.data + j * LINE + r, one);
    store(delta.data + j * LINE + r, here ? y : vec<double>{});
    return one;
  }

  // M and, in its place, its factors; M⁻¹ and log |M|.
  template <class Model>
  void precisions(const Model& model) {
    for (std::size_t i = 0, e = 0; i < k; ++i)
      for (std::size_t j = 0; j <= i; ++j, ++e)
        for (std::size_t r = 0; r < rows; r += LANES) store(root.data + e * LINE + r, vec<double>{} + (i == j ? 1.0 : 0.0));
    combine_all(model.squares, p, p, seen.data, d, root.data, nullptr, rows, root.data);
    for (std::size_t r = 0; r < rows; r += LANES) factor(r);
  }

  // Precisions, z and residuals; z is refined where M⁻¹ times a vector may lose digits.
  template <class Model>
  void solve(const Model& model) {
    precisions(model);
    std::memset(z.data, 0, k * LINE * sizeof(double));
    const double* left = delta.data;
    for (std::size_t again = 0; again <= model.refinements; ++again, left = rest.data) {
      for (std::size_t e = 0; e < k * LINE; ++e) right.data[e] = -z.data[e];
      combine_all(model.scaled, k, k, left, d, right.data, nullptr, rows, right.data);
      for (std::size_t r = 0; r < rows; r += LANES) add_solution(r, z.data);
      combine_all(model.minus, wide, d, z.data, k, delta.data, seen.data, rows, rest.data);
    }
  }

  // M = L D Lᵀ with unit triangular L: `root` becomes L⁻¹ with D⁻¹ on its diagonal, and C = L⁻ᵀ D⁻¹ L⁻¹.
  void factor(std::size_t r) {
    vec<double> A[SIZE], D[WIDEST], log = {};
    for (std::size_t e = 0; e < p; ++e) A[e] = load(root.data + e * LINE + r);
    for (std::size_t j = 0; j < k; ++j) {
      vec<double> scaled[WIDEST], pivot = A[size_of(j) + j];
      for (std::size_t a = 0; a < j; ++a) {
        scaled[a] = A[size_of(j) + a] * D[a];
        pivot -= A[size_of(j) + a] * scaled[a];
      }
      D[j] = pivot;
      log += logarithm(pivot);
      A[size_of(j) + j] = 1.0 / pivot;
      for (std::size_t i = j + 1; i < k; ++i) {
        vec<double> value = A[size_of(i) + j];
        for (std::size_t a = 0; a < j; ++a) value -= A[size_of(i) + a] * scaled[a];
        A[size_of(i) + j] = value * A[size_of(j) + j];
      }
    }
    invert_unit(A);
    for (std::size_t i = 0; i < k; ++i)
      for (std::size_t j = 0; j <= i; ++j) {
        const vec<double> own = A[size_of(i) + i];
        vec<double> value = i == j ? own : own * A[size_of(i) + j];
        for (std::size_t a = i + 1; a < k; ++a)
          value += A[size_of(a) + i] * A[size_of(a) + j] * A[size_of(a) + a];
        store(C.data + (size_of(i) + j) * LINE + r, value);
      }
    for (std::size_t e = 0; e < p; ++e) store(root.data + e * LINE + r, A[e]);
    store(log_det.data + r, log);
  }

  void invert_unit(vec<double>* A) const {
    for (std::size_t i = 1; i < k; ++i)
      for (std::size_t j = 0; j < i; ++j) {  // row i of L from the left: entries right of j are still those of L
        vec<double> value = A[size_of(i) + j];
        for (std::size_t a = j + 1; a < i; ++a) value += A[size_of(i) + a] * A[size_of(a) + j];
        A[size_of(i) + j] = -value;
      }
  }

  // Lines `to` (k, LINE) += M⁻¹ right.
  void add_solution(std::size_t r, double* to) {
    vec<double> half[WIDEST];
    for (std::size_t i = 0; i < k; ++i) {
      vec<double> value = load(right.data + i * LINE + r);
      for (std::size_t a = 0; a < i; ++a)
        value += load(root.data + (size_of(i) + a) * LINE + r) * load(right.data + a * LINE + r);
      half[i] = value * load(root.data + (size_of(i) + i) * LINE + r);
    }
    for (std::size_t j = 0; j < k; ++j) {
      vec<double> value = load(to + j * LINE + r) + half[j];
      for (std::size_t i = j + 1; i < k; ++i) value += load(root.data + (size_of(i) + j) * LINE + r) * half[i];
      store(to + j * LINE + r, value);
    }
  }

  // Lines w M⁻¹ (p), w z zᵀ (p), w z (k) and w, one after the other.
  void moments(double* to) const {
    for (std::size_t r = 0; r < rows; r += LANES) {
      const vec<double> w = load(weight.data + r);
      double* at = to + r;
      for (std::size_t e = 0; e < p; ++e, at += LINE) store(at, w * load(C.data + e * LINE + r));
      for (std::size_t i = 0; i < k; ++i) {
        const vec<double> value = w * load(z.data + i * LINE + r);
        for (std::size_t j = 0; j <= i; ++j, at += LINE) store(at, value * load(z.data + j * LINE + r));
      }
      for (std::size_t i = 0; i < k; ++i, at += LINE) store(at, w * load(z.data + i * LINE + r));
      store(at, w);
    }
  }

  // Lines `to` (p, LINE) become −M⁻¹ A M⁻¹ for symmetric A in their place.
  void between(double* to) const {
    for (std::size_t r = 0; r < rows; r += LANES) {
      vec<double> P[SIZE], A[SIZE], half[WIDEST];
      for (std::size_t e = 0; e < p; ++e) P[e] = load(C.data + e * LINE + r), A[e] = load(to + e * LINE + r);
      const auto at = [](std::size_t i, std::size_t j) { return i < j ? size_of(j) + i : size_of(i) + j; };
      for (std::size_t i = 0; i < k; ++i) {
        for (std::size_t j = 0; j < k; ++j) {
          half[j] = vec<double>{};
          for (std::size_t a = 0; a < k; ++a) half[j] -= P[at(i, a)] * A[at(a, j)];
        }
        for (std::size_t j = 0; j <= i; ++j) {
          vec<double> value = {};
          for (std::size_t a = 0; a < k; ++a) value += half[a] * P[at(a, j)];
          store(to + (size_of(i) + j) * LINE + r, value);
        }
      }
    }
  }

  // Lines times the weights.
  void weighed(const double* from, std::size_t lines, double* to) const {
    for (std::size_t e = 0; e < lines; ++e)
      for (std::size_t r = 0; r < rows; r += LANES)
        store(to + e * LINE + r, load(from + e * LINE + r) * load(weight.data + r));
  }

  double total(const double* line) const {
    vec<double> sum = {};
    for (std::size_t r = 0; r < rows; r += LANES) sum += load(line + r);
    return horizontal(sum);
  }
  double total(const double* line, const double* other) const {
    vec<double> sum = {};
    for (std::size_t r = 0; r < rows; r += LANES) sum += load(line + r) * load(other + r);
    return horizontal(sum);
  }

  // Adds Σ w r s to each column, s being lines (wide, LINE).
  void squares(const double* other, double* to) const {
    for (std::size_t j = 0; j < d; ++j) {
      vec<double> sum = {};
      for (std::size_t r = 0; r < rows; r += LANES) {
        const vec<double> value = load(rest.data + j * LINE + r);
        sum += load(weight.data + r) * (value * load(other + j * LINE + r));
      }
      to[j] += horizontal(sum);
    }
  }

  // Lines c become w c, negative ones 0; Σ w c² is added to each column.
  void weigh(double* lines, double* square) const {
    for (std::size_t j = 0; j < d; ++j) {
      vec<double> sum = {};
      for (std::size_t r = 0; r < rows; r += LANES) {
        const vec<double> c = load(lines + j * LINE + r), above = c > 0.0 ? c : vec<double>{};
        const vec<double> value = load(weight.data + r) * above;
        sum += value * above;
        store(lines + j * LINE + r, value);
      }
      square[j] += horizontal(sum);
    }
  }

  // Lines as rows (count, size).
  void transpose(const double* lines, std::size_t size, double* to) const {
    for (std::size_t r = 0; r < count; ++r)
      for (std::size_t e = 0; e < size; ++e) *to++ = lines[e * LINE + r];
  }

  // log p of the observed entries: the distance is min over z of Σ r² / psi + |z|².
  template <class Model>
  void log_densities(const Model& model, double* to) const {
    for (std::size_t r = 0; r < rows; r += LANES) {
      vec<double> sum = load(log_det.data + r);
      for (std::size_t a = 0; a < k; ++a) sum += load(z.data + a * LINE + r) * load(z.data + a * LINE + r);
      for (std::size_t j = 0; j < d; ++j) {
        const vec<double> value = load(rest.data + j * LINE + r);
        sum += load(seen.data + j * LINE + r) * model.log_noise[j] + value * value / model.psi[j];
      }
      for (std::size_t l = 0; l < LANES && r + l < count; ++l) to[r + l] = -0.5 * sum[l];
    }
  }

  // The rows unchanged and, where values are missing, `sign` times the lines `rest`.
  template <class Rows, class T>
  void fill(const Rows& from, std::size_t first, double sign, T* to) const {
    for (std::size_t r = 0; r < count; ++r) {
      const auto* x = from.at(first + r);
      for (std::size_t j = 0; j < d; ++j, x += from.column_stride)
        *to++ = *x == *x ? *x : static_cast<T>(sign * rest.data[j * LINE + r]);
    }
  }

  // √(psi_j + w_jᵀ M⁻¹ w_j) where missing, of lines `rest` that hold −w_jᵀ M⁻¹ w_j / psi_j.
  template <class Model>
  void deviations(const Model& model, double* to) const {
    for (std::size_t r = 0; r < count; ++r)
      for (std::size_t j = 0; j < d; ++j)
        *to++ = seen.data[j * LINE + r] != 0.0
                    ? 0.0
                    : std::sqrt(model.psi[j] * (1.0 + std::max(-rest.data[j * LINE + r], 0.0)));
  }
};
