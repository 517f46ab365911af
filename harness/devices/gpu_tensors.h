// A problem's tensors in a GPU's memory.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "harness/devices/device.h"
#include "harness/devices/gpu_memory.h"
#include "harness/devices/timed_check.h"
#include "kernels/machine/cuda_resources.h"
#include "kernels/problem/packed.h"
#include "kernels/problem/tensors.h"

namespace sparkbench {

/// Inputs, outputs and what varlen sequences need, contiguous, on the current GPU. Outputs have
/// guards around them. `data` and `gradients`, which is null if no backward pass will run, must
/// outlive the tensors.
class GpuTensors {
 public:
  /// Uploads the inputs. Throws OutOfDeviceMemory.
  GpuTensors(const ProblemData& data, GradientData* gradients, const CudaStream& stream);

  /// The problem of the tensors' shapes: varlen sequences are packed into one.
  const Problem& layout() const { return layout_; }
  PackedLengths lengths() const;  // without lengths if the problem has none
  ForwardTensors forward() const;
  BackwardTensors backward() const;  // without pointers if no backward pass will run
  std::uint64_t bytes() const;

  void upload_inputs();
  /// Enqueues bytes of NaNs for the outputs of `pass`.
  void poison_outputs(Pass pass) const;
  /// The outputs of `pass`, as the kernel has them. The stream must be idle.
  PassOutputs download_outputs(Pass pass) const;
  void upload_outputs(Pass pass, const PassOutputs& outputs) const;

  /// The memory that a pass wrote but may only read, or not touch: "its input q", "memory around
  /// dq"; empty if none. The device must be idle.
  std::string find_violation(Pass pass) const;

  /// Tensors for TimedCheck: what `pass` reads, not counting O and LSE, and what it writes.
  std::vector<CheckedTensor> inputs(Pass pass) const;
  std::vector<CheckedTensor> outputs(Pass pass) const;

 private:
  /// dO and the gradients.
  struct Gradients {
    explicit Gradients(const Problem& problem);
    DeviceBuffer d_o;
    GuardedBuffer dq, dk, dv;
  };
  struct Offsets {
    explicit Offsets(const SequenceLengths& of);
    int batch;
    DeviceBuffer q, k;
  };

  RowShape shape_of(bool is_lse, bool is_of_keys) const;
  CheckedTensor queries(std::string name, void* data, unsigned signs) const;
  CheckedTensor keys(std::string name, void* data, unsigned signs) const;

  const ProblemData& data_;
  GradientData* gradients_;
  const CudaStream& stream_;
  DeviceBuffer q_, k_, v_;
  GuardedBuffer o_, lse_;
  Problem layout_;
  std::optional<Offsets> offsets_;
  std::optional<Gradients> buffers_;
};

}  // namespace sparkbench
