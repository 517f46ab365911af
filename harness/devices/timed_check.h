// Keeps a timed launch honest: each has other inputs, finds its outputs overwritten with NaNs, and
// must leave what the verified launch says. This finds a kernel that keeps results from an earlier
// call, does less once it was verified, or changes its inputs; and one that works on a stream that
// nobody waits for, unless that work ends within the few microseconds before the comparison.
//
// Other inputs need no oracle. Attention has variants with known results, the same bits but for
// the sign: a rotation of the batch and of the key heads, and the signs of Q and K together, of V
// and of dO. Rotations change the dropout mask, and so are left out with dropout; rotations of
// heads with masks that differ from head to head.
#pragma once

#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "harness/devices/gpu_check_kernels.h"
#include "harness/devices/run_outcome.h"
#include "kernels/machine/cuda_resources.h"
#include "reference/tensors/element_type.h"
#include "reference/tensors/host_tensor.h"

namespace sparkbench {

/// The signs that a tensor's variant has: of Q and K, of V, of dO. A product of several.
enum SignOf : unsigned { kNoSign = 0, kSignOfScores = 1, kSignOfV = 2, kSignOfDo = 4 };

/// One tensor of a pass, in the GPU's memory.
struct CheckedTensor {
  std::string name;
  void* data;
  RowStrides strides;
  RowShape shape;
  bool is_lse;          // float, with a dim of 1
  ElementType element;  // of any other tensor
  bool is_of_keys;      // whose heads are the key heads
  unsigned signs;       // of SignOf
};

/// A device copy of a tensor as it is without a variant: contiguous, whatever its strides.
class TensorCopy {
 public:
  /// Throws OutOfDeviceMemory.
  explicit TensorCopy(const CheckedTensor& tensor);
  const CheckedTensor& tensor() const { return tensor_; }
  const void* data() const { return copy_.as<void>(); }

 private:
  CheckedTensor tensor_;
  DeviceBuffer copy_;
};

/// How far batch and key heads may be rotated: their number, or 1.
struct Rotations {
  int batch = 1, key_heads = 1;
  int group = 1;  // query heads of a key head
};
Rotations rotations_of(const Problem& problem);

/// The check of one candidate's launches.
class TimedCheck {
 public:
  /// `inputs` and `outputs` are what the pass reads and writes: copies of the untransformed inputs
  /// and of the verified outputs.
  TimedCheck(std::vector<std::shared_ptr<const TensorCopy>> inputs,
             std::vector<std::shared_ptr<const TensorCopy>> outputs, const Rotations& rotations,
             const CudaStream& stream);

  /// Enqueues the next variant of the inputs, and NaNs in the outputs.
  void enqueue_inputs();
  /// Enqueues the comparison of inputs and outputs.
  void enqueue_comparison();
  /// What the last comparison found, once the stream is done: "" or "3 elements of dq".
  std::string difference() const;

 private:
  Variant variant_of(const CheckedTensor& tensor) const;

  std::vector<std::shared_ptr<const TensorCopy>> inputs_, outputs_;
  std::vector<Allowance> allowances_;  // of outputs_
  Rotations rotations_;
  const CudaStream& stream_;
  std::mt19937 random_;
  int batch_shift_ = 0, head_shift_ = 0;
  unsigned negative_ = 0;  // of SignOf
  DeviceBuffer counts_;    // of outputs_, then of inputs_
};

}  // namespace sparkbench
