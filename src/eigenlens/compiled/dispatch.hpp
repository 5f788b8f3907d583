// Run-time choice of the instruction set, and threads that are handed whole pieces of work.
//
// A kernel file is included once per instruction set, inside a namespace of its own and between
// EIGENLENS_TARGET_BEGIN / END, so one binary holds all versions and picks one when it is loaded.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <thread>
#include <vector>

#if !defined(__GNUC__)
#error "The kernels use GCC vector extensions; without them the NumPy twins do the work."
#endif

#if defined(__x86_64__) || defined(__i386__)
#define EIGENLENS_X86 1
#endif

namespace eigenlens {

enum class Isa { baseline, avx2, avx512 };

inline Isa best_isa() {
#ifdef EIGENLENS_X86
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl"))
    return Isa::avx512;
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return Isa::avx2;
#endif
  return Isa::baseline;
}

// Calls work(piece) for piece = 0 … pieces-1, each exactly once, on at most `threads` threads. What a
// piece computes must not depend on who computes it: then the result does not depend on `threads`.
template <class Work>
void in_parallel(std::size_t pieces, std::size_t threads, Work work) {
  std::atomic<std::size_t> next{0};
  auto run = [&] {
    for (std::size_t piece = next++; piece < pieces; piece = next++) work(piece);
  };
  std::vector<std::thread> others;
  for (std::size_t t = 1; t < std::min(threads, pieces); ++t) {
    try {
      others.emplace_back(run);
    } catch (const std::exception&) {
      break;  // no more threads to be had: those there are finish the work
    }
  }
  run();
  for (auto& other : others) other.join();
}

// A symmetric matrix kept on and above its diagonal: panels of `step` rows, each from the diagonal to the right.
template <class T>
struct Upper {
  std::vector<T*> panels;
  std::vector<std::size_t> strides;
  std::size_t n, step;

  T* at(std::size_t i, std::size_t j) const {
    const std::size_t p = i / step;
    return panels[p] + (i - p * step) * strides[p] + (j - p * step);
  }
};

}  // namespace eigenlens
