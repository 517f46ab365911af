// A file of tensors that the user brings instead of generated ones, and the safetensors format, as
// kernels take them: [batch, seqlen, heads, head_dim] in fp16.
#pragma once

#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "kernels/base/half.h"
#include "reference/tensors/safetensors.h"
#include "reference/tensors/tensor_rows.h"
#include "results/record/case_record.h"
#include "sweeps/axis_flags.h"

namespace sparkbench {

struct OwnInputs {
  std::string path;  // as given
  std::string hash;  // FNV-1a of the file's bytes, 16 hexadecimal digits
  std::vector<Warning> warnings;

  virtual ~OwnInputs() = default;
  /// The problem's extents as the tensors have them, as flags.
  virtual AxisFlags extents() const = 0;
  /// The name of the gradient that a backward pass begins with, when the file lacks it; else null.
  virtual const char* missing_gradient() const = 0;
};

/// Every member throws std::invalid_argument, one line, if the file is unreadable or lacks the
/// requested tensor.
class TensorFile {
 public:
  explicit TensorFile(const std::string& path);

  bool has(const std::string& name) const { return tensors_.contains(name); }

  /// The tensor must be F16, BF16 or F32, and have four extents of 1 to kMaxExtent.
  TensorShape shape_of(const std::string& name) const;

  /// The extents of a tensor of any rank, each 1 to kMaxExtent; F16, BF16 or F32.
  std::vector<std::uint64_t> extents_of(const std::string& name) const;

  /// Size of the tensor's elements in the file.
  std::uint64_t stored_bytes(const std::string& name) const;

  /// The elements, rounded to nearest even. Rejects values outside fp16's range: 65520 and more,
  /// infinity and NaN. Counts nonzero values that become 0.
  std::vector<Half> read(const std::string& name);

  /// How many elements of a tensor became 0 when it was read.
  std::size_t vanished(const std::string& name) const { return vanished_.at(name); }

  /// FNV-1a of the file's bytes, 16 hexadecimal digits.
  std::string hash();

 private:
  void require_dtype(const std::string& name) const;
  const StoredTensor& find(const std::string& name) const;
  std::vector<Half> narrow(const std::string& name, const std::vector<float>& values);

  std::ifstream file_;
  StoredTensors tensors_;
  std::map<std::string, std::size_t> vanished_;
};

}  // namespace sparkbench
