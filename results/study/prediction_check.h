// Compares a prediction with a measurement on the predicted chip.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "results/record/run_record.h"

namespace sparkbench {

/// The V100 model's error on published times that it was not fitted to (kernels/volta/README.md,
/// "Tested on published times").
inline constexpr std::string_view kModelOnPublishedTimes =
    "On published V100 times the model was too fast: by 11 % for fused kernels forward, 17 % for "
    "unfused chains forward, 36 % backward.";

/// The same as a table's line.
inline constexpr std::string_view kModelOnPublishedTimesBriefly =
    "on published times 11 % too fast (fused fwd), 17 and 36 % (unfused fwd, bwd)";

/// The same for whole encoder layers.
inline constexpr std::string_view kModelOnPublishedLayers =
    "On published V100 times of BERT layers in eager PyTorch the model was too fast: by 16 % "
    "forward, "
    "9 % forward and backward.";

struct PredictionCheck {
  double ratio = 1;  // measured median over likely time
  bool is_in_band = false;
};

/// None unless the case is correct and has a valid time and a prediction.
std::optional<PredictionCheck> check_prediction(const CaseRecord& record);

/// Over all cases with predictions of one basis.
struct PredictionSummary {
  std::string basis;
  int count = 0, in_band = 0;
  double mean = 1, least = 1, most = 1;  // of the ratios; the mean is geometric
  std::string furthest;                  // the case's id
  double furthest_ratio = 1;
};

/// One summary for each basis that has a case, in the order of their first cases.
std::vector<PredictionSummary> summarize_predictions(const std::vector<CaseRecord>& cases);

/// "measured over predicted (cycle model): 1.04 (geometric mean of 24 cases, 0.97 to 1.31), 23
/// within the band; furthest off is volta-fp32acc/fwd/... (1.31)"
std::string describe(const PredictionSummary& summary);

}  // namespace sparkbench
