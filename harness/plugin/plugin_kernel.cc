#include "harness/plugin/plugin_kernel.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <memory>
#include <utility>
#include <vector>

#include "harness/plugin/plugin_plan.h"

namespace sparkbench {
namespace {

constexpr Half kPoison{0x7fda};  // a NaN in fp16 and bf16 that no kernel produces

/// Where a kernel with own outputs left them.
OwnOutputs outputs_of(const PluginPlan& plan) {
  sparkbench_tensors tensors{};
  tensors.struct_bytes = sizeof tensors;
  plan.outputs(tensors);
  return own_outputs(tensors);
}

/// What the closures of a GPU's pass share.
struct GpuRun {
  GpuRun(const CheckedKernel& of, const GpuWork& work, const PluginDevice& device)
      : kernel(of),
        problem(work.problem, work.element, work.options.pass, work.options.is_deterministic,
                device),
        workspace_bytes(ask_workspace(kernel.table, problem)),
        workspace(workspace_bytes > 0 ? work.allocate(workspace_bytes) : nullptr),
        tensors(plugin_tensors(work.forward, work.backward, work.lengths)),
        plan(kernel, problem, workspace.get(), work.stream) {
    if (plan.has_own_outputs()) take_outputs_away(tensors);
  }

  CheckedKernel kernel;
  PluginProblem problem;
  std::size_t workspace_bytes;
  std::shared_ptr<void> workspace;
  sparkbench_tensors tensors;
  PluginPlan plan;
};

std::uint32_t bits_of(Half value) { return value.bits; }
std::uint32_t bits_of(float value) { return float_bits(value); }

/// An input that a kernel gets as a copy, so that it cannot change what the oracle reads.
class HostInput {
 public:
  /// `kept` is as the host keeps it.
  HostInput(const char* name, ElementType element, std::span<const Half> kept)
      : name_(name), element_(element), kept_(kept), copy_(as_kernel_has(element, kept)) {}

  const Half* data() const { return copy_.data(); }
  const char* name() const { return name_; }
  bool is_unchanged() const { return same_bits(copy_, as_kernel_has(element_, kept_)); }

 private:
  const char* name_;
  ElementType element_;
  std::span<const Half> kept_;
  std::vector<Half> copy_;
};

/// A problem's inputs in the host's memory, and a plan's passes over them.
class HostRun {
 public:
  explicit HostRun(const HostWork& work)
      : problem_(work.data.problem()),
        element_(work.data.element()),
        inputs_{{"q", element_, work.data.inputs().q},
                {"k", element_, work.data.inputs().k},
                {"v", element_, work.data.inputs().v}},
        has_backward_(work.options.pass != Pass::kForward) {
    if (has_backward_) inputs_.emplace_back("d_o", element_, work.gradients->d_o());
  }

  /// All outputs, from poisoned buffers.
  PassOutputs compute(const PluginPlan& plan) {
    PassOutputs outputs;
    outputs.o.assign(problem_.q_elements() + kGuard, kPoison);
    outputs.lse.assign(problem_.lse_elements() + kGuard, kPoisonFloat);
    if (has_backward_) {
      outputs.dq.assign(problem_.q_elements() + kGuard, kPoison);
      outputs.dk.assign(problem_.k_elements() + kGuard, kPoison);
      outputs.dv.assign(problem_.k_elements() + kGuard, kPoison);
    }
    sparkbench_tensors tensors = tensors_with(outputs);
    if (plan.has_own_outputs()) {
      take_outputs_away(tensors);
      poison(outputs_of(plan));
    }
    plan.forward(tensors);
    if (has_backward_) plan.backward(tensors);
    if (plan.has_own_outputs()) copy(outputs_of(plan), outputs);
    find_violations(outputs);
    return outputs;
  }

  /// What the passes wrote besides their outputs: "its input k"; empty if nothing.
  const std::string& violation() const { return violation_; }

 private:
  /// Elements behind each output that nobody may write.
  static constexpr std::size_t kGuard = 64;
  static constexpr float kPoisonFloat = std::numeric_limits<float>::quiet_NaN();

  /// Takes the guards away.
  void find_violations(PassOutputs& outputs) {
    for (const HostInput& input : inputs_) {
      if (!input.is_unchanged()) violation_ = fmt::format("its input {}", input.name());
    }
    const auto check = [&](auto& output, const char* name, const auto& poison) {
      if (output.empty()) return;
      for (auto guard = output.end() - kGuard; guard != output.end(); ++guard) {
        if (bits_of(*guard) == bits_of(poison)) continue;
        violation_ = fmt::format("memory behind {}", name);
      }
      output.resize(output.size() - kGuard);
    };
    check(outputs.o, "o", kPoison);
    check(outputs.lse, "lse", kPoisonFloat);
    check(outputs.dq, "dq", kPoison);
    check(outputs.dk, "dk", kPoison);
    check(outputs.dv, "dv", kPoison);
  }

  Problem layout() const { return problem_.lengths ? problem_.packed() : problem_; }

