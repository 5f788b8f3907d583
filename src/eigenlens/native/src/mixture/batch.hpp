// A batch of rows of a mixture: its columns, the joint densities, and the responsibilities that come of them. Included
// by pass.hpp. No include guard, on purpose.

constexpr std::size_t BATCH = 96;        // rows that are worked on together
constexpr std::size_t LINE = BATCH + 8;  // entries from one line to the next: an odd number of cache lines

struct Batch {
  std::size_t K, d, count = 0;  // rows that there are
  Buffer columns;               // (d, LINE): a line for each column, and lines of zeros up to whole strips
  Buffer joint;                 // (K, LINE): joint, later the square roots of exp(joint − top)
  Buffer top, weight, scale;    // (LINE): largest joint, weight, square root of weight over sum
  Buffer root;                  // (LINE): square roots of the responsibilities of one component, those of members first
  std::size_t member[BATCH + 1], members_count = 0;  // the rows with a share in that component
  double share = 0.0;                                // and their weight together

  Batch(std::size_t K, std::size_t d)
      : K(K),
        d(d),
        columns(strips_of<double>(d) * STRIP<double> * LINE),
        joint(K * LINE),
        top(LINE),
        weight(LINE),
        scale(LINE),
        root(LINE) {}

  template <class Rows>
  void read(const Rows& rows, const double* weights, std::size_t first, std::size_t rows_here) {
    count = rows_here;
    if (rows.row_stride == 1)
      copy(rows.at(first), rows.column_stride);
    else
      transpose(rows.at(first), rows.row_stride, rows.column_stride);
    for (std::size_t r = 0; r < BATCH; ++r) weight.data[r] = r >= count ? 0.0 : weights ? weights[first + r] + 0.0 : 1.0;  // −0 is 0
    std::fill_n(top.data, BATCH, -HUGE_VAL);
    blank();
  }

  // Asks for the next batch of rows that lie one after the other, a share of it with each component: the way is long.
  template <class Rows>
  void ask(const Rows& rows, std::size_t first, std::size_t end, std::size_t k) const {
    if (rows.column_stride != 1) return;
    const std::size_t step = 64 / sizeof(*rows.x), last = std::min(end, first + BATCH * (k + 1) / K);
    for (std::size_t r = first + BATCH * k / K; r < last; ++r)
      for (std::size_t j = 0; j < d; j += step) __builtin_prefetch(rows.at(r) + j, 0, 2);
  }

  template <class T>
  void copy(const T* x, std::ptrdiff_t right) {
    for (std::size_t j = 0; j < d; ++j, x += right)
      for (std::size_t r = 0; r < count; ++r) columns.data[j * LINE + r] = static_cast<double>(x[r]);
  }

  template <class T>
  void transpose(const T* x, std::ptrdiff_t down, std::ptrdiff_t right) {
    const std::size_t whole = count / LANES * LANES;
    for (std::size_t r = 0; r < whole; r += LANES, x += static_cast<std::ptrdiff_t>(LANES) * down)
      for (std::size_t j = 0; j < d; ++j)
        store(columns.data + j * LINE + r, apart(x + static_cast<std::ptrdiff_t>(j) * right, down));
    for (std::size_t r = whole; r < count; ++r, x += down)
      for (std::size_t j = 0; j < d; ++j)
        columns.data[j * LINE + r] = static_cast<double>(x[static_cast<std::ptrdiff_t>(j) * right]);
  }

  // Rows of weight zero may hold anything, and there is something behind the last row: both become zeros.
  void blank() {
    for (std::size_t r = 0; r < BATCH; ++r)
      for (std::size_t j = 0; weight.data[r] == 0.0 && j < d; ++j) columns.data[j * LINE + r] = 0.0;
  }

  // joint = level − half, and the largest so far.
  void place(std::size_t k, std::size_t r, double level, vec<double> half) {
    const vec<double> value = level - (half > FARTHEST ? vec<double>{} + FARTHEST : half);
    const vec<double> before = load(top.data + r);
    store(joint.data + k * LINE + r, value);
    store(top.data + r, value > before ? value : before);
  }

