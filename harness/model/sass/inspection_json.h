// What `sparkbench inspect --json` writes.
#pragma once

#include <filesystem>
#include <span>
#include <string>

#include "harness/model/sass/kernel_inspection.h"

namespace sparkbench {

/// One document: {"schema", "binary", "kernels": [...], "broken_gates": [...]}. What cannot be
/// known is null, as is a cap that nothing limits. A loop is the code in [begin, end), addresses in
/// its function. "per_mma" has the counts of "mix" over those of m8n8k4.
std::string format_inspection_json(const std::filesystem::path& binary,
                                   std::span<const KernelInspection> kernels,
                                   std::span<const std::string> broken_gates);

}  // namespace sparkbench
