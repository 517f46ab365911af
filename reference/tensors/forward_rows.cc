#include "reference/tensors/forward_rows.h"

namespace sparkbench {

std::vector<QueryRow> all_rows(const Problem& problem) {
  return all_rows_of<QueryRow>(query_shape(problem));
}

ForwardRows gather_rows(const Problem& problem, const HostTensor& o, std::span<const float> lse,
                        std::span<const QueryRow> rows) {
  o.check("o", query_shape(problem));
  check_size("lse", lse.size(), problem.lse_elements());
  ForwardRows gathered{gather_rows_of(o, query_shape(problem), rows), {}};
  gathered.lse.reserve(rows.size());
  for (const QueryRow& r : rows) gathered.lse.push_back(lse[r.lse_index(problem)]);
  return gathered;
}

void check_forward(const Problem& problem, const ForwardInputs& inputs,
                   std::span<const QueryRow> rows) {
  inputs.q.check("q", query_shape(problem));
  inputs.k.check("k", key_shape(problem));
  inputs.v.check("v", key_shape(problem));
  check_rows(query_shape(problem), rows);
}

}  // namespace sparkbench
