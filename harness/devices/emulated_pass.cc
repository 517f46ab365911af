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
  LaidOutInputs(const ProblemData& data, const TensorPlaces& places, const Inputs& inputs)
      : places_(places), memories_{inputs.q.data(), inputs.k.data(), inputs.v.data()} {
    if (data.layout() == TensorLayout::kBshd) return;
    copies_ = memories_of(places, inputs.q, inputs.k, inputs.v);
    for (std::size_t i = 0; i < copies_.size(); ++i) memories_[i] = copies_[i].data();
  }
  TensorView<const Half> q() const { return in(places_.q); }
  TensorView<const Half> k() const { return in(places_.k); }
  TensorView<const Half> v() const { return in(places_.v); }

 private:
  TensorView<const Half> in(const TensorPlace& place) const {
    return place.in(memories_[place.memory]);
  }
  const TensorPlaces& places_;
  std::array<const Half*, 3> memories_;
  std::vector<std::vector<Half>> copies_;
};

/// The same of one tensor.
class LaidOutInput {
 public:
  LaidOutInput(const ProblemData& data, const TensorPlace& place, std::span<const Half> contiguous)
      : place_(place), memory_(contiguous.data()) {
    if (data.layout() == TensorLayout::kBshd) return;
    copy_.resize(contiguous.size());
    store_rows(contiguous, place.in(copy_.data()), place.shape);
    memory_ = copy_.data();
  }
  TensorView<const Half> view() const { return place_.in(memory_); }

 private:
  const TensorPlace& place_;
  const Half* memory_;
  std::vector<Half> copy_;
};

Problem problem_of_tensors(const Problem& problem) {
  return problem.lengths ? problem.packed() : problem;
}

/// The tensor of a memory, contiguous.
std::vector<Half> taken(std::vector<Half>& memory, const TensorPlace& place) {
  if (place.strides == contiguous_strides(place.shape)) return std::move(memory);
  return contiguous_copy(place.in(std::as_const(memory).data()), place.shape);
}

EmulationReport run_forward(const AttentionKernel& kernel, const EmulationOptions& options,
                            const ProblemData& data, PassOutputs& outputs) {
  const Problem& problem = data.problem();
  const Problem layout = problem_of_tensors(problem);
  const TensorPlaces places(layout, data.layout());
  const LaidOutInputs inputs(data, places, data.inputs());
  std::vector<Half> o(problem.q_elements(), kPoison);
  outputs.lse.assign(problem.lse_elements(), std::numeric_limits<float>::quiet_NaN());
  const ForwardTensors tensors = {inputs.q(), inputs.k(), inputs.v(), places.o.in(o.data()),
                                  outputs.lse.data()};
  const std::vector<SampleTile>& tiles = data.plan().tiles;
  EmulationReport report =
      problem.lengths
          ? emulate_packed_forward(kernel, layout, packed_lengths(problem), tensors, options, tiles)
          : emulate_forward(kernel, problem, tensors, options, tiles);
  outputs.o = taken(o, places.o);
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
  const Problem layout = problem_of_tensors(problem);
  const TensorPlaces places(layout, work.data.layout());
  const LaidOutInputs qkv(work.data, places, inputs);
  const LaidOutInput o(work.data, places.o, inputs.o), d_o(work.data, places.o, inputs.d_o);
  std::vector<std::vector<Half>> gradients;
  for (const std::size_t elements : places.elements) gradients.emplace_back(elements, kPoison);
  const auto gradient = [&](const TensorPlace& place) {
    return place.in(gradients[place.memory].data());
  };
  const BackwardTensors tensors = {qkv.q(),
                                   qkv.k(),
                                   qkv.v(),
                                   o.view(),
                                   d_o.view(),
                                   inputs.lse.data(),
                                   gradient(places.q),
                                   gradient(places.k),
                                   gradient(places.v)};
  const BackwardSample& sample = work.gradients->plan().sample;
  const bool is_deterministic = work.options.is_deterministic;
  EmulationReport report =
      problem.lengths
          ? emulate_packed_backward(kernel, layout, packed_lengths(problem), tensors, options,
                                    is_deterministic, sample)
          : emulate_backward(kernel, problem, tensors, options, is_deterministic, sample);
  outputs.dq = taken(gradients[places.q.memory], places.q);
  outputs.dk = taken(gradients[places.k.memory], places.k);
  outputs.dv = taken(gradients[places.v.memory], places.v);
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