  void poison(const OwnOutputs& own) const {
    const auto fill = [](const TensorView<Half>& view, const TensorShape& shape) {
      if (view.data == nullptr) return;
      for_each_row(shape, [&](int b, int s, int h) {
        std::fill_n(view.row(b, s, h), shape.head_dim, kPoison);
      });
    };
    fill(own.o, query_shape(layout()));
    fill(own.dq, query_shape(layout()));
    fill(own.dk, key_shape(layout()));
    fill(own.dv, key_shape(layout()));
    if (own.lse != nullptr) {
      std::fill_n(own.lse, problem_.lse_elements(), std::numeric_limits<float>::quiet_NaN());
    }
  }

  void copy(const OwnOutputs& own, PassOutputs& outputs) const {
    const auto take = [](const TensorView<Half>& view, const TensorShape& shape,
                         std::vector<Half>& to) {
      if (view.data == nullptr) return;
      const std::vector<Half> copy = contiguous_copy(view, shape);
      std::copy(copy.begin(), copy.end(), to.begin());
    };
    take(own.o, query_shape(layout()), outputs.o);
    take(own.dq, query_shape(layout()), outputs.dq);
    take(own.dk, key_shape(layout()), outputs.dk);
    take(own.dv, key_shape(layout()), outputs.dv);
    if (own.lse != nullptr) {
      std::copy_n(own.lse, problem_.lse_elements(), outputs.lse.begin());
    }
  }

  sparkbench_tensors tensors_with(PassOutputs& outputs) const {
    const Problem layout = this->layout();
    const Half *q = inputs_[0].data(), *k = inputs_[1].data(), *v = inputs_[2].data();
    const ForwardTensors forward =
        contiguous_tensors(layout, q, k, v, outputs.o.data(), outputs.lse.data());
    const PackedLengths lengths =
        problem_.lengths ? packed_lengths(problem_) : PackedLengths{0, nullptr, nullptr};
    if (!has_backward_) return plugin_tensors(forward, BackwardTensors{}, lengths);
    return plugin_tensors(
        forward,
        contiguous_tensors(layout, q, k, v, outputs.o.data(), inputs_[3].data(), outputs.lse.data(),
                           outputs.dq.data(), outputs.dk.data(), outputs.dv.data()),
        lengths);
  }

  const Problem& problem_;
  ElementType element_;
  std::vector<HostInput> inputs_;  // q, k, v, and d_o for a backward pass
  bool has_backward_;
  std::string violation_;
};

}  // namespace

std::uint64_t PluginKernel::workspace_bytes(const Problem& problem, Pass pass,
                                            bool is_deterministic) const {
  // Elements of both types have two bytes.
  const ElementType element = takes(ElementType::kFp16) ? ElementType::kFp16 : ElementType::kBf16;
  if (!supports_problem(problem, element, pass, nullptr)) return 0;
  const PluginProblem asked(problem, element, pass, is_deterministic, device());
  return ask_workspace(kernel().table, asked);
}

RunOutcome PluginKernel::run_on_host(const HostWork& work) const {
  const Problem& problem = work.data.problem();
  const Pass pass = work.options.pass;
  const ElementType element = work.data.element();
  const PluginProblem asked(problem, element, pass, work.options.is_deterministic, device());
  RunOutcome outcome;
  outcome.workspace_bytes = ask_workspace(kernel().table, asked);
  const auto workspace = poisoned_host_memory(outcome.workspace_bytes);
  const PluginPlan plan(kernel(), asked, workspace.get(), nullptr);
  HostRun run(work);
  outcome.prepare_s = plan.seconds();
  const PassOutputs first = run.compute(plan);
  // The second run is judged: what a kernel kept of the first one has been poisoned.
  PassOutputs outputs = run.compute(plan);
  if (plan.has_own_outputs()) outcome.has_lse = outputs_of(plan).lse != nullptr;
  outcome.is_bitwise_repeatable = same_bits(first, outputs);
  outputs = as_host_keeps(element, std::move(outputs));
  outcome.violation = run.violation();
  if (pass != Pass::kBackward || work.options.keeps_outputs) {
    outcome.rows = gather_rows(problem, outputs.o, outputs.lse, work.data.plan().rows);
  }
  if (pass != Pass::kForward) {
    outcome.gradients = gather_gradients(problem, {outputs.dq, outputs.dk, outputs.dv},
                                         work.gradients->plan().rows);
  }
  if (work.options.keeps_outputs) outcome.outputs = std::move(outputs);
  return outcome;
}

Prepared PluginKernel::prepare(const GpuWork& work) const {
  const auto run = std::make_shared<const GpuRun>(kernel(), work, device());
  Prepared prepared;
  prepared.workspace_bytes = run->workspace_bytes;
  prepared.forward = [run] { run->plan.forward(run->tensors); };
  if (work.options.pass != Pass::kForward) {
    prepared.backward = [run] { run->plan.backward(run->tensors); };
  }
  prepared.seconds = run->plan.seconds();
  if (run->plan.has_own_outputs()) {
    prepared.own_outputs = [run] { return outputs_of(run->plan); };
    prepared.backward_needs_forward = true;
  }
  if (kernel().table.peak_bytes != nullptr) {
    prepared.more_peak_bytes = [run] { return run->plan.peak_bytes().value(); };
  }
  return prepared;
}

}  // namespace sparkbench
