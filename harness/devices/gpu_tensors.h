// A problem's tensors in a GPU's memory.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "harness/devices/device.h"
#include "harness/devices/gpu_memory.h"
#include "harness/devices/timed_check.h"
#include "kernels/machine/cuda_resources.h"
#include "kernels/problem/packed.h"
#include "kernels/problem/tensors.h"
#include "reference/tensors/tensor_layout.h"

namespace sparkbench {

/// Inputs, outputs and what varlen sequences need, in the data's layout, on the current GPU.
/// Outputs have guards around them. `data` and `gradients`, which is null if no backward pass will
/// run, must outlive the tensors.
class GpuTensors {
 public:
  /// Throws OutOfDeviceMemory.
  GpuTensors(const ProblemData& data, GradientData* gradients, const CudaStream& stream);

  /// The problem of the tensors' shapes: varlen sequences are packed into one.
  const Problem& shapes() const { return shapes_; }
  PackedLengths lengths() const;  // without lengths if the problem has none
  ForwardTensors forward() const;
  BackwardTensors backward() const;  // without pointers if no backward pass will run
  std::uint64_t bytes() const;

  /// Uploads the inputs and rewrites the guards, once the device is idle: whatever kernels wrote
  /// there is gone.
  void reset() const;
  /// Enqueues bytes of NaNs for the outputs of `pass`.
  void poison_outputs(Pass pass) const;
  /// The outputs of `pass`, contiguous, in words of the kernel's type. The stream must be idle.
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
    Gradients(const Problem& problem, const TensorSlices& slices);
    DeviceBuffer d_o;
    std::vector<GuardedBuffer> dqkv;
  };
  struct Offsets {
    explicit Offsets(const SequenceLengths& of);
    int batch;
    DeviceBuffer q, k;
  };

  struct Input {
    const char* name;
    const TensorSlice& slice;
    const DeviceBuffer& buffer;
    std::span<const Half> kept;  // what the host keeps of it
    bool is_of_keys;
    unsigned signs;
  };
  std::vector<Input> inputs_of(Pass pass) const;
  struct Output {
    const char* name;
    const TensorSlice& slice;
    const GuardedBuffer& buffer;
    bool is_of_keys;
    unsigned signs;
    std::vector<Half> PassOutputs::*host;
  };
  std::vector<Output> outputs_of(Pass pass) const;
  /// The pass that all tensors are for.
  Pass whole_pass() const { return backward_ ? Pass::kForwardBackward : Pass::kForward; }

  template <class Tensor>
  CheckedTensor checked(const Tensor& tensor) const;
  CheckedTensor checked_lse() const;

  const ProblemData& data_;
  GradientData* gradients_;
  const CudaStream& stream_;
  Problem shapes_;
  TensorSlices slices_;
  std::vector<DeviceBuffer> qkv_;  // of Q, K and V
  GuardedBuffer o_, lse_;
  std::optional<Offsets> offsets_;
  std::optional<Gradients> backward_;
};

}  // namespace sparkbench
