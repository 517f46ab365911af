#include "harness/run/stored_runs.h"

#include <ostream>
#include <stdexcept>
#include <utility>

#include "results/record/provenance.h"
#include "results/record/safe_text.h"
#include "results/store/stored_run.h"
#include "sweeps/usage_error.h"

namespace sparkbench {

RunRecord load_run(const std::string& path) {
  try {
    return read_stored_run(path);
  } catch (const std::invalid_argument& error) {
    throw UsageError(error.what());
  }
}

RunRecord salvage_run(const std::string& path, std::ostream& err) {
  try {
    SalvagedRun salvaged = salvage_stored_run(path);
    for (const std::string& line : salvaged.damage) err << "left out: " << printable(line) << '\n';
    return std::move(salvaged.run);
  } catch (const std::invalid_argument& error) {
    throw UsageError(error.what());
  }
}

std::vector<RunRecord> load_runs(const std::vector<std::string>& paths) {
  std::vector<RunRecord> runs;
  runs.reserve(paths.size());
  for (const std::string& path : paths) {
    runs.push_back(load_run(path));
    stamp_provenance(runs.back());  // before they are merged
  }
  return runs;
}

}  // namespace sparkbench
