// What the cycle model says of the Volta kernels, for people and for programs.
#pragma once

#include <span>
#include <string>

#include "harness/predict/cycles_file.h"

namespace sparkbench {

/// A table of stages, and one of shares with their band. `file` has all of `ids`.
std::string format_cycles(const CyclesFile& file, std::span<const std::string> ids);

/// The same as one JSON document.
std::string format_cycles_json(const CyclesFile& file, std::span<const std::string> ids);

}  // namespace sparkbench
