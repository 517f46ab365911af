// Whether the cases of two runs may stand in one table.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "results/record/run_record.h"

namespace sparkbench {

/// What two runs that are put together should share, as --allow names it.
inline constexpr std::string_view kBuild = "build", kDevice = "device", kMethod = "method";

struct Difference {
  std::string_view of;  // kBuild, kDevice or kMethod
  std::string field;    // "method.min_samples"
  std::string first, second;
};

/// Where two runs differ in their build, their device (with its driver and libraries; an emulated
/// one's host does not count, nor what is free of a GPU's memory) or their method (with the seed;
/// when it gives up does not count).
std::vector<Difference> find_differences(const RunRecord& first, const RunRecord& second);

}  // namespace sparkbench
