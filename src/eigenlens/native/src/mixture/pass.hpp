// One pass of a mixture of Gaussians over its rows: distances, responsibilities, and the sums that they weigh.
//
//     joint_ik = level_k − ½ distance_ik,   r_ik = w_i exp(joint_ik) / Σ_l exp(joint_il),   δ_ik = x_i − μ_k
//     weight_k = Σ r_ik,   total_k = Σ r_ik δ_ik,   scatter_k = Σ r_ik δ_ik δ_ikᵀ   or its diagonal
//
// A batch of rows stays in cache from its first column to its last sum; nothing is kept of it. The rows and the
// components are types of the driver. No include guard, on purpose.
namespace mixture {
#include "mixture/limits.hpp"
#include "mixture/batch.hpp"
#include "mixture/full.hpp"
#include "mixture/diagonal.hpp"

// Rows begin … end−1: their statistics are added to `sums`, Kind::size(d) numbers per component; the log-likelihood is
// the answer.
template <class Kind, class Rows, class Components>
double pass(const Rows& rows, const double* weight, const Components& components, std::size_t begin, std::size_t end,
            double* sums) {
  Batch batch(components.K, components.d);
  Kind kind(components.d);
  double loglik = 0.0;
  for (std::size_t first = begin; first < end; first += BATCH) {
    batch.read(rows, weight, first, std::min(BATCH, end - first));
    kind.read(batch);
    for (std::size_t k = 0; k < components.K; ++k) {
      batch.ask(rows, first + BATCH, end, k);
      kind.joint(batch, components, k);
    }
    loglik += batch.shares(components.levels);
    for (std::size_t k = 0; k < components.K; ++k)
      if (batch.members(k)) kind.add(batch, components, k, sums + k * Kind::size(components.d));
  }
  return loglik;
}

// joint (rows, K) of rows begin … end−1, written to out.
template <class Kind, class Rows, class Components>
void joint(const Rows& rows, const Components& components, std::size_t begin, std::size_t end, double* out) {
  const std::size_t K = components.K;
  Batch batch(K, components.d);
  Kind kind(components.d);
  for (std::size_t first = begin; first < end; first += BATCH) {
    batch.read(rows, nullptr, first, std::min(BATCH, end - first));
    for (std::size_t k = 0; k < K; ++k) kind.joint(batch, components, k);
    for (std::size_t r = 0; r < batch.count; ++r)
      for (std::size_t k = 0; k < K; ++k) out[(first + r) * K + k] = batch.joint.data[k * LINE + r];
  }
}

template <class Rows, class Components>
double narrow_pass(const Rows& rows, const double* weight, const Components& components, std::size_t begin,
                   std::size_t end, double* sums) {
  return pass<Narrow>(rows, weight, components, begin, end, sums);
}

template <class Rows, class Components>
double wide_pass(const Rows& rows, const double* weight, const Components& components, std::size_t begin,
                 std::size_t end, double* sums) {
  return pass<Wide>(rows, weight, components, begin, end, sums);
}

template <class Rows, class Components>
double diagonal_pass(const Rows& rows, const double* weight, const Components& components, std::size_t begin,
                     std::size_t end, double* sums) {
  return pass<Diagonal>(rows, weight, components, begin, end, sums);
}

template <class Rows, class Components>
void full_joint(const Rows& rows, const Components& components, std::size_t begin, std::size_t end, double* out) {
  joint<Narrow>(rows, components, begin, end, out);
}

template <class Rows, class Components>
void diagonal_joint(const Rows& rows, const Components& components, std::size_t begin, std::size_t end, double* out) {
  joint<Diagonal>(rows, components, begin, end, out);
}

inline std::size_t narrow_size(std::size_t d) { return Narrow::size(d); }
inline std::size_t wide_size(std::size_t d) { return Wide::size(d); }
inline std::size_t diagonal_size(std::size_t d) { return Diagonal::size(d); }
}  // namespace mixture
