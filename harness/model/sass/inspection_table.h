// What `sparkbench inspect` prints for people.
#pragma once

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

}  // namespace sparkbench
