// What the cycle model says of the Volta kernels, for people and for programs.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "harness/model/predict/cycles_file.h"
#include "results/render/text_table.h"

namespace sparkbench {

/// A table of stages, and one of shares with their band. `file` has all of `ids`.
std::string format_cycles(const CyclesFile& file, std::span<const std::string> ids,
                          const TableView& view);

/// The names of these tables' columns, "all" last.
std::vector<std::string> cycles_column_names();

/// The same as one JSON document.
std::string format_cycles_json(const CyclesFile& file, std::span<const std::string> ids);

}  // namespace sparkbench
