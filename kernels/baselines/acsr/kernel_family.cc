#include "kernels/baselines/acsr/kernel_family.h"

#include <cstddef>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>

#include "kernels/base/saturating.h"
#include "kernels/baselines/acsr/emulated.h"
#include "kernels/baselines/acsr/gpu.h"
#include "kernels/baselines/acsr/instance_table.h"
#include "kernels/baselines/acsr/rows_of_mask.h"
#include "kernels/baselines/acsr/volta/instances.h"
#include "kernels/launch/m8n8k4_code.h"
#include "kernels/launch/prepared_chain.h"
#include "kernels/mask/mask_spec.h"
#include "kernels/mask/pattern/sparse_mask.h"

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

/// Bytes for a value of each pair. A backward pass keeps two such arrays.
std::uint64_t value_bytes(const Problem& problem, const MaskRows& rows) {
  return saturating_product({sizeof(Bits128), static_cast<std::uint64_t>(problem.batch),
                             rows.chunks_of_heads(problem.heads)});
}
std::uint64_t kept_bytes(const Problem& problem, const MaskRows& rows, Pass pass) {
  const std::uint64_t values = value_bytes(problem, rows);
  return pass == Pass::kForward ? values : saturating_sum({values, values});
}

std::uint64_t workspace_bytes(const Problem& problem, Pass pass) {
  if (!why_no_acsr(problem).empty()) return 0;  // it is not computed
  const MaskRows rows(problem);
  const std::uint64_t of_keys = pass == Pass::kForward ? 0 : MaskKeys(problem, rows).bytes();
  return saturating_sum({kept_bytes(problem, rows, pass), rows.bytes(), of_keys});
}

#ifdef SPARKBENCH_HAS_VOLTA
class Chain : public PreparedChain {
 public:
  Chain(const Problem& problem, Pass pass) : problem_(problem), pass_(pass), rows_(problem) {
    if (pass != Pass::kForward) keys_.emplace(problem, rows_);
  }

  std::vector<std::byte> tables() const override {
    std::vector<std::byte> bytes = rows_.all_bytes();
    if (!keys_) return bytes;
    const std::vector<std::byte> of_keys = keys_->all_bytes();
    bytes.insert(bytes.end(), of_keys.begin(), of_keys.end());
    return bytes;
  }
  std::uint64_t kept_bytes() const override { return acsr::kept_bytes(problem_, rows_, pass_); }
  void launch_forward(const ForwardTensors& tensors, void* kept, const void* tables,
                      CUstream_st* stream) const override {
    const ChainParams params =
        chain_params(problem_, tensors, rows_, static_cast<Half*>(kept), tables);
    launch_scores(problem_, params, stream);
    launch_softmax(problem_, params, stream);
    launch_output(problem_, params, stream);
  }
  void launch_backward(const BackwardTensors& tensors, void* kept, const void* tables,
                       CUstream_st* stream) const override {
    auto* const p = static_cast<Half*>(kept);
    Half* const gradients = p + value_bytes(problem_, rows_) / sizeof(Half);
    const GradientParams params =
        gradient_params(problem_, tensors, rows_, keys_.value(), p, gradients, tables);
    launch_scores(problem_, params.scores, stream);
    launch_softmax_gradient(problem_, params.scores, params.probabilities, stream);
    launch_output(problem_, params.dq, stream);
    launch_key_gradient(problem_, params.dv, stream);
    launch_key_gradient(problem_, params.dk, stream);
  }

 private:
  Problem problem_;
  Pass pass_;
  MaskRows rows_;
  std::optional<MaskKeys> keys_;  // of backward passes
};

std::shared_ptr<const PreparedChain> prepare(const Problem& problem, Pass pass) {
  return std::make_shared<const Chain>(problem, pass);
}
constexpr auto* kPrepare = prepare;
#else
constexpr std::nullptr_t kPrepare = nullptr;
#endif

constexpr AttentionKernel kKernels[] = {
    {.name = kKernelName,
     .summary = "unfused: R-SDDMM, softmax, R-SpMM over a mask's affine rows, as SPLAT, by m8n8k4",
     .accumulator = Accumulator::kFp32,
     .instruction = MmaInstruction::kM8n8k4,
     .supports = supports,
     .emulate = emulate,
     .chain = {kPrepare, workspace_bytes},
     .is_baseline = true},
};

}  // namespace

KernelFamily kernel_family() { return {kKernels, instances()}; }

}  // namespace sparkbench::acsr
