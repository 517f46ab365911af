#include "harness/devices/emulated_device.h"

#include <stdexcept>
#include <utility>

#include "harness/candidates/fused_kernel.h"
#include "harness/candidates/host_reference.h"
#include "harness/devices/host_memory.h"
#include "kernels/machine/emulated/tensor_core/chip_arithmetic.h"
#include "kernels/registry.h"

namespace sparkbench {
namespace {

/// Data of a chip that is emulated.
struct EmulatedChip {
  std::string_view device_name;
  std::string_view chip_name;
  int sm;
  int sm_count;  // NVIDIA's architecture white papers, also for L2 sizes
  std::uint64_t l2_bytes;
  std::size_t shared_bytes_per_block;  // CUDA programming guide, technical specifications
};

constexpr std::uint64_t kMiB = 1 << 20;
constexpr std::size_t kKiB = 1 << 10;

constexpr EmulatedChip kChips[] = {
    {"emulated-v100", "V100", 70, 80, 6 * kMiB, 96 * kKiB},
    {"emulated-t4", "T4", 75, 40, 4 * kMiB, 64 * kKiB},
    {"emulated-a100", "A100", 80, 108, 40 * kMiB, 163 * kKiB},
    {"emulated-h100", "H100", 90, 132, 50 * kMiB, 227 * kKiB},
};

constexpr double kEmulateFlops = kOracleFlops / 2;

/// The arithmetic of the kernels' instructions: "volta", or several.
std::string arithmetic_of_kernels(int sm) {
  std::string names;
  for (const AttentionKernel& kernel : attention_kernels()) {
    const ArithmeticProfile* const profile = instruction_profile(kernel.instruction, sm);
    if (profile == nullptr || names.find(profile->name) != std::string::npos) continue;
    names += (names.empty() ? "" : ", ") + std::string(profile->name);
  }
  return names;
}

class EmulatedProblem : public LoadedProblem {
 public:
  EmulatedProblem(const ProblemData& data, GradientData* gradients)
      : data_(data), gradients_(gradients) {}

  RunOutcome run(const Candidate& candidate, const RunOptions& options) override {
    return candidate.run_on_host({data_, gradients_, options});
  }

 private:
  const ProblemData& data_;
  GradientData* gradients_;
};

class EmulatedDevice : public Device {
 public:
  explicit EmulatedDevice(const EmulatedChip& chip) : name_(chip.device_name) {
    info_.name = chip.chip_name;
    info_.kind = DeviceKind::kEmulated;
    info_.arithmetic = arithmetic_of_kernels(chip.sm);
    info_.sm = chip.sm;
    info_.sm_count = chip.sm_count;
    info_.l2_bytes = chip.l2_bytes;
    info_.memory_bytes = host_memory_bytes();
    const KernelDevice device{chip.sm, chip.shared_bytes_per_block, true};
    candidates_.push_back(std::make_unique<HostReference>(chip.sm));
    for (const AttentionKernel& kernel : attention_kernels()) {
      candidates_.push_back(std::make_unique<FusedKernel>(kernel, device));
    }
  }

  const std::string& name() const override { return name_; }
  const DeviceInfo& info() const override { return info_; }
  Candidates candidates() const override { return candidates_; }
  void add_candidate(std::unique_ptr<const Candidate> candidate) override {
    candidates_.push_back(std::move(candidate));
  }
  CheckBudget check_budget() const override { return {kEmulateFlops, kOracleFlops}; }
  std::unique_ptr<LoadedProblem> load(const ProblemData& data, GradientData* gradients) override {
    return std::make_unique<EmulatedProblem>(data, gradients);
  }

 private:
  std::string name_;
  DeviceInfo info_;
  OwnedCandidates candidates_;
};

}  // namespace

std::string_view emulated_device_between(int first_sm, int last_sm) {
  for (const EmulatedChip& chip : kChips) {
    if (chip.sm >= first_sm && chip.sm <= last_sm) return chip.device_name;
  }
  return "";
}

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
