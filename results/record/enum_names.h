// Spelling of enumerations in files, tables and flags. For Pass see sweeps/case_problem.h.
#pragma once

#include <string_view>

#include "results/record/run_record.h"

namespace sparkbench {

std::string_view name_of(Accumulator value);  // "fp16", "fp32"
std::string_view name_of(Role value);         // "fused", "reference"
std::string_view name_of(Status value);       // "ok", "incorrect", "skipped", "failed"
std::string_view name_of(DeviceKind value);   // "gpu", "emulated"

/// The value with that name. Throws std::invalid_argument if there is none.
void parse_name(std::string_view name, Accumulator& value);
void parse_name(std::string_view name, Role& value);
void parse_name(std::string_view name, Status& value);
void parse_name(std::string_view name, DeviceKind& value);

}  // namespace sparkbench
