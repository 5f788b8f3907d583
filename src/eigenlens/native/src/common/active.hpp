// The instruction set in use, chosen at run time.
//
// A kernel file is included once per instruction set, inside a namespace of its own (see instruction_sets.hpp), so one
// binary holds all versions and picks one when it is loaded.
#pragma once

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

// The best of this processor, unless a test asks for a lesser one.
inline Isa active = best_isa();

// The version of a kernel for the instruction set in use.
#ifdef EIGENLENS_X86
#define EIGENLENS_PICK(...) \
  (active == Isa::avx512 ? &avx512::__VA_ARGS__ : active == Isa::avx2 ? &avx2::__VA_ARGS__ : &baseline::__VA_ARGS__)
#else
#define EIGENLENS_PICK(...) (&baseline::__VA_ARGS__)
#endif

}  // namespace eigenlens
