// A file of tensors that the user brings, instead of generated ones.
#pragma once

#include <string>
#include <vector>

#include "results/record/case_record.h"
#include "sweeps/axis_flags.h"

namespace sparkbench {

struct OwnInputs {
  std::string path;  // as given
  std::string hash;  // FNV-1a of the file's bytes, 16 hexadecimal digits
  std::vector<Warning> warnings;

  virtual ~OwnInputs() = default;
  /// What the tensors say of the problem, as flags.
  virtual AxisFlags extents() const = 0;
  /// The name of the gradient that a backward pass begins with, when the file lacks it; else null.
  virtual const char* missing_gradient() const = 0;
};

}  // namespace sparkbench
