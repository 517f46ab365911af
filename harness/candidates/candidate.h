// A candidate can be timed and verified on a device, by its name in `--kernel`: a fused kernel of
// ours, an unfused reference, a vendor's kernel, or a user's own (harness/plugin/).
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "harness/candidates/own_outputs.h"
#include "harness/devices/run_outcome.h"
#include "kernels/launch/attention_kernel.h"
#include "kernels/machine/emulated/tensor_core/arithmetic_profile.h"
#include "reference/cublas/unfused_part.h"
#include "results/record/case_record.h"

struct CUstream_st;
struct cublasContext;

namespace sparkbench {

/// A user's own kernel counts as a vendor's: its mask is checked against near misses.
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
  GradientData* gradients;  // null if no backward pass will run
  const RunOptions& options;
};

/// A problem in a GPU's memory. It outlives everything that is prepared for it.
struct GpuWork {
  const Problem& problem;
  TensorFormat format;  // pointers do not say the type
  const RunOptions& options;
  ForwardTensors forward;    // of Problem::packed() if there are lengths
  BackwardTensors backward;  // null pointers if no backward pass will run
  PackedLengths lengths;     // in the GPU's memory, if the problem has some
  CUstream_st* stream;
  std::shared_ptr<cublasContext> cublas;  // the device's: its memory is not a case's
  /// Device memory, aligned to 256 bytes, freed with the pointer.
  std::function<std::shared_ptr<void>(std::size_t bytes)> allocate;
  /// The same, initialized with these bytes.
  std::function<std::shared_ptr<void>(std::span<const std::byte> bytes)> upload;
};

/// The work that a candidate enqueues on a GPU, and the memory that it allocated for it.
struct Prepared {
  std::function<void()> forward = {}, backward = {};
  std::uint64_t workspace_bytes = 0;
  /// Whether the backward pass reads what the candidate's own forward pass kept, beside O and LSE.
  bool backward_needs_forward = false;
  /// The pass with a callback after each part is enqueued; empty without parts.
  std::function<void(const AfterPart&)> in_parts = {};
  /// Device memory beyond tensors and workspace that the passes have used so far, at their peak.
  /// Empty: unknown, and measured.
  std::function<std::uint64_t()> more_peak_bytes = {};
  /// Empty: the passes write to GpuWork's tensors. Else where the last passes left their outputs.
  std::function<OwnOutputs()> own_outputs = {};
  /// What own_outputs() said after the last pass; empty before the first.
  std::shared_ptr<OwnOutputs> located = std::make_shared<OwnOutputs>();
  /// How long the preparation took, if that may be long: a compiler ran.
  std::optional<double> seconds = std::nullopt;
};

class Candidate {
 public:
  /// Copies the info's strings.
  explicit Candidate(const CandidateInfo& info)
      : name_(info.name),
        summary_(info.summary),
        kind_(info.kind),
        accumulator_(info.accumulator) {}
  virtual ~Candidate() = default;

  const std::string& name() const { return name_; }
  std::string_view summary() const { return summary_; }
  CandidateKind kind() const { return kind_; }
  /// The role in a record; a vendor's kernel counts as fused, like ours.
  Role role() const { return kind_ == CandidateKind::kReference ? Role::kReference : Role::kFused; }
  std::optional<Accumulator> accumulator() const { return accumulator_; }
  /// The item of --kernel that names only it.
  virtual std::string flag_item() const { return name(); }
  /// What runs it from a shell.
  virtual std::string_view program() const { return "sparkbench"; }
  /// Whether it runs if no kernel is named. A baseline does not, nor does a kernel for another GPU.
  virtual bool runs_unnamed() const { return true; }

  /// Whether its device can compute a pass of the problem with it, as far as is known before
  /// trying. The reason is a complete sentence.
  virtual Support supports(const Problem& problem, Pass pass) const = 0;
  /// The same for a case and its element type: fp16 only, unless the candidate says otherwise.
  virtual Support supports_case(const CaseProblem& problem) const;
  /// Device memory in addition to the tensors, before anything is allocated, as far as it is known.
  virtual std::uint64_t workspace_bytes(const Problem& problem, Pass pass,
                                        bool is_deterministic) const = 0;
  /// The same for a case, its element type and its layout.
  virtual std::uint64_t case_workspace_bytes(const CaseProblem& problem,
                                             bool is_deterministic) const {
    return workspace_bytes(problem, problem.pass, is_deterministic);
  }
  /// The device's arithmetic for its products.
  virtual const ArithmeticProfile& arithmetic() const = 0;
  /// How to emulate a kernel that its device runs.
  virtual EmulationOptions emulation_options() const { return {.profile = &arithmetic()}; }
  /// Why its times on its device are not representative; empty if they are.
  virtual std::optional<Warning> why_time_is_invalid() const { return std::nullopt; }
  /// The libraries that it calls, and their versions.
  virtual Libraries libraries() const { return {}; }
  /// Whether its dropout mask differs from that of kernels/problem/dropout.h; it is then verified
  /// without dropout.
  virtual bool draws_own_dropout_mask() const { return false; }
  /// Whether its forward pass writes LSE, which is not verified otherwise.
  virtual bool writes_lse() const { return true; }

  /// Whether an emulated device computes only the rows that are checked. Else it computes all.
  virtual bool computes_samples() const { return true; }

  /// Adds the figures of its tile plan for the problem's mask. False without a plan.
  virtual bool add_mask_plan(const Problem& /*problem*/, MaskWork& /*work*/) const { return false; }

  /// Computes outputs from poisoned buffers on the host. Throws std::logic_error for a candidate
  /// that runs only on GPUs.
  virtual RunOutcome run_on_host(const HostWork& work) const;
  /// Prepares it to run on the current GPU. Throws UnsupportedError if it turns out not to support
  /// the problem, std::logic_error for a candidate that runs only on the host.
  virtual Prepared prepare(const GpuWork& work) const;

 private:
  std::string name_, summary_;
  CandidateKind kind_;
  std::optional<Accumulator> accumulator_;
};

}  // namespace sparkbench
