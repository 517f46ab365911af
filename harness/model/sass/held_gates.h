// Gates that a kernel once held, kept in a file so that one that breaks is noticed.
#pragma once

#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "harness/model/sass/kernel_inspection.h"

namespace sparkbench {

/// The names of the gates that hold, by kernel: {"volta-fp32acc/fwd/d64": ["stack_bytes", ...]}.
using HeldGates = std::map<std::string, std::vector<std::string>>;

/// Gates that hold now, of the program's own kernels that have a main loop.
HeldGates held_gates(std::span<const KernelInspection> kernels);

/// One JSON object, a line a kernel.
std::string format_held_gates(const HeldGates& held);

/// Throws UsageError, naming --gates, the file and what is wrong with it.
HeldGates read_held_gates(const std::filesystem::path& path);

/// A line for each gate of `held` that no longer holds: kernel, gate, value and limit. Kernels
/// whose name or registry name does not match `glob` are passed over; one that is missing is a
/// line, too.
std::vector<std::string> broken_gates(const HeldGates& held,
                                      std::span<const KernelInspection> kernels,
                                      std::string_view glob);

}  // namespace sparkbench
