#include "reference/tensors/backward_rows.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <stdexcept>
#include <utility>

namespace sparkbench {

GradientRows all_gradient_rows(const Problem& problem) {
  return {all_rows_of<QueryRow>(query_shape(problem)), all_rows_of<KeyRow>(key_shape(problem))};
}

HalfGradients gather_gradients(const Problem& problem, const GradientTensors& tensors,
                               const GradientRows& rows) {
  tensors.dq.check("dq", query_shape(problem));
  tensors.dk.check("dk", key_shape(problem));
  tensors.dv.check("dv", key_shape(problem));
  const TensorShape keys = key_shape(problem);
  return {gather_rows_of<QueryRow>(tensors.dq, query_shape(problem), rows.dq),
          gather_rows_of<KeyRow>(tensors.dk, keys, rows.dkv),
          gather_rows_of<KeyRow>(tensors.dv, keys, rows.dkv)};
}

std::vector<QueryRow> queries_needed_by(const Problem& problem, const GradientRows& rows) {
  std::set<std::pair<int, int>> heads;  // (batch, head)
  for (const KeyRow& r : rows.dkv) {
    for (const int head : query_heads_of(problem, r)) heads.insert({r.batch, head});
  }
  std::vector<QueryRow> queries;
  for (const auto& [batch, head] : heads) {
    const int seqlen = problem.seqlen_q_of(batch);
    for (int row = 0; row < seqlen; ++row) queries.push_back({batch, head, row});
  }
  const std::size_t of_heads = queries.size();
  std::copy_if(rows.dq.begin(), rows.dq.end(), std::back_inserter(queries), [&](const auto& r) {
    return !heads.contains({r.batch, r.head});
  });
  std::inplace_merge(queries.begin(), queries.begin() + static_cast<std::ptrdiff_t>(of_heads),
                     queries.end());
  return queries;
}

void check_backward(const Problem& problem, const BackwardInputs& inputs,
                    const GradientRows& rows) {
  inputs.q.check("q", query_shape(problem));
  inputs.k.check("k", key_shape(problem));
  inputs.v.check("v", key_shape(problem));
  inputs.d_o.check("d_o", query_shape(problem));
  if (inputs.o.empty() != inputs.lse.empty()) {
    throw std::invalid_argument("o and lse of a forward pass come together");
  }
  if (inputs.has_forward()) {
    inputs.o.check("o", query_shape(problem));
    check_size("lse", inputs.lse.size(), problem.lse_elements());
  }
  check_rows<QueryRow>(query_shape(problem), rows.dq);
  check_rows<KeyRow>(key_shape(problem), rows.dkv);
}

}  // namespace sparkbench
