// The origin of a case, stored with it when it leaves its run.
#pragma once

#include "results/record/run_record.h"

namespace sparkbench {

/// For the cases that `run` measured itself on its device.
Provenance provenance_of(const RunRecord& run);

/// Sets it for every case that has none.
void stamp_provenance(RunRecord& run);

}  // namespace sparkbench
