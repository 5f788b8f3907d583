// From tiles to matrices. Include it after the kernels, whose layout it reads.
#pragma once

namespace eigenlens {

// Both triangles of scatter (d, d) from the tiles of the upper one.
template <class C>
void spread(const double* tiles, std::size_t d, double* scatter) {
  constexpr std::size_t side = baseline::STRIP<C>;
  const std::size_t strips = baseline::strips_of<C>(d);
  for (std::size_t a = 0; a < strips; ++a)
    for (std::size_t b = a; b < strips; ++b, tiles += side * side)
      for (std::size_t i = a * side; i < std::min(d, (a + 1) * side); ++i)
        for (std::size_t j = b * side; j < std::min(d, (b + 1) * side); ++j)
          scatter[i * d + j] = scatter[j * d + i] = tiles[(i - a * side) * side + (j - b * side)];
}

}  // namespace eigenlens
