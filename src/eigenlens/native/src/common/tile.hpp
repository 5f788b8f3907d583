// The register tile that every product here is made of. Included once per instruction set (see instruction_sets.hpp) with
// LANES, the doubles in a vector, and ROWS, the rows of a tile. No include guard, on purpose.
//
// Matrices are packed in strips one cache line wide: strip s holds, line after line, the columns s·STRIP …

template <class C>
struct Vector {
  typedef C type __attribute__((vector_size(LANES * 8)));
  template <class T>
  using of __attribute__((vector_size(LANES * 8 / sizeof(C) * sizeof(T)))) = T;  // as many entries of type T
};
template <class C>
using vec = typename Vector<C>::type;

constexpr std::size_t PARTS = 8 / LANES;  // vectors in a cache line
template <class C>
constexpr std::size_t STRIP = 64 / sizeof(C);  // columns of a strip
template <class C>
constexpr std::size_t LANE = STRIP<C> / PARTS;  // entries of a vector

template <class C>
inline std::size_t strips_of(std::size_t columns) {
  return (columns + STRIP<C> - 1) / STRIP<C>;
}

// acc[i][·] += Σ_r a[r][i] · b[r][·] over `lines` lines, b being STRIPS neighbouring strips `stride` entries apart.
template <std::size_t STRIPS, class C>
inline void multiply(const C* a, const C* b, std::size_t stride, std::size_t lines,
                     vec<C> (&acc)[ROWS][STRIPS * PARTS]) {
  constexpr std::size_t V = STRIPS * PARTS;
  for (std::size_t r = 0; r < lines; ++r) {
    vec<C> right[V];
    for (std::size_t v = 0; v < V; ++v)
      right[v] = *reinterpret_cast<const vec<C>*>(b + (v / PARTS) * stride + r * STRIP<C> + (v % PARTS) * LANE<C>);
    for (std::size_t i = 0; i < ROWS; ++i) {
      const C left = a[r * STRIP<C> + i];
      for (std::size_t v = 0; v < V; ++v) acc[i][v] += left * right[v];
    }
  }
}
