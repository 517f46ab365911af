#include "harness/candidates/fused_kernel.h"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>
#include <utility>
#include <vector>

#include "harness/candidates/pattern_plan.h"
#include "harness/devices/chip_arithmetic.h"
#include "harness/devices/emulated_device.h"
#include "harness/devices/emulated_pass.h"
#include "kernels/block_sparse/pattern_lists.h"
#include "kernels/jit/device_sights.h"
#include "kernels/launch/prepared_chain.h"

namespace sparkbench {

FusedKernel::FusedKernel(const AttentionKernel& kernel, const KernelDevice& device)
    : Candidate({kernel.name, kernel.summary, CandidateKind::kKernel, kernel.accumulator}),
      kernel_(kernel),
      device_(device) {}

bool FusedKernel::runs_unnamed() const {
  return !kernel_.is_baseline && instruction_profile(kernel_.instruction, device_.sm) != nullptr;
}

Support FusedKernel::supports(const Problem& problem, Pass pass) const {
  if (instruction_profile(kernel_.instruction, device_.sm) == nullptr) {
    const MmaInstructionTraits traits = traits_of(kernel_.instruction);
    return {
        fmt::format("{} needs {}, which compute capability {}.{} does not have; --device {} has",
                    kernel_.name, traits.name, device_.sm / 10, device_.sm % 10,
                    emulated_device_between(traits.first_sm, traits.last_sm))};
  }
  if (problem.lengths && kernel_.packed.supports == nullptr) {
    return {fmt::format("{} does not support sequences of several lengths", kernel_.name)};
  }
  const bool is_chain = kernel_.chain.prepare != nullptr;
  const Support support = problem.lengths ? kernel_.packed.supports(problem.packed(), device_)
                                          : kernel_.supports(problem, device_);
  if (!support) return {fmt::format("{} does not support {}", kernel_.name, support.why_not)};
  if (!device_.is_emulated && !is_chain && kernel_.forward.launch == nullptr) {
    return {fmt::format("{} runs on emulated devices only", kernel_.name)};
  }
  if (problem.sparse && !device_.is_emulated && !is_chain &&
      kernel_.sparse.launch_forward == nullptr) {
    return {fmt::format("{} runs patterns on emulated devices only", kernel_.name)};
  }
  if (pass != Pass::kForward && !kernel_.has_backward()) {
    return {fmt::format("{} has no backward pass", kernel_.name)};
  }
  return {};
}

std::uint64_t FusedKernel::workspace_bytes(const Problem& problem, Pass pass,
                                           bool is_deterministic) const {
  if (!problem.lengths) return kernel_.workspace_bytes(problem, pass, is_deterministic);
  if (kernel_.packed.workspace_bytes == nullptr) return 0;  // for an unsupported pass
  const auto of = [&](Pass each) {
    return kernel_.packed.workspace_bytes(problem.packed(), problem.batch, each, is_deterministic);
  };
  if (pass != Pass::kForwardBackward) return of(pass);
  return std::max(of(Pass::kForward), of(Pass::kBackward));  // one after the other
}

const ArithmeticProfile& FusedKernel::arithmetic() const {
  const ArithmeticProfile* const profile = instruction_profile(kernel_.instruction, device_.sm);
  if (profile == nullptr) throw std::logic_error(name() + " does not run on this device");
  return *profile;
}

EmulationOptions FusedKernel::emulation_options() const {
  return {.profile = &arithmetic(), .shared_bytes_per_block = device_.shared_bytes_per_block};
}

std::optional<Warning> FusedKernel::why_time_is_invalid() const {
  const MmaInstructionTraits traits = traits_of(kernel_.instruction);
  if (device_.sm <= traits.last_sm) return std::nullopt;
  const int next_sm = traits.last_sm + 1;
  return Warning{std::string(traits.warning_code),
                 fmt::format("{} runs on the CUDA cores from compute capability {}.{} on: this "
                             "time says nothing about the kernel",
                             traits.name, next_sm / 10, next_sm % 10),
                 std::nullopt};
}

bool FusedKernel::add_mask_plan(const Problem& problem, MaskWork& work) const {
  if (!problem.sparse || device_.is_emulated) {
    if (!add_pattern_plan(kernel_, problem, work)) return false;
    work.why_no_jit = "an emulated device runs no code that a compiler makes for it";
    return true;
  }
  Problem seen = problem;
  const SightedMask sighted = with_device_sights(problem.sparse);
  seen.sparse = sighted.mask;
  if (!add_pattern_plan(kernel_, seen, work)) return false;
  const JitReport& report = sighted.report;
  if (!report.is_used) {
    work.why_no_jit = report.why_not;
    return true;
  }
  work.jit_first_call_ms = report.first_call_ms;
  work.jit_code_from = report.is_from_disk ? "disk" : "nvrtc";
  return true;
}

RunOutcome FusedKernel::run_on_host(const HostWork& work) const {
  return emulate_pass(kernel_, emulation_options(), work);
}

/// Uses one workspace for both passes, which run one after the other.
Prepared FusedKernel::prepare_packed(const GpuWork& work) const {
  const AttentionKernel& kernel = kernel_;
  const bool is_deterministic = work.options.is_deterministic;
  const Pass pass = work.options.pass == Pass::kForward ? Pass::kForward : Pass::kForwardBackward;
  Prepared prepared;
  prepared.workspace_bytes = workspace_bytes(work.problem, pass, is_deterministic);
  const std::shared_ptr<void> workspace = work.allocate(prepared.workspace_bytes);
  const Problem packed = work.problem.packed();
  prepared.forward = [&kernel, packed, lengths = work.lengths, tensors = work.forward, workspace,
                      stream = work.stream] {
    kernel.packed.launch_forward(packed, lengths, tensors, workspace.get(), stream);
  };
  if (pass == Pass::kForward) return prepared;
  prepared.backward = [&kernel, packed, lengths = work.lengths, tensors = work.backward, workspace,
                       is_deterministic, stream = work.stream] {
    kernel.packed.launch_backward(packed, lengths, tensors, workspace.get(), is_deterministic,
                                  stream);
  };
  return prepared;
}

/// Builds and copies a pattern's block lists here, outside the timed pass: they depend only on the
/// pattern and its lengths. Both passes use one workspace.
Prepared FusedKernel::prepare_sparse(const GpuWork& work) const {
  const AttentionKernel& kernel = kernel_;
  const Problem& problem = work.problem;
  const bool is_deterministic = work.options.is_deterministic;
  Problem seen = problem;
  seen.sparse = with_device_sights(problem.sparse).mask;
  const auto upload = [&](Pass pass) {
    const auto lists =
        std::make_shared<const PatternLists>(kernel.sparse.lists(seen, pass, is_deterministic));
    std::vector<std::byte> bytes(lists->bytes());
    lists->write(bytes.data());
    return std::pair(lists, work.upload(bytes));
  };
  const Pass pass = work.options.pass == Pass::kForward ? Pass::kForward : Pass::kForwardBackward;
  const std::uint64_t of_pass = kernel.workspace_bytes(seen, pass, is_deterministic);
  const std::shared_ptr<void> workspace = work.allocate(of_pass);
  Prepared prepared;
  const auto [forward_lists, forward_memory] = upload(Pass::kForward);
  prepared.workspace_bytes = of_pass + forward_lists->bytes();
  prepared.forward = [&kernel, &problem, tensors = work.forward, workspace, lists = forward_lists,
                      memory = forward_memory, stream = work.stream] {
    kernel.sparse.launch_forward(problem, tensors, workspace.get(), *lists, memory.get(), stream);
  };
  if (pass == Pass::kForward) return prepared;
  const auto [backward_lists, backward_memory] = upload(Pass::kBackward);
  prepared.workspace_bytes += backward_lists->bytes();
  prepared.backward = [&kernel, &problem, tensors = work.backward, workspace,
                       lists = backward_lists, memory = backward_memory, is_deterministic,
                       stream = work.stream] {
    kernel.sparse.launch_backward(problem, tensors, workspace.get(), *lists, memory.get(),
                                  is_deterministic, stream);
  };
  return prepared;
}

/// Builds and copies the mask's rows here, outside the timed pass, like a pattern's lists.
Prepared FusedKernel::prepare_chain(const GpuWork& work) const {
  const Pass pass = work.options.pass;
  const std::shared_ptr<const PreparedChain> chain = kernel_.chain.prepare(work.problem, pass);
  const std::vector<std::byte> tables = chain->tables();
  Prepared prepared;
  prepared.workspace_bytes = chain->kept_bytes() + tables.size();
  const std::shared_ptr<void> kept = work.allocate(chain->kept_bytes());
  const std::shared_ptr<void> memory = work.upload(tables);
  prepared.forward = [chain, tensors = work.forward, kept, memory, stream = work.stream] {
    chain->launch_forward(tensors, kept.get(), memory.get(), stream);
  };
  if (pass == Pass::kForward) return prepared;
  prepared.backward = [chain, tensors = work.backward, kept, memory, stream = work.stream] {
    chain->launch_backward(tensors, kept.get(), memory.get(), stream);
  };
  return prepared;
}

Prepared FusedKernel::prepare(const GpuWork& work) const {
  if (kernel_.chain.prepare != nullptr) return prepare_chain(work);
  if (work.problem.lengths) return prepare_packed(work);
  if (work.problem.sparse) return prepare_sparse(work);
  Prepared prepared;
  const AttentionKernel& kernel = kernel_;
  const Problem& problem = work.problem;
  prepared.forward = [&kernel, &problem, tensors = work.forward, stream = work.stream] {
    kernel.forward.launch(problem, tensors, stream);
  };
  if (work.options.pass == Pass::kForward) return prepared;
  const bool is_deterministic = work.options.is_deterministic;
  prepared.workspace_bytes = kernel.workspace_bytes(problem, work.options.pass, is_deterministic);
  const std::shared_ptr<void> workspace = work.allocate(prepared.workspace_bytes);
  prepared.backward = [&kernel, &problem, tensors = work.backward, workspace, is_deterministic,
                       stream = work.stream] {
    kernel.backward.launch(problem, tensors, workspace.get(), is_deterministic, stream);
  };
  return prepared;
}

}  // namespace sparkbench
