// What candidates from outside have in common, whether they compute attention (plugin_kernel.h) or
// encoder layers (plugin_layer.h).
#pragma once

#include <optional>

#include "harness/candidates/candidate.h"
#include "harness/plugin/kernel_library.h"
#include "harness/plugin/plugin_problem.h"

namespace sparkbench {

class PluginCandidate : public Candidate {
 public:
  /// On the GPU with CUDA's number `index` or, without one, on an emulated device, which stands for
  /// the host. `is_deterministic`: what the cases' backward passes must be.
  PluginCandidate(CheckedKernel kernel, const DeviceInfo& device, std::optional<int> index,
                  bool is_deterministic);

  std::string flag_item() const override { return kernel_.spec; }
  std::string_view program() const override {
    const bool is_python = kernel_.file_name.empty() || kernel_.file_name.ends_with(".py");
    return is_python ? "python -m sparkbench" : "sparkbench";
  }
  /// That of the device's tensor cores, for the unfused computation that sets its tolerance.
  const ArithmeticProfile& arithmetic() const override;
  /// Its version, if known, by its name, and the hash of its file by the file's name.
  Libraries libraries() const override;
  bool draws_own_dropout_mask() const override { return kernel_.table.draws_own_dropout != 0; }
  bool writes_lse() const override { return kernel_.table.has_no_lse == 0; }
  bool computes_samples() const override { return false; }

  const CheckedKernel& kernel() const { return kernel_; }

 protected:
  /// Also asks the kernel. `layer` is null for attention.
  Support supports_problem(const Problem& problem, const TensorFormat& format, Pass pass,
                           const LayerShape* layer) const;
  /// Whether its table names this type of tensors.
  bool takes(ElementType element) const;
  const PluginDevice& device() const { return device_; }

 private:
  CheckedKernel kernel_;
  int sm_;
  PluginDevice device_;
  bool is_deterministic_;
};

}  // namespace sparkbench
