#include "kernels/baselines/acsr/kernel_family.h"

#include <cstddef>
#include <stdexcept>
#include <string>
#include <utility>

#include "kernels/baselines/acsr/emulated.h"
#include "kernels/baselines/acsr/instance_table.h"
#include "kernels/baselines/acsr/plan.h"
#include "kernels/baselines/acsr/rows_of_mask.h"
#include "kernels/baselines/acsr/volta/instances.h"
#include "kernels/launch/m8n8k4_code.h"
#include "kernels/mask/mask_spec.h"
#include "kernels/mask/pattern/sparse_mask.h"
#include "kernels/tile/chunked_view.h"

namespace sparkbench::acsr {
namespace {

constexpr int kMaxGridYZ = 65535;  // CUDA programming guide, technical specifications
constexpr std::size_t kLeastSharedBytes = sizeof(ScoresTiles<ScoresConfig<kMostHeadDim, 72>>);

/// Empty if the mask is ACSR.
std::string why_no_acsr(const Problem& problem) {
  try {
    const MaskRows rows(problem);
    return "";
  } catch (const std::invalid_argument& error) {
    return "the mask " + (problem.sparse ? problem.sparse->spec : name_of(problem.mask)) +
           ", which is no ACSR: " + error.what();
  }
}

Support supports(const Problem& problem, const KernelDevice& device, bool is_varlen) {
  if (is_varlen) return {"sequences of several lengths"};
  if (device.sm < traits_of(MmaInstruction::kM8n8k4).first_sm) {
    return {"compute capabilities below 7.0"};
  }
  if (std::string why = why_no_code(device); !why.empty()) return {std::move(why)};
  if (device.shared_bytes_per_block < kLeastSharedBytes) {
    return {"blocks of less than " + std::to_string(kLeastSharedBytes >> 10) +
            " KiB of shared memory"};
  }
  if (problem.head_dim % kChunkHalves != 0 || problem.head_dim > kMostHeadDim) {
    return {"head_dim " + std::to_string(problem.head_dim) +
            " (multiples of 8 up to 128 are supported)"};
  }
  if (problem.heads > kMaxGridYZ || problem.batch > kMaxGridYZ) {
    return {"more than 65535 heads or batch entries (the grid's limit)"};
  }
  const bool has_turns = problem.sparse != nullptr && problem.sparse->pattern.unions.size() > 1;
  if (has_turns && problem.group_size() > 1) {
    return {"patterns by turns where heads share keys"};
  }
  if (problem.dropout().threshold != 0) return {"dropout: the chain has none, as SPLAT has none"};
  return {why_no_acsr(problem)};
}

#ifdef SPARKBENCH_HAS_VOLTA
constexpr bool kHasGpuCode = true;
#else
constexpr bool kHasGpuCode = false;
#endif

constexpr AttentionKernel kKernels[] = {
    {.name = kKernelName,
     .summary = "unfused: R-SDDMM, softmax, R-SpMM over a mask's affine rows, as SPLAT, by m8n8k4",
     .accumulator = Accumulator::kFp32,
     .instruction = MmaInstruction::kM8n8k4,
     .supports = supports,
     .plan = plan,
     .tables = make_tables,
     .has_gpu_code = kHasGpuCode,
     .emulate = emulate,
     .is_baseline = true},
};

}  // namespace

KernelFamily kernel_family() { return {kKernels, instances()}; }

}  // namespace sparkbench::acsr
