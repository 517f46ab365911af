#include "results/study/prediction_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "results/render/number_format.h"
#include "results/study/kernel_statistics.h"

namespace sparkbench {
namespace {

double distance_from_one(double ratio) { return std::abs(std::log(ratio)); }

PredictionSummary summarize_basis(const std::string& basis, const std::vector<CaseRecord>& cases) {
  PredictionSummary summary{.basis = basis};
  std::vector<double> ratios;
  for (const CaseRecord& record : cases) {
    const auto check = check_prediction(record);
    if (!check || record.predicted->basis != basis) continue;
    ratios.push_back(check->ratio);
    summary.in_band += check->is_in_band ? 1 : 0;
    const bool is_furthest =
        summary.furthest.empty() ||
        distance_from_one(check->ratio) > distance_from_one(summary.furthest_ratio);
    if (!is_furthest) continue;
    summary.furthest = record.id;
    summary.furthest_ratio = check->ratio;
  }
  summary.count = static_cast<int>(ratios.size());
  summary.mean = geometric_mean(ratios).value_or(1);
  summary.least = *std::min_element(ratios.begin(), ratios.end());
  summary.most = *std::max_element(ratios.begin(), ratios.end());
  return summary;
}

}  // namespace

std::string model_on_published_times() {
  return fmt::format(
      "On published V100 times the model is off by {} % in the mean for fused kernels forward, {} "
      "% "
      "for unfused chains forward, {} % backward; {} % of them are in its band.",
      kModelErrors.fused_forward, kModelErrors.chain_forward, kModelErrors.chain_backward,
      kModelErrors.in_band);
}

std::string model_on_published_times_briefly() {
  return fmt::format("off published times by {} % (fused fwd), {} and {} % (unfused fwd, bwd)",
                     kModelErrors.fused_forward, kModelErrors.chain_forward,
                     kModelErrors.chain_backward);
}

std::string model_on_published_layers() {
  return fmt::format(
      "On published V100 times of BERT layers in eager PyTorch the model is off by {} % in the "
      "mean "
      "forward, {} % forward and backward.",
      kModelErrors.layer_forward, kModelErrors.layer_training);
}

std::optional<PredictionCheck> check_prediction(const CaseRecord& record) {
  if (!is_usable(record) || !record.valid) return std::nullopt;
  if (!record.time_ms || !record.predicted) return std::nullopt;
  const TimeBand& band = record.predicted->time_ms;
  const double median = record.time_ms->median;
  return PredictionCheck{median / band.likely, median >= band.low && median <= band.high};
}

std::vector<PredictionSummary> summarize_predictions(const std::vector<CaseRecord>& cases) {
  std::vector<PredictionSummary> summaries;
  for (const CaseRecord& record : cases) {
    if (!check_prediction(record)) continue;
    const std::string& basis = record.predicted->basis;
    const bool is_known = std::any_of(summaries.begin(), summaries.end(),
                                      [&](const auto& each) { return each.basis == basis; });
    if (!is_known) summaries.push_back(summarize_basis(basis, cases));
  }
  return summaries;
}

std::string describe(const PredictionSummary& summary) {
  return fmt::format(
      "measured over predicted ({}): {} (geometric mean of {} case{}, {} to {}), {} within the "
      "band; furthest off is {} ({})",
      summary.basis, significant(summary.mean, 3), summary.count, summary.count == 1 ? "" : "s",
      significant(summary.least, 3), significant(summary.most, 3), summary.in_band,
      summary.furthest, significant(summary.furthest_ratio, 3));
}

}  // namespace sparkbench
