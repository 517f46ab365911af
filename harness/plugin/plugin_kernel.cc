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
        problem(work.problem, work.format, work.options.pass, work.options.is_deterministic,
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

/// A problem's tensors in the host's memory, in its layout, and a plan's passes over them. Inputs
/// are copies, so that a kernel cannot change what the oracle reads.
class HostRun {
 public:
  explicit HostRun(const HostWork& work)
      : work_(work),
        problem_(work.data.problem()),
        shapes_(problem_.lengths ? problem_.packed() : problem_),
        slices_(shapes_, work.data.layout()),
        has_backward_(work.options.pass != Pass::kForward),
        qkv_(buffers_of(slices_, words(work.data.inputs().q), words(work.data.inputs().k),
                        words(work.data.inputs().v))) {
    if (!has_backward_) return;
    d_o_.resize(elements_of(slices_.o.shape));
    store_rows(words(work.gradients->d_o()), slices_.o.in(d_o_.data()), slices_.o.shape);
  }

  /// All outputs, from poisoned memory.
  PassOutputs compute(const PluginPlan& plan) {
    Buffers outputs = poisoned();
    sparkbench_tensors tensors = tensors_with(outputs);
    if (plan.has_own_outputs()) {
      take_outputs_away(tensors);
      poison(outputs_of(plan));
    }
    plan.forward(tensors);
    if (has_backward_) plan.backward(tensors);
    if (plan.has_own_outputs()) copy(outputs_of(plan), outputs);
    find_violations(outputs);
    return contiguous(outputs);
  }

  /// What the passes wrote besides their outputs: "its input k"; empty if nothing.
  const std::string& violation() const { return violation_; }

 private:
  /// The outputs, each with elements behind it that nobody may write.
  struct Buffers {
    std::vector<Half> o;
    std::vector<float> lse;
    std::vector<std::vector<Half>> gradients;  // dQ, dK and dV as the slices say
  };
  static constexpr std::size_t kGuard = 64;
  static constexpr float kPoisonFloat = std::numeric_limits<float>::quiet_NaN();

  std::vector<Half> words(std::span<const Half> kept) const {
    return as_kernel_has(work_.data.element(), kept);
  }

  Buffers poisoned() const {
    Buffers buffers;
    buffers.o.assign(elements_of(slices_.o.shape) + kGuard, kPoison);
    buffers.lse.assign(problem_.lse_elements() + kGuard, kPoisonFloat);
    if (!has_backward_) return buffers;
    for (const std::size_t elements : slices_.elements) {
      buffers.gradients.emplace_back(elements + kGuard, kPoison);
    }
    return buffers;
  }

  static TensorView<Half> view_of(const TensorSlice& slice,
                                  std::vector<std::vector<Half>>& buffers) {
    return slice.in(buffers[slice.buffer].data());
  }
  static std::vector<Half> contiguous(const TensorSlice& slice, const std::vector<Half>& memory) {
    return contiguous_copy(slice.in(memory.data()), slice.shape);
  }

  void find_violations(const Buffers& outputs) {
    const auto check_input = [&](const char* name, const TensorSlice& slice,
                                 const std::vector<Half>& memory, std::span<const Half> kept) {
      if (same_bits(contiguous(slice, memory), words(kept))) return;
      violation_ = fmt::format("its input {}", name);
    };
    const ForwardInputs inputs = work_.data.inputs();
    check_input("q", slices_.q, qkv_[slices_.q.buffer], inputs.q);
    check_input("k", slices_.k, qkv_[slices_.k.buffer], inputs.k);
    check_input("v", slices_.v, qkv_[slices_.v.buffer], inputs.v);
    if (has_backward_) check_input("d_o", slices_.o, d_o_, work_.gradients->d_o());
    const auto check_guard = [&](const char* name, const auto& memory, const auto& poison) {
      for (auto guard = memory.end() - kGuard; guard != memory.end(); ++guard) {
        if (bits_of(*guard) == bits_of(poison)) continue;
        violation_ = fmt::format("memory behind {}", name);
      }
    };
    check_guard("o", outputs.o, kPoison);
    check_guard("lse", outputs.lse, kPoisonFloat);
    if (!has_backward_) return;
    check_guard("dq", outputs.gradients[slices_.q.buffer], kPoison);
    check_guard("dk", outputs.gradients[slices_.k.buffer], kPoison);
    check_guard("dv", outputs.gradients[slices_.v.buffer], kPoison);
  }

  void poison(const OwnOutputs& own) const {
    const auto fill = [](const TensorView<Half>& view, const TensorShape& shape) {
      if (view.data == nullptr) return;
      for_each_row(shape, [&](int b, int s, int h) {
        std::fill_n(view.row(b, s, h), shape.head_dim, kPoison);
      });
    };
    fill(own.o, slices_.o.shape);
    fill(own.dq, slices_.q.shape);
    fill(own.dk, slices_.k.shape);
    fill(own.dv, slices_.v.shape);
    if (own.lse != nullptr) std::fill_n(own.lse, problem_.lse_elements(), kPoisonFloat);
  }

  void copy(const OwnOutputs& own, Buffers& outputs) const {
    const auto take = [](const TensorView<Half>& view, const TensorSlice& slice,
                         std::vector<Half>& memory) {
      if (view.data == nullptr) return;
      store_rows(contiguous_copy(view, slice.shape), slice.in(memory.data()), slice.shape);
    };
    take(own.o, slices_.o, outputs.o);
    if (own.lse != nullptr) {
      std::copy_n(own.lse, problem_.lse_elements(), outputs.lse.begin());
    }
    if (!has_backward_) return;
    take(own.dq, slices_.q, outputs.gradients[slices_.q.buffer]);
    take(own.dk, slices_.k, outputs.gradients[slices_.k.buffer]);
    take(own.dv, slices_.v, outputs.gradients[slices_.v.buffer]);
  }

  sparkbench_tensors tensors_with(Buffers& outputs) {
    const ForwardTensors forward = {view_of(slices_.q, qkv_), view_of(slices_.k, qkv_),
                                    view_of(slices_.v, qkv_), slices_.o.in(outputs.o.data()),
                                    outputs.lse.data()};
    const PackedLengths lengths =
        problem_.lengths ? packed_lengths(problem_) : PackedLengths{0, nullptr, nullptr};
    if (!has_backward_) return plugin_tensors(forward, BackwardTensors{}, lengths);
    return plugin_tensors(
        forward,
        {forward.q, forward.k, forward.v, forward.o, slices_.o.in(d_o_.data()), forward.lse,
         view_of(slices_.q, outputs.gradients), view_of(slices_.k, outputs.gradients),
         view_of(slices_.v, outputs.gradients)},
        lengths);
  }

  PassOutputs contiguous(Buffers& buffers) const {
    PassOutputs outputs;
    outputs.o = contiguous(slices_.o, buffers.o);
    buffers.lse.resize(buffers.lse.size() - kGuard);
    outputs.lse = std::move(buffers.lse);
    if (!has_backward_) return outputs;
    outputs.dq = contiguous(slices_.q, buffers.gradients[slices_.q.buffer]);
    outputs.dk = contiguous(slices_.k, buffers.gradients[slices_.k.buffer]);
    outputs.dv = contiguous(slices_.v, buffers.gradients[slices_.v.buffer]);
    return outputs;
  }

  const HostWork& work_;
  const Problem& problem_;
  Problem shapes_;
  TensorSlices slices_;
  bool has_backward_;
  std::vector<std::vector<Half>> qkv_;
  std::vector<Half> d_o_;
  std::string violation_;
};

}  // namespace

std::uint64_t PluginKernel::workspace_of(const Problem& problem, const TensorFormat& format,
                                         Pass pass, bool is_deterministic) const {
  if (!supports_problem(problem, format, pass, nullptr)) return 0;
  const PluginProblem asked(problem, format, pass, is_deterministic, device());
  return ask_workspace(kernel().table, asked);
}

RunOutcome PluginKernel::run_on_host(const HostWork& work) const {
  const Problem& problem = work.data.problem();
  const Pass pass = work.options.pass;
  const ElementType element = work.data.element();
  const PluginProblem asked(problem, {element, work.data.layout()}, pass,
                            work.options.is_deterministic, device());
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
