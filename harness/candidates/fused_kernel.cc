#include "harness/candidates/fused_kernel.h"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>
#include <utility>
#include <vector>

#include "harness/candidates/pattern_plan.h"
#include "harness/devices/emulated_device.h"
#include "harness/devices/emulated_pass.h"
#include "kernels/base/saturating.h"
#include "kernels/block_sparse/pattern_lists.h"
#include "kernels/jit/device_sights.h"
#include "kernels/launch/run_gpu.h"
#include "kernels/machine/emulated/tensor_core/chip_arithmetic.h"
#include "kernels/strided/kernel_passes.h"

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
  const Support support = kernel_.supports(problem.lengths ? problem.packed() : problem, device_,
                                           problem.lengths != nullptr);
  if (!support) return {fmt::format("{} does not support {}", kernel_.name, support.why_not)};
  if (!device_.is_emulated && !kernel_.has_gpu_code) {
    return {fmt::format("{} runs on emulated devices only", kernel_.name)};
  }
  if (pass != Pass::kForward && !kernel_.has_backward()) {
    return {fmt::format("{} has no backward pass", kernel_.name)};
  }
  return {};
}

std::uint64_t FusedKernel::workspace_bytes(const Problem& problem, Pass pass,
                                           bool is_deterministic) const {
  if (kernel_.tables == nullptr) return plan_bytes(problem, pass, is_deterministic, nullptr);
  if (!supports(problem, pass)) return 0;  // it is not computed
  const std::shared_ptr<const MaskTables> tables = kernel_.tables(problem, pass);
  return saturating_sum(
      {plan_bytes(problem, pass, is_deterministic, tables.get()), tables->bytes().size()});
}

std::uint64_t FusedKernel::plan_bytes(const Problem& problem, Pass pass, bool is_deterministic,
                                      const MaskTables* tables) const {
  return problem.lengths
             ? packed_workspace_bytes(kernel_, problem.packed(), problem.batch, pass,
                                      is_deterministic)
             : sparkbench::workspace_bytes(kernel_, problem, pass, is_deterministic, tables);
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

/// Plans the passes here, outside the timed pass: they run one after the other and share a
/// workspace. A pattern's block lists, or a mask's tables, are built and copied, too.
Prepared FusedKernel::prepare(const GpuWork& work) const {
  const bool is_deterministic = work.options.is_deterministic;
  const bool is_forward = work.options.pass == Pass::kForward;
  const Problem problem = work.problem.lengths ? work.problem.packed() : work.problem;
  Problem seen = work.problem;
  const bool has_lists = seen.sparse && kernel_.listed_instances != nullptr;
  if (has_lists) seen.sparse = with_device_sights(seen.sparse).mask;
  const Pass passes = is_forward ? Pass::kForward : Pass::kForwardBackward;
  std::shared_ptr<const MaskTables> tables;
  if (kernel_.tables != nullptr) tables = kernel_.tables(problem, passes);
  Prepared prepared;
  prepared.workspace_bytes = plan_bytes(seen, passes, is_deterministic, tables.get());
  const std::shared_ptr<void> workspace = work.allocate(prepared.workspace_bytes);
  std::shared_ptr<void> table_memory;
  if (tables != nullptr) {
    const std::vector<std::byte> bytes = tables->bytes();
    table_memory = work.upload(bytes);
    prepared.workspace_bytes += bytes.size();
  }
  const auto plan = [&](PlanRequest request, Pass pass) {
    std::vector<std::shared_ptr<const void>> kept{workspace, table_memory};
    request.tables = tables.get();
    request.table_memory = table_memory.get();
    if (work.problem.lengths) request.lengths = &work.lengths;
    if (has_lists) {
      const auto lists =
          std::make_shared<const PatternLists>(sparse_lists(kernel_, seen, pass, is_deterministic));
      std::vector<std::byte> bytes(lists->bytes());
      lists->write(bytes.data());
      const std::shared_ptr<void> memory = work.upload(bytes);
      prepared.workspace_bytes += bytes.size();
      request.lists = lists.get();
      request.list_memory = memory.get();
      kept.insert(kept.end(), {lists, memory});
    }
    return [plan = plan_on_gpu(kernel_, request, workspace.get()), kept = std::move(kept),
            stream = work.stream] { run_on_stream(plan, stream); };
  };
  prepared.backward_needs_forward = tables != nullptr;  // it keeps P
  prepared.forward = plan(forward_request(problem, work.forward), Pass::kForward);
  if (is_forward) return prepared;
  prepared.backward =
      plan(backward_request(problem, work.backward, is_deterministic), Pass::kBackward);
  return prepared;
}

}  // namespace sparkbench
