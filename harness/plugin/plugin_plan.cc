#include "harness/plugin/plugin_plan.h"

#include <fmt/format.h>

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <new>
#include <stdexcept>

#include "kernels/base/unsupported_error.h"
#include "kernels/machine/out_of_device_memory.h"
#include "results/record/safe_text.h"

namespace sparkbench {
namespace {

constexpr std::size_t kAlignment = 256;

/// Throws for any status but OK.
void check(const CheckedKernel& kernel, const char* call, int32_t status) {
  if (status == SPARKBENCH_OK) return;
  const char* const why = kernel.table.last_error != nullptr ? kernel.table.last_error() : nullptr;
  const std::string words = why != nullptr && *why != '\0' ? words_of(why) : "it does not say why";
  const std::string text = fmt::format("{}: {}: {}", kernel.name, call, words);
  if (status == SPARKBENCH_UNSUPPORTED) throw UnsupportedError(text);
  if (status == SPARKBENCH_OUT_OF_MEMORY) throw OutOfDeviceMemory(text);
  if (status == SPARKBENCH_ERROR) throw std::runtime_error(text);
  throw std::runtime_error(fmt::format("{}: {} returned {}, which is no sparkbench_status: {}",
                                       kernel.name, call, status, words));
}

}  // namespace

std::string words_of(const char* text) { return bounded(one_line(text)); }

std::shared_ptr<void> poisoned_host_memory(std::size_t bytes) {
  if (bytes == 0) return nullptr;
  const std::size_t whole = (bytes + kAlignment - 1) / kAlignment * kAlignment;
  void* const memory = whole < bytes ? nullptr : std::aligned_alloc(kAlignment, whole);
  if (memory == nullptr) throw std::bad_alloc();
  std::memset(memory, kPluginPoison, whole);
  return {memory, std::free};
}

std::size_t ask_workspace(const sparkbench_kernel& table, const PluginProblem& problem) {
  return table.workspace_bytes != nullptr ? table.workspace_bytes(problem.get()) : 0;
}

PluginPlan::PluginPlan(const CheckedKernel& kernel, const PluginProblem& problem, void* workspace,
                       void* stream)
    : kernel_(kernel), stream_(stream) {
  const auto start = std::chrono::steady_clock::now();
  check(kernel, "prepare", kernel.table.prepare(problem.get(), workspace, stream, &plan_));
  seconds_ = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

PluginPlan::~PluginPlan() {
  if (kernel_.table.destroy != nullptr) kernel_.table.destroy(plan_);
}

void PluginPlan::forward(const sparkbench_tensors& tensors) const {
  check(kernel_, "forward", kernel_.table.forward(plan_, &tensors, stream_));
}

void PluginPlan::backward(const sparkbench_tensors& tensors) const {
  check(kernel_, "backward", kernel_.table.backward(plan_, &tensors, stream_));
}

std::optional<std::uint64_t> PluginPlan::peak_bytes() const {
  if (kernel_.table.peak_bytes == nullptr) return std::nullopt;
  return kernel_.table.peak_bytes(plan_);
}

void PluginPlan::outputs(sparkbench_tensors& tensors) const {
  check(kernel_, "outputs", kernel_.table.outputs(plan_, &tensors, stream_));
}

}  // namespace sparkbench
