// --shard I/N: one of N parts of a sweep.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "results/record/case_record.h"

namespace sparkbench {

/// Positions in `cases` of the shard, or all if `shard` is empty. Problems are dealt out in turn,
/// each with all its cases, because these share inputs, the exact result and the baseline. Throws
/// UsageError unless `shard` is I/N with 1 <= I <= N.
std::vector<std::size_t> positions_of_shard(const std::vector<CaseRecord>& cases,
                                            const std::string& shard);

}  // namespace sparkbench
