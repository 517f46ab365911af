// Compares a prediction with a measurement on the predicted chip.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "results/record/run_record.h"

namespace sparkbench {

/// How far the V100 model is from times that others published: mean absolute errors, per cent.
/// `sparkbench-model against harness/model/published_v100.json` computes them, and its test
/// compares them with these.
struct ModelErrors {
  int fused_forward, chain_forward, chain_backward;
  int layer_forward, layer_training;
  int in_band;  // per cent of all points

  bool operator==(const ModelErrors&) const = default;
};
inline constexpr ModelErrors kModelErrors = {5, 7, 14, 2, 5, 87};

/// kModelErrors of attention, as a sentence.
std::string model_on_published_times();

/// The same as a table's line.
std::string model_on_published_times_briefly();

/// kModelErrors of encoder layers.
std::string model_on_published_layers();

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
