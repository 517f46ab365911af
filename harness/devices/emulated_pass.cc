#include "harness/devices/emulated_pass.h"

#include <algorithm>
#include <array>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include "kernels/strided/kernel_passes.h"
#include "reference/tensors/tensor_layout.h"

namespace sparkbench {
namespace {

constexpr Half kPoison{0x7e5a};  // a NaN that no kernel produces

/// Contiguous Q, K and V in the layout of the data, copied where that is another one.
class LaidOutInputs {
 public:
  template <class Inputs>
  LaidOutInputs(const ProblemData& data, const TensorSlices& slices, const Inputs& inputs)
      : slices_(slices), buffers_{inputs.q.data(), inputs.k.data(), inputs.v.data()} {
    if (data.layout() == TensorLayout::kBshd) return;
    copies_ = buffers_of(slices, inputs.q, inputs.k, inputs.v);
    for (std::size_t i = 0; i < copies_.size(); ++i) buffers_[i] = copies_[i].data();
  }
  TensorView<const Half> q() const { return in(slices_.q); }
  TensorView<const Half> k() const { return in(slices_.k); }
  TensorView<const Half> v() const { return in(slices_.v); }

 private:
  TensorView<const Half> in(const TensorSlice& slice) const {
    return slice.in(buffers_[slice.buffer]);
  }
  const TensorSlices& slices_;
  std::array<const Half*, 3> buffers_;
  std::vector<std::vector<Half>> copies_;
};

/// One contiguous tensor in the layout of the data, copied where that is another one.
class LaidOutInput {
 public:
  LaidOutInput(const ProblemData& data, const TensorSlice& slice, std::span<const Half> contiguous)
      : slice_(slice), data_(contiguous.data()) {
    if (data.layout() == TensorLayout::kBshd) return;
    copy_.resize(contiguous.size());
    store_rows(contiguous, slice.in(copy_.data()), slice.shape);
    data_ = copy_.data();
  }
  TensorView<const Half> view() const { return slice_.in(data_); }

 private:
  const TensorSlice& slice_;
  const Half* data_;
  std::vector<Half> copy_;
};

Problem problem_of_shapes(const Problem& problem) {
  return problem.lengths ? problem.packed() : problem;
}

/// A contiguous copy of the tensor, or the buffer itself where the tensor is contiguous.
std::vector<Half> contiguous_tensor(std::vector<Half>& buffer, const TensorSlice& slice) {
  const TensorView<const Half> view = slice.in(std::as_const(buffer).data());
  if (is_contiguous(view, slice.shape)) return std::move(buffer);
  return contiguous_copy(view, slice.shape);
}

EmulationReport run_forward(const AttentionKernel& kernel, const EmulationOptions& options,
                            const ProblemData& data, PassOutputs& outputs) {
  const Problem& problem = data.problem();
  const Problem shapes = problem_of_shapes(problem);
  const TensorSlices slices(shapes, data.layout());
  const LaidOutInputs inputs(data, slices, data.inputs());
  std::vector<Half> o(problem.q_elements(), kPoison);
  outputs.lse.assign(problem.lse_elements(), std::numeric_limits<float>::quiet_NaN());
  const ForwardTensors tensors = {inputs.q(), inputs.k(), inputs.v(), slices.o.in(o.data()),
                                  outputs.lse.data()};
  const std::vector<SampleTile>& tiles = data.plan().tiles;
  EmulationReport report =
      problem.lengths
          ? emulate_packed_forward(kernel, shapes, packed_lengths(problem), tensors, options, tiles)
          : emulate_forward(kernel, problem, tensors, options, tiles);
  outputs.o = contiguous_tensor(o, slices.o);
  return report;
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
  const bool is_after_forward =
      work.options.pass == Pass::kForwardBackward || work.options.keeps_outputs;
  const RoundedForward forward = is_after_forward ? own_forward(work, outputs) : RoundedForward();
  const BackwardInputs inputs =
      is_after_forward ? work.gradients->inputs_after(forward) : work.gradients->inputs();
  const Problem shapes = problem_of_shapes(problem);
  const TensorSlices slices(shapes, work.data.layout());
  const LaidOutInputs qkv(work.data, slices, inputs);
  const LaidOutInput o(work.data, slices.o, inputs.o), d_o(work.data, slices.o, inputs.d_o);
  std::vector<std::vector<Half>> gradients;
  for (const std::size_t elements : slices.elements) gradients.emplace_back(elements, kPoison);
  const auto gradient = [&](const TensorSlice& slice) {
    return slice.in(gradients[slice.buffer].data());
  };
  const BackwardTensors tensors = {qkv.q(),
                                   qkv.k(),
                                   qkv.v(),
                                   o.view(),
                                   d_o.view(),
                                   inputs.lse.data(),
                                   gradient(slices.q),
                                   gradient(slices.k),
                                   gradient(slices.v)};
  const BackwardSample& sample = work.gradients->plan().sample;
  const bool is_deterministic = work.options.is_deterministic;
  EmulationReport report =
      problem.lengths
          ? emulate_packed_backward(kernel, shapes, packed_lengths(problem), tensors, options,
                                    is_deterministic, sample)
          : emulate_backward(kernel, problem, tensors, options, is_deterministic, sample);
  outputs.dq = contiguous_tensor(gradients[slices.q.buffer], slices.q);
  outputs.dk = contiguous_tensor(gradients[slices.k.buffer], slices.k);
  outputs.dv = contiguous_tensor(gradients[slices.v.buffer], slices.v);
  return report;
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
