// A plug-in's kernel prepared for a problem: its calls, whose statuses become exceptions.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "harness/plugin/kernel_library.h"
#include "harness/plugin/plugin_problem.h"

namespace sparkbench {

constexpr unsigned char kPluginPoison = 0xff;  // of every byte: a NaN in fp16, bf16 and fp32

/// Text from the plug-in, for a record.
std::string words_of(const char* text);

/// Aligned to 256 bytes, and poisoned: a kernel must not count on what its memory holds. Null for
/// no bytes.
std::shared_ptr<void> poisoned_host_memory(std::size_t bytes);

/// How much workspace the kernel asks for.
std::size_t ask_workspace(const sparkbench_kernel& table, const PluginProblem& problem);

/// Destroyed with this object. A call that fails throws UnsupportedError, OutOfDeviceMemory or
/// std::runtime_error, by its status and with the kernel's own words.
class PluginPlan {
 public:
  /// The kernel and the problem must outlive it.
  PluginPlan(const CheckedKernel& kernel, const PluginProblem& problem, void* workspace,
             void* stream);
  ~PluginPlan();
  PluginPlan(const PluginPlan&) = delete;
  PluginPlan& operator=(const PluginPlan&) = delete;

  void forward(const sparkbench_tensors& tensors) const;
  void backward(const sparkbench_tensors& tensors) const;
  /// Beyond tensors and workspace; nothing if the kernel does not say.
  std::optional<std::uint64_t> peak_bytes() const;
  double seconds() const { return seconds_; }  // that prepare() took
  bool has_own_outputs() const { return kernel_.table.outputs != nullptr; }
  /// Fills in where the last passes left them. For a kernel with own outputs.
  void outputs(sparkbench_tensors& tensors) const;

 private:
  const CheckedKernel& kernel_;
  void* stream_;
  void* plan_ = nullptr;
  double seconds_ = 0;
};

}  // namespace sparkbench
