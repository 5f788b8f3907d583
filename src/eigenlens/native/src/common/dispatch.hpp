// Run-time choice of the instruction set, and threads that are handed whole pieces of work.
//
// A kernel file is included once per instruction set, inside a namespace of its own (see instruction_sets.hpp), so one
// binary holds all versions and picks one when it is loaded.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <mutex>
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

// Throws if the user wants the work to end; the binding says how that is found out. Asked now and then by the thread
// that called, so that minutes of work can be interrupted.
inline void (*attend)() = [] {};

inline void attend_now_and_then() {
  using clock = std::chrono::steady_clock;
  thread_local clock::time_point asked;
  const clock::time_point now = clock::now();
  if (now - asked < std::chrono::milliseconds(100)) return;
  asked = now;
  attend();
}

// Calls work(piece) for piece = 0 … pieces-1, each exactly once, on at most `threads` threads. What a
// piece computes must not depend on who computes it: then the result does not depend on `threads`.
// An exception, from a piece or from the user, ends the work: it is thrown again when all threads have stopped.
template <class Work>
void in_parallel(std::size_t pieces, std::size_t threads, Work work) {
  std::atomic<std::size_t> next{0};
  std::exception_ptr thrown;
  std::mutex first;
  auto run = [&](auto between) {
    try {
      for (std::size_t piece = next++; piece < pieces; piece = next++) work(piece), between();
    } catch (...) {
      next = pieces;
      const std::lock_guard<std::mutex> lock(first);
      if (!thrown) thrown = std::current_exception();
    }
  };
  std::vector<std::thread> others;
  for (std::size_t t = 1; t < std::min(threads, pieces); ++t) {
    try {
      others.emplace_back(run, [] {});
    } catch (const std::exception&) {
      break;  // no more threads to be had: those there are finish the work
    }
  }
  run(attend_now_and_then);
  for (auto& other : others) other.join();
  if (thrown) std::rethrow_exception(thrown);
}

// The instruction set in use: the best of this processor, unless a test asked for a lesser one.
inline Isa active = best_isa();

// The version of a kernel for the instruction set in use.
#ifdef EIGENLENS_X86
#define EIGENLENS_PICK(...) \
  (active == Isa::avx512 ? &avx512::__VA_ARGS__ : active == Isa::avx2 ? &avx2::__VA_ARGS__ : &baseline::__VA_ARGS__)
#else
#define EIGENLENS_PICK(...) (&baseline::__VA_ARGS__)
#endif

}  // namespace eigenlens
