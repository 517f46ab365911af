#include "reference/encoder/half_attention.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "kernels/machine/emulated/blocks/launch.h"
#include "kernels/strided/kernel_passes.h"
#include "reference/encoder/token_rows.h"
#include "reference/unfused/unfused.h"
#include "reference/unfused/unfused_backward.h"

namespace sparkbench {
namespace {

/// A whole tensor with `matrix` as its rows from `first_row` on.
std::vector<Half> whole_tensor(const Problem& problem, const Matrix<float>& matrix, int first_row) {
  std::vector<Half> tensor(problem.q_elements());
  const std::vector<Half> rows = halves_of(matrix);
  std::copy(rows.begin(), rows.end(),
            tensor.begin() + static_cast<std::ptrdiff_t>(first_row) *
                                 static_cast<std::ptrdiff_t>(matrix.columns));
  return tensor;
}

Matrix<float> rows_of_tensor(const std::vector<Half>& tensor, std::size_t first, std::size_t rows,
                             std::size_t columns) {
  return matrix_of<float>(std::span(tensor).subspan(first * columns, rows * columns), rows,
                          columns);
}

/// Converts [rows, head_dim] of the heads' rows to [tokens, hidden], from token `first` on.
template <class Row>
Matrix<float> by_tokens(const Problem& problem, const std::vector<Row>& rows,
                        const std::vector<Half>& of_rows, std::size_t first, std::size_t tokens) {
  const auto head_dim = static_cast<std::size_t>(problem.head_dim);
  Matrix<float> matrix(tokens, static_cast<std::size_t>(problem.heads) * head_dim);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const std::span<float> to = matrix.row(token_of(problem, rows[i]) - first)
                                    .subspan(static_cast<std::size_t>(rows[i].head) * head_dim);
    std::transform(of_rows.begin() + static_cast<std::ptrdiff_t>(i * head_dim),
                   of_rows.begin() + static_cast<std::ptrdiff_t>((i + 1) * head_dim), to.begin(),
                   to_float);
  }
  return matrix;
}

/// The tiles that contain tokens from `first` on.
std::vector<SampleTile> tiles_of_tokens(const Problem& problem, std::size_t first,
                                        std::size_t count) {
  std::vector<SampleTile> tiles;
  for (const SequenceRows& rows : sequences_of_tokens(problem, first, count)) {
    for (int head = 0; head < problem.heads; ++head) {
      for (int tile = rows.first / kSampleRows; tile * kSampleRows < rows.first + rows.count;
           ++tile) {
        tiles.push_back({tile, head, rows.sequence});
      }
    }
  }
  return tiles;
}

struct WholeForward {
  std::vector<Half> q, k, v, o;
  std::vector<float> lse;
};

/// A kernel and the machine that emulates it.
class EmulatedAttention {
 public:
  EmulatedAttention(const Problem& problem, const AttentionKernel& kernel,
                    const EmulationOptions& options,
                    std::function<void(const EmulationReport&)> report)
      : problem_(problem), kernel_(kernel), options_(options), report_(std::move(report)) {}

  Matrix<float> forward(const Matrix<float>& q, const Matrix<float>& k, const Matrix<float>& v,
                        int first_row) const {
    const WholeForward whole = run_forward(q, k, v, first_row);
    return rows_of_tensor(whole.o, static_cast<std::size_t>(first_row), q.rows, q.columns);
  }

  AttentionGradients<float> backward(const Matrix<float>& q, const Matrix<float>& k,
                                     const Matrix<float>& v, const Matrix<float>& d_o) const {
    const WholeForward whole = run_forward(q, k, v, 0);
    const std::vector<Half> gradient = halves_of(d_o);
    std::vector<Half> dq(gradient.size()), dk(gradient.size()), dv(gradient.size());
    const auto tensors = [&](const Problem& layout) {
      return contiguous_tensors(layout, whole.q.data(), whole.k.data(), whole.v.data(),
                                whole.o.data(), gradient.data(), whole.lse.data(), dq.data(),
                                dk.data(), dv.data());
    };
    if (problem_.lengths) {
      const Problem packed = problem_.packed();
      report_(emulate_packed_backward(kernel_, packed, packed_lengths(problem_), tensors(packed),
                                      options_, true, {}));
    } else {
      report_(emulate_backward(kernel_, problem_, tensors(problem_), options_, true, {}));
    }
    const auto all = [&](const std::vector<Half>& tensor) {
      return rows_of_tensor(tensor, 0, d_o.rows, d_o.columns);
    };
    return {all(dq), all(dk), all(dv)};
  }

