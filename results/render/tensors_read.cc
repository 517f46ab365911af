#include "results/render/tensors_read.h"

#include <fmt/core.h>

#include <algorithm>

namespace sparkbench {

std::string shapes_read(const RunRecord& run) {
  if (!run.method.input_file || run.cases.empty()) return "";
  const CaseProblem& problem = run.cases.front().problem;
  const auto shape = [&](int seqlen, int heads) {
    return fmt::format("[{}, {}, {}, {}]", problem.batch, seqlen, heads, problem.head_dim);
  };
  const bool has_backward =
      std::any_of(run.cases.begin(), run.cases.end(),
                  [](const CaseRecord& record) { return record.problem.pass != Pass::kForward; });
  return fmt::format("q{} {}, k and v {}, read as [batch, seqlen, heads, head_dim]",
                     has_backward ? " and d_o" : "", shape(problem.seqlen_q, problem.heads),
                     shape(problem.seqlen_k, problem.key_heads()));
}

std::string tensors_line(const RunRecord& run) {
  const std::string shapes = shapes_read(run);
  return shapes.empty() ? "" : fmt::format("Tensors of {}: {}\n", *run.method.input_file, shapes);
}

}  // namespace sparkbench
