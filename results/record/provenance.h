// Where a case comes from, kept with it when it leaves its run.
#pragma once

#include "results/record/run_record.h"

namespace sparkbench {

/// Of the cases that `run` measured itself on its device.
Provenance provenance_of(const RunRecord& run);

/// Gives it to every case that has none.
void stamp_provenance(RunRecord& run);

}  // namespace sparkbench
