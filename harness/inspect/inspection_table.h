// What `sparkbench inspect` prints for people.
#pragma once

#include <span>
#include <string>

#include "harness/inspect/kernel_inspection.h"

namespace sparkbench {

/// Tables of resources for all kernels, and of main loops, instruction mixes and gates for those
/// whose loops are known.
std::string format_inspection(std::span<const KernelInspection> kernels);

}  // namespace sparkbench
