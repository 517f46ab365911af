// What `sparkbench-model inspect` prints, for people and for programs.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "harness/model/sass/kernel_inspection.h"
#include "results/render/text_table.h"

namespace sparkbench {

/// Tables of resources for all kernels, and of main loops, instruction mixes and gates for those
/// whose loops are known.
std::string format_inspection(std::span<const KernelInspection> kernels,
                              const TableView& view = {});

/// The names of these tables' columns, "all" last.
std::vector<std::string> inspection_column_names();

/// One document: {"schema", "binary", "kernels": [...], "broken_gates": [...]}. What cannot be
/// known is null, as is a cap that nothing limits. A loop is the code in [begin, end), addresses in
/// its function. "per_mma" has the counts of "mix" over those of m8n8k4.
std::string format_inspection_json(const std::filesystem::path& binary,
                                   std::span<const KernelInspection> kernels,
                                   std::span<const std::string> broken_gates);

}  // namespace sparkbench