  // From joint to exp(½(joint − top)), zero where exp(joint − top) (1 + distance) is negligible, and to the scale that
  // makes of it the square root of a responsibility. The answer is Σ w log Σ exp(joint).
  double shares(const double* levels) {
    alignas(64) double sum[BATCH] = {};
    for (std::size_t r = 0; r < BATCH; r += LANES) {
      const vec<double> largest = load(top.data + r);
      store(top.data + r, largest == -HUGE_VAL ? vec<double>{} : largest);
    }
    for (std::size_t k = 0; k < K; ++k)
      for (std::size_t r = 0; r < BATCH; r += LANES) {
        const vec<double> value = load(joint.data + k * LINE + r);
        const vec<double> e = exponential<double>(0.5 * (value - load(top.data + r))), share = e * e;
        const auto small = share * (1.0 + 2.0 * (levels[k] - value)) < NEGLIGIBLE;
        store(joint.data + k * LINE + r, small ? vec<double>{} : e);
        store(sum + r, load(sum + r) + (small ? vec<double>{} : share));
      }
    vec<double> loglik = {};
    for (std::size_t r = 0; r < BATCH; r += LANES) {
      const vec<double> w = load(weight.data + r), s = load(sum + r), log = load(top.data + r) + logarithm(s);
      loglik += w == 0.0 ? vec<double>{} : w * log;
      store(scale.data + r, s == 0.0 ? vec<double>{} : w / s);
    }
    for (std::size_t r = 0; r < BATCH; ++r) scale.data[r] = std::sqrt(scale.data[r]);
    return horizontal(loglik);
  }

  // The roots of the responsibilities of component k, and how many rows have a share in it (not-a-number has one).
  std::size_t members(std::size_t k) {
    Vector<double>::of<long long> found = {};
    vec<double> sum = {};
    const double* e = joint.data + k * LINE;
    for (std::size_t r = 0; r < BATCH; r += LANES) {
      const vec<double> value = load(e + r) * load(scale.data + r);
      store(root.data + r, value);
      found -= value != 0.0;
      sum += value * value;
    }
    share = horizontal(sum);
    members_count = 0;
    for (std::size_t l = 0; l < LANES; ++l) members_count += static_cast<std::size_t>(found[l]);
    return members_count;
  }

  // Those rows, and their roots one after the other.
  void gather() {
    std::size_t found = 0;
    for (std::size_t r = 0; r < BATCH; ++r) {
      std::uint64_t bits;  // a root is never −0, and a comparison of numbers would ask for not-a-number too
      std::memcpy(&bits, root.data + r, sizeof bits);
      member[found] = r;
      found += bits != 0;
    }
    for (std::size_t c = 0; c < found; ++c) root.data[c] = root.data[member[c]];
  }
};

// The rows of a batch in strips of columns, the last one padded with zeros.
struct Strips {
  std::size_t count;
  Buffer rows, middle;
  explicit Strips(std::size_t d)
      : count(strips_of<double>(d)), rows(count * STRIP<double> * BATCH), middle(STRIP<double>) {}

  const double* of(std::size_t s) const { return rows.data + s * BATCH * STRIP<double>; }

  void read(const Batch& batch) {
    for (std::size_t j = 0; j < count * STRIP<double>; j += LANES) {
      double* to = rows.data + j / STRIP<double> * BATCH * STRIP<double> + j % STRIP<double>;
      for (std::size_t r = 0; r < BATCH; ++r)
        store(to + r * STRIP<double>, apart(batch.columns.data + j * LINE + r, LINE));
    }
  }

  // The entries of mean (d) that belong to strip s, padded like the rows.
  const double* part(const double* mean, std::size_t d, std::size_t s) {
    for (std::size_t j = 0; j < STRIP<double>; ++j)
      middle.data[j] = s * STRIP<double> + j < d ? mean[s * STRIP<double> + j] : 0.0;
    return middle.data;
  }
};
