#include "harness/devices/emulated_device.h"

#include <unistd.h>

#include <cstring>
#include <limits>
#include <stdexcept>
#include <utility>

#include "kernels/machine/emulated/tensor_core/arithmetic_profile.h"
#include "reference/unfused/unfused.h"
#include "reference/unfused/unfused_backward.h"

namespace sparkbench {
namespace {

/// What is known of a chip without having one.
struct EmulatedChip {
  std::string_view device_name;
  std::string_view chip_name;
  int sm;
  int sm_count;  // NVIDIA's architecture white papers, as are the L2 sizes
  std::uint64_t l2_bytes;
  std::string_view m8n8k4;        // profile of the Volta kernels' instruction on it
  std::string_view tensor_cores;  // profile of its tensor cores' own
};

constexpr std::uint64_t kMiB = 1 << 20;

constexpr EmulatedChip kChips[] = {
    {"emulated-v100", "V100", 70, 80, 6 * kMiB, "volta", "volta"},
    {"emulated-t4", "T4", 75, 40, 4 * kMiB, "turing", "turing"},
    {"emulated-a100", "A100", 80, 108, 40 * kMiB, "fma884", "ampere"},
    {"emulated-h100", "H100", 90, 132, 50 * kMiB, "fma884", "hopper"},
};

/// FLOPs of one case, so that a preset of a hundred cases ends in minutes on two cores.
constexpr double kEmulateFlops = 1 << 29;
constexpr double kOracleFlops = 1 << 30;
constexpr int kRowsPerTile = 128;

constexpr Half kPoison{0x7e5a};  // a NaN that no kernel computes

std::uint64_t host_memory_bytes() {
  return static_cast<std::uint64_t>(sysconf(_SC_PHYS_PAGES)) *
         static_cast<std::uint64_t>(sysconf(_SC_PAGE_SIZE));
}

class EmulatedProblem : public LoadedProblem {
 public:
  EmulatedProblem(const ProblemData& data, GradientData* gradients, const EmulatedChip& chip)
      : data_(data), gradients_(gradients), chip_(chip) {}

  RunOutcome run(const Contender& contender, const RunOptions& options) override {
    RunOutcome outcome;
    if (contender.kernel == nullptr) {
      run_unfused(options.pass, outcome);
    } else {
      run_kernel(*contender.kernel, options, outcome);
    }
    return outcome;
  }

 private:
  void run_unfused(Pass pass, RunOutcome& outcome) const {
    const TensorCores tensor_cores{arithmetic_profile(chip_.tensor_cores)};
    if (pass != Pass::kBackward) {
      outcome.rows =
          unfused_fp16_forward(data_.problem(), data_.inputs(), data_.plan().rows, tensor_cores);
    }
    if (pass != Pass::kForward) {
      outcome.gradients = unfused_fp16_backward(data_.problem(), gradients_->inputs(),
                                                gradients_->plan().rows, tensor_cores);
    }
  }

  void run_kernel(const AttentionKernel& kernel, const RunOptions& options,
                  RunOutcome& outcome) const {
    EmulationReport& report = outcome.emulation.emplace();
    PassOutputs outputs;
    if (options.pass != Pass::kBackward) {
      run_forward(kernel, outputs, report);
      outcome.rows = gather_rows(data_.problem(), outputs.o, outputs.lse, data_.plan().rows);
    } else if (options.keeps_outputs) {
      EmulationReport of_another_pass;
      run_forward(kernel, outputs, of_another_pass);
    }
    if (options.pass != Pass::kForward) {
      run_backward(kernel, options, outputs, report);
      outcome.gradients = gather_gradients(data_.problem(), {outputs.dq, outputs.dk, outputs.dv},
                                           gradients_->plan().rows);
    }
    if (options.keeps_outputs) outcome.outputs = std::move(outputs);
  }

