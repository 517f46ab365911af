#include "harness/plugin/plugin_candidate.h"

#include <fmt/format.h>

#include <utility>

#include "harness/plugin/plugin_plan.h"
#include "kernels/machine/emulated/tensor_core/chip_arithmetic.h"
#include "kernels/strided/pass_dropout.h"
#include "results/record/safe_text.h"

namespace sparkbench {
namespace {

CandidateInfo info_of(const CheckedKernel& kernel) {
  return {
      kernel.name, kernel.summary, CandidateKind::kVendorKernel,
      kernel.table.accumulator == SPARKBENCH_ACC_FP16 ? Accumulator::kFp16 : Accumulator::kFp32};
}

}  // namespace

PluginCandidate::PluginCandidate(CheckedKernel kernel, const DeviceInfo& device,
                                 std::optional<int> index, bool is_deterministic)
    : Candidate(info_of(kernel)),
      kernel_(std::move(kernel)),
      sm_(device.sm.value()),
      device_(index ? PluginDevice{SPARKBENCH_CUDA, sm_, *index} : PluginDevice{}),
      is_deterministic_(is_deterministic) {}

bool PluginCandidate::takes(ElementType element) const {
  const std::uint32_t dtypes = kernel_.table.dtypes;
  if (dtypes == 0) return element == ElementType::kFp16;
  return (dtypes & SPARKBENCH_TAKES(dtype_of(element))) != 0;
}

Support PluginCandidate::supports_problem(const Problem& problem, const TensorFormat& format,
                                          Pass pass, const LayerShape* layer) const {
  if (kernel_.table.backend != device_.backend) {
    const bool is_on_gpu = device_.backend == SPARKBENCH_CUDA;
    return {is_on_gpu ? fmt::format("{} runs on the host, where it is verified and not timed; "
                                    "allowed: --device emulated-v100",
                                    name())
                      : fmt::format("{} runs on GPUs only; allowed: --device cuda:0", name())};
  }
  if (pass != Pass::kForward && kernel_.table.backward == nullptr) {
    return {fmt::format("{} has no backward pass", name())};
  }
  if (!takes(format.element)) {
    return {fmt::format("{} does not compute in {}", name(), name_of(format.element))};
  }
  if (format.element == ElementType::kBf16 && accumulator() == Accumulator::kFp16) {
    return {fmt::format("{} accumulates in fp16, and no tensor core does so for bf16", name())};
  }
  if (!draws_own_dropout_mask() && dropout_views_of(problem).count > 0) {
    return {
        fmt::format("{} is not asked: with dropout, the strided parts of this mask drop the "
                    "elements that this program's kernels drop (kernels/mask/dropout_views.h)",
                    name())};
  }
  if (kernel_.table.supports == nullptr) return {};
  const PluginProblem asked(problem, format, pass, is_deterministic_, device_, layer);
  const char* const why = kernel_.table.supports(asked.get());
  if (why == nullptr) return {};
  const std::string words = *why != '\0' ? words_of(why) : "it does not say why";
  return {words.starts_with(name()) ? words : fmt::format("{}: {}", name(), words)};
}

const ArithmeticProfile& PluginCandidate::arithmetic() const { return tensor_core_profile(sm_); }

Libraries PluginCandidate::libraries() const {
  Libraries libraries;
  if (kernel_.version) libraries[kernel_.name] = *kernel_.version;
  if (kernel_.file_hash) libraries[kernel_.file_name] = file_hash_text(*kernel_.file_hash);
  return libraries;
}

}  // namespace sparkbench
