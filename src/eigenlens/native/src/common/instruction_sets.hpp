// Compiles the kernels of one subject once per instruction set. Define EIGENLENS_KERNELS, the header that lists them,
// before including this. The standard headers that kernels use are included here, outside their namespaces.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <new>
#include <type_traits>
#include <utility>
#include <vector>

#include "common/active.hpp"

#ifdef EIGENLENS_X86
#ifdef __clang__
#pragma clang attribute push(__attribute__((target("avx512f,avx512dq,avx512vl,fma"))), apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("avx512f,avx512dq,avx512vl,fma,prefer-vector-width=512")
#endif
namespace eigenlens::avx512 {
#define LANES 8
#define ROWS 8
#define WIDE 3
#include EIGENLENS_KERNELS
#undef LANES
#undef ROWS
#undef WIDE
}  // namespace eigenlens::avx512
#ifdef __clang__
#pragma clang attribute pop
#pragma clang attribute push(__attribute__((target("avx2,fma"))), apply_to = function)
#else
#pragma GCC pop_options
#pragma GCC push_options
#pragma GCC target("avx2,fma")
#endif
namespace eigenlens::avx2 {
#define LANES 4
#define ROWS 4
#define WIDE 1
#include EIGENLENS_KERNELS
#undef LANES
#undef ROWS
#undef WIDE
}  // namespace eigenlens::avx2
#ifdef __clang__
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif
// Processors without AVX2 are rare (Intel's before 2013, AMD's before 2015), and optimising for them would take a
// quarter of the time that the kernels take to compile. They are still many times faster than NumPy for densities.
#ifndef __clang__
#pragma GCC push_options
#pragma GCC optimize("O1")
#endif
#endif  // EIGENLENS_X86

namespace eigenlens::baseline {
#define LANES 2
#define ROWS 2
#define WIDE 1
#include EIGENLENS_KERNELS
#undef LANES
#undef ROWS
#undef WIDE
}  // namespace eigenlens::baseline
#if defined(EIGENLENS_X86) && !defined(__clang__)
#pragma GCC pop_options
#endif
