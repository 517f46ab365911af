// How far a prediction was off, where a case was measured on what it is of.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "results/record/run_record.h"

namespace sparkbench {

struct PredictionCheck {
  double ratio = 1;  // of the measured median over the likely time
  bool is_in_band = false;
};

/// None unless the case is correct, and has a valid time and a prediction.
std::optional<PredictionCheck> check_prediction(const CaseRecord& record);

/// Of all cases with predictions of one basis.
struct PredictionSummary {
  std::string basis;
  int count = 0, in_band = 0;
  double mean = 1, least = 1, most = 1;  // of the ratios, the mean geometric
  std::string furthest;                  // the case's id
  double furthest_ratio = 1;
};

/// A summary for each basis that has a case, in the order of their first ones.
std::vector<PredictionSummary> summarize_predictions(const std::vector<CaseRecord>& cases);

/// "measured over predicted (cycle model): 1.04 (geometric mean of 24 cases, 0.97 to 1.31), 23
/// within the band; furthest off is volta-fp32acc/fwd/... (1.31)"
std::string describe(const PredictionSummary& summary);

struct PredictedSpeedupMean {
  PredictedSpeedup speedup;  // geometric means
  std::string chip;
  int count = 0;  // cases
};

/// Over the cases of `kernel` that are not incorrect or failed; none when no such case has one, or
/// they are over several baselines.
std::optional<PredictedSpeedupMean> mean_predicted_speedup(const std::vector<CaseRecord>& cases,
                                                           const std::string& kernel);

}  // namespace sparkbench
