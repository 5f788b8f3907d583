#include <limits>
#include <numeric>

#include "kde/driver.hpp"

#define EIGENLENS_KERNELS "kde/space_kernels.hpp"
#include "common/instruction_sets.hpp"

#include "common/parallel.hpp"

namespace eigenlens {

namespace {

constexpr std::size_t BLOCK = 32;  // queries that are worked on at a time

// An order of all numbers, with not-a-number behind the others: without one, sorting would run out of its bounds.
inline bool below(double a, double b) { return a < b || (b != b && a == a); }

// Some rows of x (n, d), in an order in which `size` neighbours at a time are to fill a small box.
struct Boxes {
  const double* x;
  std::size_t d, size;

  // Puts rows into halves along the longest side of their box; returns where the second begins, which is at whole boxes.
  std::size_t halve(std::size_t* order, std::size_t n) const {
    std::size_t longest = 0;
    double length = -1.0;
    for (std::size_t j = 0; j < d; ++j) {
      double low = x[order[0] * d + j], high = low;
      for (std::size_t i = 1; i < n; ++i) {
        const double value = x[order[i] * d + j];
        low = std::min(low, value);
        high = std::max(high, value);
      }
      if (high - low > length) length = high - low, longest = j;
    }
    const std::size_t cut = std::min((n / size + 1) / 2 * size, (n - 1) / size * size);
    std::nth_element(order, order + cut, order + n,
                     [&](std::size_t a, std::size_t b) { return below(x[a * d + longest], x[b * d + longest]); });
    return cut;
  }

  void sort(std::size_t* order, std::size_t n) const {
    if (n <= size) return;
    const std::size_t cut = halve(order, n);
    sort(order, cut);
    sort(order + cut, n - cut);
  }
};

constexpr std::size_t SORTED_AT_ONCE = 1 << 11;  // rows of a piece of work: halves that are longer are halved together

// The first halves are made by few threads, the many short ones by all of them.
std::vector<std::size_t> box_order(const double* x, std::size_t n, std::size_t d, std::size_t size,
                                   std::size_t threads) {
  const Boxes boxes{x, d, size};
  std::vector<std::size_t> order(n), ends{0, n};
  std::iota(order.begin(), order.end(), std::size_t(0));
  for (bool long_ones = n > SORTED_AT_ONCE; long_ones;) {
    const std::size_t count = ends.size() - 1;
    std::vector<std::size_t> halved(2 * count + 1, n);
    in_parallel(count, threads, [&](std::size_t p) {
      const std::size_t begin = ends[p], rows = ends[p + 1] - begin;
      halved[2 * p] = begin;
      halved[2 * p + 1] = begin + (rows > size ? boxes.halve(order.data() + begin, rows) : rows);
    });
    ends.swap(halved);
    long_ones = n / (2 * count) > SORTED_AT_ONCE;
  }
  in_parallel(ends.size() - 1, threads,
              [&](std::size_t p) { boxes.sort(order.data() + ends[p], ends[p + 1] - ends[p]); });
  return order;
}

struct TileKernel {
  void (*sums)(const double*, std::size_t, std::size_t, const double*, const double*, double*);
  void (*nearest)(const double*, std::size_t, std::size_t, const double*, double*);
  bool sum;      // whether forms are sums, of which values are powers of two; else products that vanish beyond one
  bool squares;  // sums of squares, not of moduli
};

// One block of queries (count ≤ BLOCK): its tiles from near to far, until the rest is negligible.
//
// A sum so far, S, of a query at level l bounds what may be left out: tiles beyond l + log2(W / (tol S)) amount to less
// than tol S together, W being the weight of all points. Few neighbouring queries share a box and a limit.
class BlockSums {
 public:
  BlockSums(const Tiles& tiles, const TileKernel& kernel, double tol)
      : tiles(tiles),
        kernel(kernel),
        slack(std::log2(std::accumulate(tiles.weight.begin(), tiles.weight.end(), 0.0) / tol)),
        order(tiles.count),
        nearest(tiles.count),
        low(GROUPS * tiles.d),
        high(low) {}

  // q (BLOCK, d) filled up; level and value (BLOCK).
  void operator()(const double* q, std::size_t count, double* level, double* value) {
    groups = (count + GROUP - 1) / GROUP;
    enclose(q);
    std::fill_n(level, BLOCK, 0.0);
    add(q, level, value);
    if (kernel.sum && *std::min_element(value, value + count) < 1e-200) {
      std::fill_n(level, BLOCK, std::numeric_limits<double>::infinity());
      approach(q, level);
      add(q, level, value);
    }
  }

