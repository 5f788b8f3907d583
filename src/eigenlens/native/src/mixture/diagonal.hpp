// Diagonal covariances. Included by pass.hpp. No include guard, on purpose.

// components.shapes: the precisions (K, d). The statistics are the weight (of 8 numbers the first), the totals and the
// squares, both in strips.
struct Diagonal {
  Strips strips;
  explicit Diagonal(std::size_t d) : strips(d) {}

  static std::size_t size(std::size_t d) { return 8 + 2 * strips_of<double>(d) * STRIP<double>; }
  void read(const Batch& batch) { strips.read(batch); }

  template <class Components>
  void joint(Batch& batch, const Components& components, std::size_t k) {
    const double *mean = components.means + k * batch.d, *precision = components.shapes + k * batch.d;
    for (std::size_t r = 0; r < BATCH; r += GROUP) {
      vec<double> q[ABREAST] = {};
      for (std::size_t j = 0; j < batch.d; ++j)
        for (std::size_t v = 0; v < ABREAST; ++v) {
          const vec<double> delta = load(batch.columns.data + j * LINE + r + v * LANES) - mean[j];
          q[v] += delta * precision[j] * delta;
        }
      for (std::size_t v = 0; v < ABREAST; ++v) batch.place(k, r + v * LANES, components.levels[k], 0.5 * q[v]);
    }
  }

  template <class Components>
  void add(Batch& batch, const Components& components, std::size_t k, double* sums) {
    sums[0] += batch.share;
    batch.gather();
    for (std::size_t c = 0; c < batch.members_count; ++c) batch.root.data[c] *= batch.root.data[c];
    add_from<AT_A_TIME>(batch, components.means + k * batch.d, 0, sums + 8);
  }

  // Several strips at a time: the sums of one alone would wait for each other.
  static constexpr std::size_t AT_A_TIME = LANES / 2;

  template <std::size_t STRIPS>
  void add_from(const Batch& batch, const double* mean, std::size_t first, double* total) {
    for (; first + STRIPS <= strips.count; first += STRIPS) add_strips<STRIPS>(batch, mean, first, total);
    if constexpr (STRIPS > 1) add_from<STRIPS - 1>(batch, mean, first, total);
  }

  template <std::size_t STRIPS>
  void add_strips(const Batch& batch, const double* mean, std::size_t first, double* total) {
    constexpr std::size_t V = STRIPS * PARTS;
    const double* from = strips.of(first);
    double *sum = total + first * STRIP<double>, *square = sum + strips.count * STRIP<double>;
    vec<double> middle[V], sums[V], squares[V];
    for (std::size_t v = 0; v < V; ++v) {
      if (v % PARTS == 0) strips.part(mean, batch.d, first + v / PARTS);
      middle[v] = load(strips.middle.data + v % PARTS * LANES);
      sums[v] = load(sum + v * LANES), squares[v] = load(square + v * LANES);
    }
    for (std::size_t c = 0; c < batch.members_count; ++c) {
      const double *row = from + batch.member[c] * STRIP<double>, r = batch.root.data[c];
      for (std::size_t v = 0; v < V; ++v) {
        const vec<double> delta = load(row + v / PARTS * BATCH * STRIP<double> + v % PARTS * LANES) - middle[v];
        const vec<double> weighed = r * delta;
        sums[v] += weighed;
        squares[v] += weighed * delta;
      }
    }
    for (std::size_t v = 0; v < V; ++v) store(sum + v * LANES, sums[v]), store(square + v * LANES, squares[v]);
  }
};