 private:
  WholeForward run_forward(const Matrix<float>& q, const Matrix<float>& k, const Matrix<float>& v,
                           int first_row) const {
    WholeForward whole{
        whole_tensor(problem_, q, first_row), halves_of(k), halves_of(v),
        std::vector<Half>(problem_.q_elements()),
        std::vector<float>(problem_.lse_elements(), std::numeric_limits<float>::quiet_NaN())};
    const std::vector<SampleTile> tiles =
        q.rows < k.rows ? tiles_of_tokens(problem_, static_cast<std::size_t>(first_row), q.rows)
                        : std::vector<SampleTile>();
    const auto tensors = [&](const Problem& layout) {
      return contiguous_tensors(layout, whole.q.data(), whole.k.data(), whole.v.data(),
                                whole.o.data(), whole.lse.data());
    };
    if (problem_.lengths) {
      const Problem packed = problem_.packed();
      report_(emulate_packed_forward(kernel_, packed, packed_lengths(problem_), tensors(packed),
                                     options_, tiles));
    } else {
      report_(emulate_forward(kernel_, problem_, tensors(problem_), options_, tiles));
    }
    return whole;
  }

  Problem problem_;
  const AttentionKernel& kernel_;
  EmulationOptions options_;
  std::function<void(const EmulationReport&)> report_;
};

}  // namespace

AttentionFunctions<float> unfused_attention(const Problem& problem,
                                            const TensorCores& tensor_cores) {
  return {[problem, tensor_cores](const Matrix<float>& q, const Matrix<float>& k,
                                  const Matrix<float>& v, int first_row) {
            const std::vector<Half> whole_q = whole_tensor(problem, q, first_row);
            const std::vector<Half> whole_k = halves_of(k), whole_v = halves_of(v);
            const auto first = static_cast<std::size_t>(first_row);
            const std::vector<QueryRow> rows = query_rows_of_tokens(problem, first, q.rows);
            const ForwardRows found =
                unfused_forward(problem, {whole_q, whole_k, whole_v}, rows, tensor_cores);
            return by_tokens(problem, rows, found.o, first, q.rows);
          },
          [problem, tensor_cores](const Matrix<float>& q, const Matrix<float>& k,
                                  const Matrix<float>& v, const Matrix<float>& d_o) {
            const std::vector<Half> halves[] = {halves_of(q), halves_of(k), halves_of(v),
                                                halves_of(d_o)};
            const GradientRows rows = all_gradient_rows(problem);
            const HalfGradients gradients = unfused_backward(
                problem, {halves[0], halves[1], halves[2], halves[3]}, rows, tensor_cores);
            return AttentionGradients<float>{by_tokens(problem, rows.dq, gradients.dq, 0, q.rows),
                                             by_tokens(problem, rows.dkv, gradients.dk, 0, q.rows),
                                             by_tokens(problem, rows.dkv, gradients.dv, 0, q.rows)};
          }};
}

AttentionFunctions<float> emulated_attention(const Problem& problem, const AttentionKernel& kernel,
                                             const EmulationOptions& options,
                                             std::function<void(const EmulationReport&)> report) {
  const EmulatedAttention by(problem, kernel, options, std::move(report));
  return {[by](const Matrix<float>& q, const Matrix<float>& k, const Matrix<float>& v,
               int first_row) { return by.forward(q, k, v, first_row); },
          [by](const Matrix<float>& q, const Matrix<float>& k, const Matrix<float>& v,
               const Matrix<float>& d_o) { return by.backward(q, k, v, d_o); }};
}

}  // namespace sparkbench
