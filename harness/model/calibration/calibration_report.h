// A calibration as it is printed and stored.
#pragma once

#include <string>

#include "harness/model/calibration/calibration.h"
#include "results/record/run_record.h"
#include "results/render/text_table.h"

namespace sparkbench {

/// Two tables and the sentence.
std::string format_calibration(const DeviceInfo& device, const CalibrationReadings& readings,
                               const CalibrationFindings& findings, const TableView& view = {});

/// What was measured, when, on what and by what build: calibration.json. `measured_at` is UTC, ISO
/// 8601.
std::string calibration_to_json(const std::string& measured_at, const BuildInfo& build,
                                const Environment& environment, const CalibrationReadings& readings,
                                const CalibrationFindings& findings);

}  // namespace sparkbench
