// Views of matrices, and memory aligned to cache lines.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <new>
#include <utility>
#include <vector>

namespace eigenlens {

template <class T>
struct Rows {
  const T* x;
  std::ptrdiff_t row_stride, column_stride;
  std::size_t n, d;

  const T* at(std::size_t row) const { return x + static_cast<std::ptrdiff_t>(row) * row_stride; }
};

template <class V>
struct Aligned {
  V* data;
  explicit Aligned(std::size_t size) : data(static_cast<V*>(std::aligned_alloc(64, (size * sizeof(V) + 64) / 64 * 64))) {
    if (!data) throw std::bad_alloc();
  }
  Aligned(Aligned&& other) noexcept : data(std::exchange(other.data, nullptr)) {}
  ~Aligned() { std::free(data); }
};

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
