#include "harness/emulated_device.h"

#include <unistd.h>

#include <cstring>
#include <limits>
#include <stdexcept>
#include <utility>

#include "kernels/machine/emulated/tensor_core/arithmetic_profile.h"
#include "reference/unfused.h"

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
  EmulatedProblem(const ProblemData& data, const EmulatedChip& chip) : data_(data), chip_(chip) {}

  RunOutcome run(const Contender& contender, const TimingOptions& /*timing*/) override {
    return contender.kernel != nullptr ? run_kernel(*contender.kernel) : run_unfused();
  }

 private:
  RunOutcome run_unfused() const {
    RunOutcome outcome;
    outcome.rows = unfused_fp16_forward(data_.problem(), data_.inputs(), data_.plan().rows,
                                        {arithmetic_profile(chip_.tensor_cores)});
    return outcome;
  }

  RunOutcome run_kernel(const AttentionKernel& kernel) {
    const Problem& problem = data_.problem();
    o_.assign(problem.q_elements(), kPoison);
    lse_.assign(problem.lse_elements(), std::numeric_limits<float>::quiet_NaN());
    const ForwardInputs inputs = data_.inputs();
    RunOutcome outcome;
    outcome.emulation = kernel.emulate(
        problem, {inputs.q.data(), inputs.k.data(), inputs.v.data(), o_.data(), lse_.data()},
        {.profile = &arithmetic_profile(chip_.m8n8k4)}, data_.plan().tiles);
    outcome.rows = gather_rows(problem, o_, lse_, data_.plan().rows);
    return outcome;
  }

  const ProblemData& data_;
  const EmulatedChip& chip_;
  std::vector<Half> o_;
  std::vector<float> lse_;
};

class EmulatedDevice : public Device {
 public:
  explicit EmulatedDevice(const EmulatedChip& chip) : name_(chip.device_name), chip_(chip) {
    info_.name = std::string(chip.chip_name) + " (emulated)";
    info_.kind = DeviceKind::kEmulated;
    info_.arithmetic = chip.m8n8k4;
    info_.sm = chip.sm;
    info_.sm_count = chip.sm_count;
    info_.l2_bytes = chip.l2_bytes;
    info_.memory_bytes = host_memory_bytes();
    for (const AttentionKernel& kernel : attention_kernels()) {
      contenders_.push_back({std::string(kernel.name), std::string(kernel.summary), Role::kFused,
                             kernel.accumulator, &kernel});
    }
    contenders_.push_back({"unfused-fp16",
                           "matmul, masked softmax, dropout, matmul, all intermediates fp16",
                           Role::kReference, Accumulator::kFp32, nullptr});
  }

  const std::string& name() const override { return name_; }
  const DeviceInfo& info() const override { return info_; }
  std::span<const Contender> contenders() const override { return contenders_; }
  const ArithmeticProfile& tensor_cores() const override {
    return arithmetic_profile(chip_.tensor_cores);
  }
  CheckBudget check_budget() const override { return {kRowsPerTile, kEmulateFlops, kOracleFlops}; }
  std::unique_ptr<LoadedProblem> load(const ProblemData& data) override {
    return std::make_unique<EmulatedProblem>(data, chip_);
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
