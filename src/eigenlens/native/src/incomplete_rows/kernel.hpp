// Incomplete rows under x = W z + mu + e: their latent values, and the sums that a step of EM needs of them.
//
//     M = I + Σ_j w_j w_jᵀ / psi_j,   z = M⁻¹ Σ_j w_j (y_j − mu_j) / psi_j,   r_j = y_j − mu_j − w_jᵀ z
//
// over the observed entries j of a row. Rows lie along the vectors. A batch of them stays in cache from its first entry
// to its last sum: products with tables of the columns, n small inverses side by side, and products back. The rows and
// the model are types of the driver. No include guard, on purpose.
namespace incomplete_rows {
#include "incomplete_rows/batch.hpp"

// Adds the sums of rows begin … end−1: pairs (p + q(q+1)/2, wide) of w M⁻¹ and w a aᵀ with what is observed, a = (z, 1);
// right (q, wide) Σ w r a; square (wide) Σ w r²; totals (p + q(q+1)/2) of w M⁻¹ and w a aᵀ alone; Σ w log |M|; the rows.
template <class Rows, class Model, class Sums>
void expected(const Rows& rows, const double* weight, const Model& model, std::size_t begin, std::size_t end,
              const Sums& sums) {
  Batch batch(model.d, model.k);
  const std::size_t k = model.k, p = batch.p, lines = p + size_of(k + 1);
  Buffer products(lines * LINE);
  for (std::size_t first = begin; first < end; first += BATCH) {
    if (!batch.read(rows, weight, model, first, std::min(BATCH, end - first))) continue;
    batch.solve(model);
    batch.moments(products.data);
    for (std::size_t e = 0; e < lines; ++e) sums.totals[e] += batch.total(products.data + e * LINE);
    all_dots(products.data, lines, batch.seen.data, batch.wide, batch.rows, sums.pairs);
    all_dots(products.data + (lines - k - 1) * LINE, k + 1, batch.rest.data, batch.wide, batch.rows, sums.right);
    batch.squares(batch.rest.data, sums.square);
    *sums.log_det += batch.total(batch.log_det.data, batch.weight.data);
    *sums.rows += static_cast<double>(batch.there);
  }
}

// Adds the information of rows begin … end−1 on the parameters, with c_j = (1 − w_jᵀ M⁻¹ w_j / psi_j)₊ where observed: pairs
// (p, wide) of w M⁻¹ with c, weights (wide) Σ w c, square (wide) Σ w c², totals (p) Σ w M⁻¹; the last total is Σ w.
template <class Rows, class Model, class Sums>
void information(const Rows& rows, const double* weight, const Model& model, std::size_t begin, std::size_t end,
                 const Sums& sums) {
  Batch batch(model.d, model.k);
  const std::size_t p = batch.p;
  Buffer free(batch.wide * LINE);
  for (std::size_t first = begin; first < end; first += BATCH) {
    if (!batch.read(rows, weight, model, first, std::min(BATCH, end - first))) continue;
    batch.precisions(model);
    for (std::size_t j = 0; j < batch.d; ++j)
      for (std::size_t r = 0; r < batch.rows; r += LANES) store(free.data + j * LINE + r, vec<double>{} + 1.0);
    combine_all(model.leverage, batch.wide, batch.d, batch.C.data, p, free.data, batch.seen.data, batch.rows, free.data);
    batch.weigh(free.data, sums.square);
    all_dots(batch.C.data, p, free.data, batch.wide, batch.rows, sums.pairs);
    all_dots(batch.one.data, 1, free.data, batch.wide, batch.rows, sums.right);
    for (std::size_t e = 0; e < p; ++e) sums.totals[e] += batch.total(batch.C.data + e * LINE, batch.weight.data);
    sums.totals[p] += batch.total(batch.weight.data);
  }
}

// Adds the derivatives of sums over rows begin … end−1 along a direction (m, D, f psi) of (mu, W, psi). With t = m + D z + f r,
// h = M⁻¹ (Σ_j w_j t_j / psi_j − Σ_j D_j r_j / psi_j) and s = t − W h where observed: pairs (2p + 1, wide) of w M⁻¹,
// w dM⁻¹ and w with what is observed; right (2k + 1, wide) Σ w s (z, 1) and Σ w r h; square (wide) Σ w r s.
template <class Rows, class Model, class Direction, class Sums>
void derivative(const Rows& rows, const double* weight, const Model& model, const Direction& direction,
                std::size_t begin, std::size_t end, const Sums& sums) {
  Batch batch(model.d, model.k);
  const std::size_t d = model.d, k = model.k, p = batch.p, wide = batch.wide;
  Buffer products((2 * p + 1) * LINE), lines((2 * k + 1) * LINE), t(wide * LINE), s(wide * LINE), h(k * LINE);
  Buffer pull(k * LINE), zero(p * LINE);
  for (std::size_t first = begin; first < end; first += BATCH) {
    if (!batch.read(rows, weight, model, first, std::min(BATCH, end - first))) continue;
    const std::size_t here = batch.rows;
    batch.solve(model);
    for (std::size_t j = 0; j < d; ++j)
      for (std::size_t r = 0; r < here; r += LANES)
        store(t.data + j * LINE + r, direction.mean[j] + direction.log_psi[j] * load(batch.rest.data + j * LINE + r));
    combine_all(direction.loadings, wide, d, batch.z.data, k, t.data, batch.seen.data, here, t.data);
    combine_all(direction.minus_scaled, k, k, batch.rest.data, d, zero.data, nullptr, here, pull.data);
    std::memset(h.data, 0, k * LINE * sizeof(double));
    const double* left = t.data;
    for (std::size_t again = 0; again <= model.refinements; ++again, left = s.data) {
      for (std::size_t e = 0; e < k * LINE; ++e) batch.right.data[e] = pull.data[e] - h.data[e];
      combine_all(model.scaled, k, k, left, d, batch.right.data, nullptr, here, batch.right.data);
      for (std::size_t r = 0; r < here; r += LANES) batch.add_solution(r, h.data);
      combine_all(model.minus, wide, d, h.data, k, t.data, batch.seen.data, here, s.data);
    }
    combine_all(direction.precision, p, p, batch.seen.data, d, zero.data, nullptr, here, products.data + p * LINE);
    batch.between(products.data + p * LINE);
    batch.weighed(products.data + p * LINE, p, products.data + p * LINE);
    batch.weighed(batch.C.data, p, products.data);
    batch.weighed(batch.one.data, 1, products.data + 2 * p * LINE);
    batch.weighed(batch.z.data, k, lines.data);
    batch.weighed(batch.one.data, 1, lines.data + k * LINE);
    batch.weighed(h.data, k, lines.data + (k + 1) * LINE);
    all_dots(products.data, 2 * p + 1, batch.seen.data, wide, here, sums.pairs);
    all_dots(lines.data, k + 1, s.data, wide, here, sums.right);
    all_dots(lines.data + (k + 1) * LINE, k, batch.rest.data, wide, here, sums.right + (k + 1) * wide);
    batch.squares(s.data, sums.square);
  }
}

// Of rows begin … end−1, each that is not null: z (n, k), M⁻¹ packed (n, p), log densities (n), rows (n, d) whose
// missing values are their conditional means, and deviations (n, d) of those, 0 where observed.
template <class Rows, class Model, class Out>
void describe(const Rows& rows, const Model& model, std::size_t begin, std::size_t end, const Out& out) {
  Batch batch(model.d, model.k);
  const std::size_t d = model.d, k = model.k, p = batch.p;
  for (std::size_t first = begin; first < end; first += BATCH) {
    batch.read(rows, static_cast<const double*>(nullptr), model, first, std::min(BATCH, end - first));
    batch.solve(model);
    if (out.z) batch.transpose(batch.z.data, k, out.z + first * k);
    if (out.C) batch.transpose(batch.C.data, p, out.C + first * p);
    if (out.log_density) batch.log_densities(model, out.log_density + first);
    if (out.filled) {
      for (std::size_t j = 0; j < d; ++j)
        for (std::size_t r = 0; r < batch.rows; r += LANES)
          store(batch.rest.data + j * LINE + r, vec<double>{} - model.mean[j]);
      combine_all(model.minus, batch.wide, d, batch.z.data, k, batch.rest.data, nullptr, batch.rows, batch.rest.data);
      batch.fill(rows, first, -1.0, out.filled + first * d);
    }
    if (out.deviation) {
      for (std::size_t j = 0; j < d; ++j)
        for (std::size_t r = 0; r < batch.rows; r += LANES) store(batch.rest.data + j * LINE + r, vec<double>{});
      combine_all(model.leverage, batch.wide, d, batch.C.data, p, batch.rest.data, nullptr, batch.rows,
                  batch.rest.data);
      batch.deviations(model, out.deviation + first * d);
    }
  }
}
}  // namespace incomplete_rows
