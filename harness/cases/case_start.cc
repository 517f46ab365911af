#include "harness/cases/case_start.h"

#include <fmt/format.h>

#include <optional>
#include <string>

#include "harness/options/shell_word.h"
#include "results/record/case_id.h"
#include "sweeps/memory.h"
#include "sweeps/work.h"

namespace sparkbench {
namespace {

MemoryPrediction predict_memory(const Contender& contender, const SweepCase& sweep_case,
                                bool is_deterministic) {
  const CaseProblem& problem = sweep_case.problem;
  const Pass pass = problem.pass;
  if (contender.role == Role::kFused) return predict_fused_memory(pass, problem, is_deterministic);
  MemoryPrediction memory =
      predict_unfused_memory(pass, problem, sweep_case.kernel == "cublas-fp32" ? 4 : 2);
  if (sweep_case.kernel.starts_with("cublas-")) memory.workspace_bytes += kCublasWorkspaceBytes;
  return memory;
}

std::string repro_line(const SweepCase& sweep_case, const Device& device,
                       const RunSettings& settings) {
  const OwnTensors* own = settings.input.own.get();
  return fmt::format("sparkbench {} --device {} --kernel {}{} {} --seed {}{}",
                     own != nullptr ? "run" : "sweep", device.name(), sweep_case.kernel,
                     settings.is_deterministic ? " --deterministic" : "",
                     flags_of_problem(sweep_case.problem, own != nullptr), sweep_case.problem.seed,
                     own != nullptr ? " --tensors " + shell_word(own->path) : "");
}

void add_device_warnings(const Contender& contender, const DeviceInfo& device, CaseRecord& record) {
  if (device.kind == DeviceKind::kEmulated) {
    record.warnings.push_back({"W-EMULATED-NO-TIME",
                               "an emulated device computes errors and counts; it has no clock",
                               std::nullopt});
  } else if (contender.kernel != nullptr && !contender.kernel->is_native(*device.sm)) {
    record.valid = false;
    record.warnings.push_back(
        {"W-MMA884-EMULATED",
         "m8n8k4 runs on the CUDA cores from compute capability 8.0 on: this time says nothing "
         "about the kernel",
         std::nullopt});
  }
}

std::optional<Reason> why_skipped(const Contender& contender, const Device& device,
                                  const CaseRecord& record) {
  if (contender.kernel != nullptr) {
    if (const auto reason = contender.kernel->unsupported(record.problem)) {
      return Reason{"E-UNSUPPORTED", contender.name + " does not support " + *reason};
    }
    if (record.problem.pass != Pass::kForward && !contender.kernel->has_backward()) {
      return Reason{"E-UNSUPPORTED", contender.name + " has no backward pass"};
    }
  }
  const DeviceInfo& info = device.info();
  // The emulated machine and the CPU reference keep no scores: they need the tensors only.
  const std::uint64_t needed =
      info.kind == DeviceKind::kEmulated ? record.memory_bytes->io : record.memory_bytes->predicted;
  const std::optional<std::uint64_t> there_is =
      info.memory_available_bytes ? info.memory_available_bytes : info.memory_bytes;
  if (there_is && needed > *there_is) {
    return Reason{
        "E-OOM-PREDICTED",
        fmt::format("needs {:.1f} GiB, {} has {:.1f} GiB", static_cast<double>(needed) / (1 << 30),
                    device.name(), static_cast<double>(*there_is) / (1 << 30))};
  }
  return std::nullopt;
}

}  // namespace

CaseRecord start_record(const SweepCase& sweep_case, const Contender& contender,
                        const Device& device, const RunSettings& settings) {
  const CaseProblem& problem = sweep_case.problem;
  CaseRecord record;
  record.problem = problem;
  Method method = settings.method;
  if (settings.input.own == nullptr) {
    method.input = problem.input.value();
  } else {
    record.problem.input = method.input;
    record.problem.input_scale.reset();
  }
  record.id = make_case_id(sweep_case.kernel, record.problem);
  record.config_hash = make_config_hash(record.id, problem.seed, method);
  record.kernel = sweep_case.kernel;
  record.role = contender.role;
  record.accumulator = contender.accumulator;
  record.flops = useful_flops(problem.pass, problem);
  record.bytes = compulsory_bytes(problem.pass, problem);
  const MemoryPrediction memory =
      predict_memory(contender, sweep_case, settings.method.deterministic.value_or(false));
  record.memory_bytes =
      MemoryBytes{memory.io_bytes, memory.workspace_bytes, std::nullopt, memory.peak_bytes(),
                  predict_unfused_memory(problem.pass, problem, sizeof(Half)).peak_bytes()};
  record.repro = repro_line(sweep_case, device, settings);
  add_device_warnings(contender, device.info(), record);
  if (settings.input.own != nullptr) {
    const auto& warnings = settings.input.own->warnings;
    record.warnings.insert(record.warnings.end(), warnings.begin(), warnings.end());
  }
  record.device = device.name();
  if (auto reason = why_skipped(contender, device, record)) {
    record.status = Status::kSkipped;
    record.reason = std::move(reason);
  }
  return record;
}

}  // namespace sparkbench
