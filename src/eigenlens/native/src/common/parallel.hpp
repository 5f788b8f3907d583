// Work in pieces, on several threads. Pieces are cut by the sizes of the data alone and their sums are added in order, so
// the rounding does not depend on the number of threads.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>

#include "common/rows.hpp"

namespace eigenlens {

// n items in `count` pieces of `step` items, a multiple of `unit`; the last pieces may be shorter or empty.
struct Pieces {
  std::size_t n, count, step;

  Pieces(std::size_t n, std::size_t count, std::size_t unit = 1)
      : n(n), count(count), step(((n + count - 1) / count + unit - 1) / unit * unit) {}
  std::size_t cut(std::size_t piece) const { return std::min(n, piece * step); }
};

// Throws if the user interrupts the work; set by the Python module. It is called from time to time, on the thread that
// the call came from.
extern void (*check_interrupt)();

// Calls call(work, piece) for piece = 0 … pieces-1, each exactly once, on at most `threads` threads. An exception, from a
// piece or from an interrupt, ends the work and is thrown again when all threads have stopped.
void run_pieces(std::size_t pieces, std::size_t threads, void (*call)(const void*, std::size_t), const void* work);

// Calls work(piece) for piece = 0 … pieces-1. What a piece computes must not depend on the thread that computes it.
template <class Work>
void in_parallel(std::size_t pieces, std::size_t threads, const Work& work) {
  run_pieces(pieces, threads, [](const void* w, std::size_t p) { (*static_cast<const Work*>(w))(p); }, &work);
}

constexpr std::size_t ADDED_AT_ONCE = 1 << 13;  // sums that a thread adds: less is done sooner than a thread starts

// Calls work(piece, sums) with `size` sums per piece that start at zero, and returns the sums over all pieces.
template <class Work>
Aligned<double> sum_pieces(std::size_t pieces, std::size_t size, std::size_t threads, const Work& work) {
  const std::size_t stride = (size + 7) / 8 * 8;  // whole cache lines
  Aligned<double> sums(pieces * stride);
  in_parallel(pieces, threads, [&](std::size_t p) {
    double* mine = sums.data + p * stride;
    std::memset(mine, 0, size * sizeof(double));
    work(p, mine);
  });
  const auto add = [&](std::size_t part) {
    const std::size_t end = std::min(size, (part + 1) * ADDED_AT_ONCE);
    for (std::size_t p = 1; p < pieces; ++p)
      for (std::size_t j = part * ADDED_AT_ONCE; j < end; ++j) sums.data[j] += sums.data[p * stride + j];
  };
  if (pieces > 1) in_parallel((size + ADDED_AT_ONCE - 1) / ADDED_AT_ONCE, threads, add);
  return sums;
}

}  // namespace eigenlens