 private:
  static constexpr std::size_t GROUP = baseline::TOGETHER, GROUPS = BLOCK / GROUP;
  const Tiles& tiles;
  const TileKernel& kernel;
  const double slack;  // log2 of the weight of all points by tol
  std::size_t groups = 0;
  std::vector<std::size_t> order;
  std::vector<double> nearest, low, high;

  const double* strip(std::size_t t) const { return tiles.strips.data + t * Tiles::STRIPS * tiles.stride; }

  // The boxes of the groups, and the tiles in the order of their distance from the block.
  void enclose(const double* q) {
    const std::size_t d = tiles.d;
    for (std::size_t g = 0; g < groups; ++g) box(q + g * GROUP * d, GROUP, &low[g * d], &high[g * d]);
    std::vector<double> lower(d), upper(d);
    box(q, groups * GROUP, lower.data(), upper.data());
    for (std::size_t t = 0; t < tiles.count; ++t) nearest[t] = distance(lower.data(), upper.data(), t);
    std::iota(order.begin(), order.end(), std::size_t(0));
    std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
      return below(nearest[a], nearest[b]) || (!below(nearest[b], nearest[a]) && a < b);
    });
  }

  void box(const double* q, std::size_t count, double* lower, double* upper) const {
    const std::size_t d = tiles.d;
    std::copy_n(q, d, lower);
    std::copy_n(q, d, upper);
    for (std::size_t i = 1; i < count; ++i)
      for (std::size_t j = 0; j < d; ++j) {
        lower[j] = std::min(lower[j], q[i * d + j]);
        upper[j] = std::max(upper[j], q[i * d + j]);
      }
  }

  // The smallest form between a box and a tile: a sum, or for products the longest side.
  double distance(const double* lower, const double* upper, std::size_t t) const {
    const std::size_t d = tiles.d;
    double smallest = 0.0;
    for (std::size_t j = 0; j < d; ++j) {
      const double apart = std::max({0.0, tiles.low[t * d + j] - upper[j], lower[j] - tiles.high[t * d + j]});
      const double u = apart / tiles.widest[t];
      smallest = !kernel.sum ? std::max(smallest, u) : smallest + (kernel.squares ? u * u : u);
    }
    return smallest;
  }

  // How far tiles count for a group of queries with these sums.
  double limit(const double* level, const double* value) const {
    if (!kernel.sum) return 1.0;
    double farthest = 0.0;
    for (std::size_t i = 0; i < GROUP; ++i) farthest = std::max(farthest, level[i] - std::log2(value[i]) + slack);
    return farthest;
  }

  void add(const double* q, const double* level, double* value) {
    const std::size_t d = tiles.d;
    std::fill_n(value, BLOCK, 0.0);
    double limits[GROUPS];
    std::size_t met[GROUPS] = {};
    std::fill_n(limits, GROUPS, kernel.sum ? std::numeric_limits<double>::infinity() : 1.0);
    for (const std::size_t t : order) {
      if (nearest[t] > *std::max_element(limits, limits + groups)) break;
      for (std::size_t g = 0; g < groups; ++g) {
        if (distance(&low[g * d], &high[g * d], t) > limits[g]) continue;
        kernel.sums(strip(t), tiles.strips_of_tile(t), d, q + g * GROUP * d, level + g * GROUP, value + g * GROUP);
        ++met[g];
        if ((met[g] & (met[g] - 1)) == 0)  // after 1, 2, 4, 8, … tiles: an old limit is a safe one
          limits[g] = limit(level + g * GROUP, value + g * GROUP);
      }
    }
  }

  // level[i] = the distance of the nearest point, less what it may be rounded by: far away that is more than a power of
  // two can hold.
  void approach(const double* q, double* level) {
    for (const std::size_t t : order) {
      if (nearest[t] > *std::max_element(level, level + groups * GROUP)) break;
      for (std::size_t g = 0; g < groups; ++g)
        kernel.nearest(strip(t), tiles.strips_of_tile(t), tiles.d, q + g * GROUP * tiles.d, level + g * GROUP);
    }
    const double rounding = static_cast<double>(tiles.d) * std::numeric_limits<double>::epsilon();
    for (std::size_t i = 0; i < groups * GROUP; ++i) level[i] -= rounding * level[i];
  }
};

#ifdef EIGENLENS_X86
#define EIGENLENS_PICK_FORM(function, form)                                       \
  (active == Isa::avx512 ? &avx512::function<avx512::form, OWN>                   \
   : active == Isa::avx2 ? &avx2::function<avx2::form, OWN>                       \
                         : &baseline::function<baseline::form, OWN>)
#else
#define EIGENLENS_PICK_FORM(function, form) (&baseline::function<baseline::form, OWN>)
#endif

