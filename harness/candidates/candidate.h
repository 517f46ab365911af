// What can be timed and judged on a device, as `--kernel` names it: a fused kernel of ours, an
// unfused reference, or a vendor's kernel.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "harness/devices/run_outcome.h"
#include "kernels/attention_kernel.h"
#include "kernels/machine/emulated/tensor_core/arithmetic_profile.h"
#include "reference/cublas/unfused_part.h"
#include "results/record/case_record.h"

struct cublasContext;

namespace sparkbench {

enum class CandidateKind { kKernel, kReference, kVendorKernel };

struct CandidateInfo {
  std::string_view name;
  std::string_view summary;
  CandidateKind kind;
  std::optional<Accumulator> accumulator;  // of its scores
};

/// A problem on the host.
struct HostWork {
  const ProblemData& data;
  GradientData* gradients;  // null when no backward pass will be run
  const RunOptions& options;
};

/// A problem in a GPU's memory, which outlives what is prepared for it.
struct GpuWork {
  const Problem& problem;
  const RunOptions& options;
  ForwardTensors forward;    // of Problem::packed() where there are lengths
  BackwardTensors backward;  // null pointers when no backward pass will be run
  PackedLengths lengths;     // in the GPU's memory, where the problem has some
  CUstream_st* stream;
  std::shared_ptr<cublasContext> cublas;  // the device's, so that its memory is no case's
  /// Device memory aligned to 256 bytes, that is freed with the pointer.
  std::function<std::shared_ptr<void>(std::size_t bytes)> allocate;
  /// The same with these bytes in it.
  std::function<std::shared_ptr<void>(std::span<const std::byte> bytes)> upload;
};

/// What a candidate enqueues on a GPU, and the memory that it took to be ready.
struct Prepared {
  std::function<void()> forward, backward;
  std::uint64_t workspace_bytes = 0;
  /// The pass, telling of each part when it has been enqueued; empty where there are none.
  std::function<void(const AfterPart&)> in_parts = {};
};

class Candidate {
 public:
  explicit Candidate(const CandidateInfo& info) : info_(info) {}
  virtual ~Candidate() = default;

  std::string name() const { return std::string(info_.name); }
  std::string_view summary() const { return info_.summary; }
  CandidateKind kind() const { return info_.kind; }
  /// As it is recorded, where a vendor's kernel is a fused one like ours.
  Role role() const {
    return info_.kind == CandidateKind::kReference ? Role::kReference : Role::kFused;
  }
  std::optional<Accumulator> accumulator() const { return info_.accumulator; }
  /// Whether it runs where no kernel is named. A baseline does not, nor a kernel of another GPU.
  virtual bool runs_unnamed() const { return true; }

  /// Whether its device can compute a pass of the problem by it, as far as can be told before it is
  /// tried. The reason is a whole sentence.
  virtual Support supports(const Problem& problem, Pass pass) const = 0;
  /// Device memory besides the tensors, before anything is allocated: as much as is known.
  virtual std::uint64_t workspace_bytes(const Problem& problem, Pass pass,
                                        bool is_deterministic) const = 0;
  /// How its device multiplies for it.
  virtual const ArithmeticProfile& arithmetic() const = 0;
  /// How a kernel is emulated that its device runs.
  virtual EmulationOptions emulation_options() const { return {.profile = &arithmetic()}; }
  /// Why its times on its device say nothing about it; nothing where they do.
  virtual std::optional<Warning> why_time_is_invalid() const { return std::nullopt; }
  /// What it calls besides this program, and its version.
  virtual Libraries libraries() const { return {}; }
  /// Whether its dropout mask is not that of kernels/dropout.h: it is verified without dropout.
  virtual bool draws_own_dropout_mask() const { return false; }

  /// Adds what its plan of tiles for the problem's mask comes to. False without one.
  virtual bool add_mask_plan(const Problem& /*problem*/, MaskWork& /*work*/) const { return false; }

  /// Computes outputs from poisoned buffers on the host. Throws std::logic_error for a candidate
  /// that runs on GPUs only.
  virtual RunOutcome run_on_host(const HostWork& work) const;
  /// Makes it ready to run on the current GPU. Throws UnsupportedError for a problem that it turns
  /// out not to compute, std::logic_error for a candidate that runs on the host only.
  virtual Prepared prepare(const GpuWork& work) const;

 private:
  CandidateInfo info_;
};

}  // namespace sparkbench
