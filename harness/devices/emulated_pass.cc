#include "harness/devices/emulated_pass.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "kernels/strided/kernel_passes.h"

namespace sparkbench {
namespace {

constexpr Half kPoison{0x7e5a};  // a NaN that no kernel produces

EmulationReport run_forward(const AttentionKernel& kernel, const EmulationOptions& options,
                            const ProblemData& data, PassOutputs& outputs) {
  const Problem& problem = data.problem();
  outputs.o.assign(problem.q_elements(), kPoison);
  outputs.lse.assign(problem.lse_elements(), std::numeric_limits<float>::quiet_NaN());
  const ForwardInputs inputs = data.inputs();
  const auto tensors = [&](const Problem& layout) {
    return contiguous_tensors(layout, inputs.q.data(), inputs.k.data(), inputs.v.data(),
                              outputs.o.data(), outputs.lse.data());
  };
  if (!problem.lengths) {
    return emulate_forward(kernel, problem, tensors(problem), options, data.plan().tiles);
  }
  const Problem packed = problem.packed();
  return emulate_packed_forward(kernel, packed, packed_lengths(problem), tensors(packed), options,
                                data.plan().tiles);
}

/// The rows that a forward pass over the plan's tiles computes: all, or a sample.
std::vector<QueryRow> rows_of_tiles(const Problem& problem, const std::vector<SampleTile>& tiles) {
  std::vector<QueryRow> rows;
  for (const auto& [tile, head, batch] : tiles) {
    const int end = std::min((tile + 1) * kSampleRows, problem.seqlen_q_of(batch));
    for (int row = tile * kSampleRows; row < end; ++row) rows.push_back({batch, head, row});
  }
  std::sort(rows.begin(), rows.end());
  return rows;
}

/// The forward pass's whole output.
RoundedForward own_forward(const HostWork& work, const PassOutputs& outputs) {
  const std::vector<SampleTile>& tiles = work.data.plan().tiles;
  if (tiles.empty()) return {outputs.o, outputs.lse};
  const Problem& problem = work.data.problem();
  const std::vector<QueryRow> rows = rows_of_tiles(problem, tiles);
  return work.gradients->forward_with(rows, gather_rows(problem, outputs.o, outputs.lse, rows));
}

EmulationReport run_backward(const AttentionKernel& kernel, const EmulationOptions& options,
                             const HostWork& work, PassOutputs& outputs) {
  const Problem& problem = work.data.problem();
  outputs.dq.assign(problem.q_elements(), kPoison);
  outputs.dk.assign(problem.k_elements(), kPoison);
  outputs.dv.assign(problem.k_elements(), kPoison);
  const bool is_after_forward =
      work.options.pass == Pass::kForwardBackward || work.options.keeps_outputs;
  const RoundedForward forward = is_after_forward ? own_forward(work, outputs) : RoundedForward();
  const BackwardInputs inputs =
      is_after_forward ? work.gradients->inputs_after(forward) : work.gradients->inputs();
  const auto tensors = [&](const Problem& layout) {
    return contiguous_tensors(layout, inputs.q.data(), inputs.k.data(), inputs.v.data(),
                              inputs.o.data(), inputs.d_o.data(), inputs.lse.data(),
                              outputs.dq.data(), outputs.dk.data(), outputs.dv.data());
  };
  const BackwardSample& sample = work.gradients->plan().sample;
  const bool is_deterministic = work.options.is_deterministic;
  if (!problem.lengths) {
    return emulate_backward(kernel, problem, tensors(problem), options, is_deterministic, sample);
  }
  const Problem packed = problem.packed();
  return emulate_packed_backward(kernel, packed, packed_lengths(problem), tensors(packed), options,
                                 is_deterministic, sample);
}

}  // namespace

RunOutcome emulate_pass(const AttentionKernel& kernel, const EmulationOptions& options,
                        const HostWork& work) {
  const Problem& problem = work.data.problem();
  const Pass pass = work.options.pass;
  RunOutcome outcome;
  EmulationReport& report = outcome.emulation.emplace();
  PassOutputs outputs;
  if (pass != Pass::kBackward) {
    add_report(report, run_forward(kernel, options, work.data, outputs));
  } else if (work.options.keeps_outputs) {
    run_forward(kernel, options, work.data, outputs);  // another pass: its report is not used
  }
  if (!outputs.o.empty()) {
    outcome.rows = gather_rows(problem, outputs.o, outputs.lse, work.data.plan().rows);
  }
  if (pass != Pass::kForward) {
    add_report(report, run_backward(kernel, options, work, outputs));
    outcome.gradients = gather_gradients(problem, {outputs.dq, outputs.dk, outputs.dv},
                                         work.gradients->plan().rows);
  }
  if (work.options.keeps_outputs) outcome.outputs = std::move(outputs);
  return outcome;
}

}  // namespace sparkbench