template <bool OWN>
TileKernel tile_kernel(Form form) {
  switch (form) {
    case Form::gaussian:
      return {EIGENLENS_PICK_FORM(tile_sums, SquareForm), EIGENLENS_PICK_FORM(tile_nearest, SquareForm), true, true};
    case Form::laplace:
      return {EIGENLENS_PICK_FORM(tile_sums, ModulusForm), EIGENLENS_PICK_FORM(tile_nearest, ModulusForm), true, false};
    case Form::box: return {EIGENLENS_PICK_FORM(tile_sums, BellForm<0>), nullptr, false, false};
    case Form::epanechnikov: return {EIGENLENS_PICK_FORM(tile_sums, BellForm<1>), nullptr, false, false};
    case Form::biweight: return {EIGENLENS_PICK_FORM(tile_sums, BellForm<2>), nullptr, false, false};
    case Form::triweight: return {EIGENLENS_PICK_FORM(tile_sums, BellForm<3>), nullptr, false, false};
    case Form::triangular: return {EIGENLENS_PICK_FORM(tile_sums, TentForm), nullptr, false, false};
    default: return {EIGENLENS_PICK_FORM(tile_sums, WaveForm), nullptr, false, false};
  }
}

}  // namespace

Tiles::Tiles(const double* x, const double* w, const double* inverse, std::size_t n, std::size_t d,
             std::size_t threads)
    : n(n), d(d), count((n + TILE - 1) / TILE), stride((d + 2) * 8), own(inverse != nullptr),
      strips(count * STRIPS * stride), low(count * d), high(count * d), weight(count), widest(count) {
  const std::vector<std::size_t> order = box_order(x, n, d, TILE, threads);
  const Pieces pieces(count, std::max<std::size_t>(1, count / 16));
  in_parallel(pieces.count, threads, [&](std::size_t p) {
    for (std::size_t t = pieces.cut(p); t < pieces.cut(p + 1); ++t) fill(t, order, x, w, inverse);
  });
}

void Tiles::fill(std::size_t t, const std::vector<std::size_t>& order, const double* x, const double* w,
                 const double* inverse) {
  double *lower = low.data() + t * d, *upper = high.data() + t * d;
  std::fill_n(lower, d, std::numeric_limits<double>::infinity());
  std::fill_n(upper, d, -std::numeric_limits<double>::infinity());
  weight[t] = widest[t] = 0.0;
  for (std::size_t k = 0; k < TILE; ++k) {
    const std::size_t i = order[std::min(t * TILE + k, n - 1)];  // the last point fills up, without weight
    double* strip = strips.data + (t * STRIPS + k / 8) * stride + k % 8;
    const double scale = inverse ? 1.0 / inverse[i] : 1.0;
    for (std::size_t j = 0; j < d; ++j) {
      strip[j * 8] = x[i * d + j];
      lower[j] = std::min(lower[j], x[i * d + j]);
      upper[j] = std::max(upper[j], x[i * d + j]);
    }
    strip[d * 8] = inverse ? inverse[i] : 1.0;
    strip[(d + 1) * 8] = t * TILE + k < n ? w[i] : 0.0;
    weight[t] += strip[(d + 1) * 8];
    widest[t] = std::max(widest[t], scale);
  }
}

void Tiles::sums(const double* y, std::size_t m, Form form, double tol, double* level, double* value,
                 std::size_t threads) const {
  const TileKernel kernel = own ? tile_kernel<true>(form) : tile_kernel<false>(form);
  const std::vector<std::size_t> order = box_order(y, m, d, baseline::TOGETHER, threads);
  constexpr std::size_t BLOCKS = 8;  // of a piece of work
  const std::size_t blocks = (m + BLOCK - 1) / BLOCK;
  in_parallel((blocks + BLOCKS - 1) / BLOCKS, threads, [&](std::size_t piece) {
    BlockSums block(*this, kernel, tol);
    std::vector<double> q(BLOCK * d);
    double levels[BLOCK], values[BLOCK];
    for (std::size_t b = piece * BLOCKS; b < std::min(blocks, (piece + 1) * BLOCKS); ++b) {
      const std::size_t first = b * BLOCK, count = std::min(BLOCK, m - first);
      for (std::size_t i = 0; i < BLOCK; ++i)
        std::copy_n(y + order[first + std::min(i, count - 1)] * d, d, q.data() + i * d);
      block(q.data(), count, levels, values);
      for (std::size_t i = 0; i < count; ++i) {
        level[order[first + i]] = levels[i];
        value[order[first + i]] = values[i];
      }
    }
  });
}

}  // namespace eigenlens