  /// The plan's tiles; other rows are poison.
  void run_forward(const AttentionKernel& kernel, PassOutputs& outputs,
                   EmulationReport& report) const {
    const Problem& problem = data_.problem();
    outputs.o.assign(problem.q_elements(), kPoison);
    outputs.lse.assign(problem.lse_elements(), std::numeric_limits<float>::quiet_NaN());
    const ForwardInputs inputs = data_.inputs();
    add_report(report,
               kernel.forward.emulate(
                   problem,
                   contiguous_tensors(problem, inputs.q.data(), inputs.k.data(), inputs.v.data(),
                                      outputs.o.data(), outputs.lse.data()),
                   {.profile = &arithmetic_profile(chip_.m8n8k4)}, data_.plan().tiles));
  }

  /// Starts from the exact O and LSE, or, when outputs are kept, from the kernel's, which are
  /// whole.
  void run_backward(const AttentionKernel& kernel, const RunOptions& options, PassOutputs& outputs,
                    EmulationReport& report) const {
    const Problem& problem = data_.problem();
    outputs.dq.assign(problem.q_elements(), kPoison);
    outputs.dk.assign(problem.k_elements(), kPoison);
    outputs.dv.assign(problem.k_elements(), kPoison);
    BackwardInputs inputs = gradients_->inputs();
    if (options.keeps_outputs) {
      inputs.o = outputs.o;
      inputs.lse = outputs.lse;
    }
    add_report(report,
               kernel.backward.emulate(
                   problem,
                   contiguous_tensors(problem, inputs.q.data(), inputs.k.data(), inputs.v.data(),
                                      inputs.o.data(), inputs.d_o.data(), inputs.lse.data(),
                                      outputs.dq.data(), outputs.dk.data(), outputs.dv.data()),
                   {.profile = &arithmetic_profile(chip_.m8n8k4)}, options.is_deterministic,
                   gradients_->plan().sample));
  }

  const ProblemData& data_;
  GradientData* gradients_;
  const EmulatedChip& chip_;
};

class EmulatedDevice : public Device {
 public:
  explicit EmulatedDevice(const EmulatedChip& chip) : name_(chip.device_name), chip_(chip) {
    info_.name = chip.chip_name;
    info_.kind = DeviceKind::kEmulated;
    info_.arithmetic = chip.m8n8k4;
    info_.sm = chip.sm;
    info_.sm_count = chip.sm_count;
    info_.l2_bytes = chip.l2_bytes;
    info_.memory_bytes = host_memory_bytes();
    contenders_.push_back({"unfused-fp16",
                           "matmul, masked softmax, dropout, matmul, all intermediates fp16",
                           Role::kReference, Accumulator::kFp32, nullptr});
    for (const AttentionKernel& kernel : attention_kernels()) {
      contenders_.push_back({std::string(kernel.name), std::string(kernel.summary), Role::kFused,
                             kernel.accumulator, &kernel});
    }
  }

  const std::string& name() const override { return name_; }
  const DeviceInfo& info() const override { return info_; }
  std::span<const Contender> contenders() const override { return contenders_; }
  const ArithmeticProfile& arithmetic_of(const Contender& contender) const override {
    return arithmetic_profile(contender.kernel != nullptr ? chip_.m8n8k4 : chip_.tensor_cores);
  }
  CheckBudget check_budget() const override { return {kRowsPerTile, kEmulateFlops, kOracleFlops}; }
  std::unique_ptr<LoadedProblem> load(const ProblemData& data, GradientData* gradients) override {
    return std::make_unique<EmulatedProblem>(data, gradients, chip_);
  }

 private:
  std::string name_;
  const EmulatedChip& chip_;
  DeviceInfo info_;
  std::vector<Contender> contenders_;
};

}  // namespace

std::vector<std::string> emulated_device_names() {
  std::vector<std::string> names;
  for (const EmulatedChip& chip : kChips) names.emplace_back(chip.device_name);
  return names;
}

std::unique_ptr<Device> open_emulated_device(std::string_view name) {
  for (const EmulatedChip& chip : kChips) {
    if (chip.device_name == name) return std::make_unique<EmulatedDevice>(chip);
  }
  throw std::invalid_argument("no emulated device is called " + std::string(name));
}

}  // namespace sparkbench
