#include "results/record/provenance.h"

#include "results/record/enum_names.h"

namespace sparkbench {

Provenance provenance_of(const RunRecord& run) {
  const Environment& environment = run.environment;
  return {.run_id = run.run.id,
          .version = run.build.version,
          .git_sha = run.build.git_sha,
          .git_dirty = run.build.git_dirty,
          .device_name = environment.device.name,
          .device_kind = std::string(name_of(environment.device.kind)),
          .device_uuid = environment.device.uuid,
          .driver_version = environment.driver_version};
}

void stamp_provenance(RunRecord& run) {
  for (CaseRecord& record : run.cases) {
    if (!record.provenance) record.provenance = provenance_of(run);
  }
}

}  // namespace sparkbench
