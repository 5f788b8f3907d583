// The centred normal product of a compressed-sparse-row block, eight columns at a time, in one pass:
//
//     y_i = x_i V − o          (o = mᵀV, so y is the centred product)
//     Z  += Σ_i w_i x_i y_iᵀ,     total += Σ_i w_i y_i
//
// Each row is used twice while it is in cache, and a row of V or Z is one cache line. Included once per
// instruction set, after kernel.hpp. No include guard, on purpose.

template <class T, class Index>
void normal_product(const T* data, const Index* indices, const Index* indptr, const double* weight,
                    std::size_t begin, std::size_t end, const double* V, const double* offset, double* Z,
                    double* total) {
  vec<double> start[PARTS], sum[PARTS] = {};
  for (std::size_t p = 0; p < PARTS; ++p)
    for (std::size_t l = 0; l < LANES; ++l) start[p][l] = -offset[p * LANES + l];
  for (std::size_t i = begin; i < end; ++i) {
    vec<double> y[PARTS];
    for (std::size_t p = 0; p < PARTS; ++p) y[p] = start[p];
    for (Index e = indptr[i]; e < indptr[i + 1]; ++e) {
      const vec<double>* v = reinterpret_cast<const vec<double>*>(V + static_cast<std::size_t>(indices[e]) * STRIP<double>);
      for (std::size_t p = 0; p < PARTS; ++p) y[p] += static_cast<double>(data[e]) * v[p];
    }
    const double w = weight ? weight[i] : 1.0;
    for (std::size_t p = 0; p < PARTS; ++p) sum[p] += (y[p] *= w);
    for (Index e = indptr[i]; e < indptr[i + 1]; ++e) {
      vec<double>* z = reinterpret_cast<vec<double>*>(Z + static_cast<std::size_t>(indices[e]) * STRIP<double>);
      for (std::size_t p = 0; p < PARTS; ++p) z[p] += static_cast<double>(data[e]) * y[p];
    }
  }
  for (std::size_t p = 0; p < PARTS; ++p)
    for (std::size_t l = 0; l < LANES; ++l) total[p * LANES + l] += sum[p][l];
}
