#include "results/study/diff_json.h"

#include <nlohmann/json.hpp>

namespace sparkbench {
namespace {

using Json = nlohmann::ordered_json;

template <class T>
Json or_null(const std::optional<T>& value) {
  return value ? Json(*value) : Json(nullptr);
}

Json json_of(const std::optional<MedianRatio>& ratio) {
  if (!ratio) return nullptr;
  return {{"ratio", ratio->value}, {"doubt", ratio->doubt}};
}

Json json_of(const RunRecord& run) {
  return {{"id", run.run.id},
          {"started_at", run.run.started_at},
          {"complete", run.run.complete},
          {"git_sha", or_null(run.build.git_sha)},
          {"device", run.environment.device.name}};
}

Json json_of(const CaseDiff& diff) {
  Json findings = Json::array();
  for (const CaseFinding& each : diff.findings) {
    findings.push_back({{"verdict", name_of(each.verdict)},
                        {"why", each.why.empty() ? Json(nullptr) : Json(each.why)}});
  }
  return {{"id", diff.id},
          {"findings", std::move(findings)},
          {"first_ms", or_null(diff.first_ms)},
          {"second_ms", or_null(diff.second_ms)},
          {"time", json_of(diff.time)},
          {"cycles", json_of(diff.cycles)},
          {"error_ratio", or_null(diff.error_ratio)},
          {"memory_ratio", or_null(diff.memory_ratio)},
          {"same_bits", or_null(diff.has_same_bits)},
          {"repro", diff.repro}};
}

Json json_of(const std::vector<Difference>& differences) {
  Json all = Json::array();
  for (const Difference& each : differences) {
    all.push_back(
        {{"of", each.of}, {"field", each.field}, {"first", each.first}, {"second", each.second}});
  }
  return all;
}

Json json_of(const std::vector<PredictionSummary>& predictions) {
  Json all = Json::array();
  for (const PredictionSummary& each : predictions) {
    all.push_back({{"basis", each.basis},
                   {"cases", each.count},
                   {"in_band", each.in_band},
                   {"mean_ratio", each.mean},
                   {"least_ratio", each.least},
                   {"most_ratio", each.most},
                   {"furthest", each.furthest}});
  }
  return all;
}

Json counts_of(const std::vector<CaseDiff>& diffs) {
  Json counts = Json::array();
  for (const Verdict verdict : all_verdicts()) {
    const std::size_t count = count_of(diffs, verdict);
    if (count == 0) continue;
    counts.push_back(
        {{"verdict", name_of(verdict)}, {"cases", count}, {"next_step", next_step(verdict)}});
  }
  return counts;
}

}  // namespace

std::string diff_to_json(const RunRecord& first, const RunRecord& second, const RunDiff& diff,
                         const std::vector<std::string>& fails_on, int exit_code) {
  const MeanRatios means = mean_ratios(diff.cases);
  Json cases = Json::array();
  for (const CaseDiff& each : diff.cases) cases.push_back(json_of(each));
  const Json document = {
      {"schema", {{"name", "sparkbench.diff"}, {"version", "1.1.0"}}},
      {"first", json_of(first)},
      {"second", json_of(second)},
      {"differences", json_of(diff.differences)},
      {"doubts", json_of(diff.doubts)},
      {"threshold", diff.rules.threshold},
      {"time_only", diff.rules.by_time_alone},
      {"fail_on", fails_on},
      {"exit_code", exit_code},
      {"counts", counts_of(diff.cases)},
      {"mean_time_ratio", or_null(means.time)},
      {"mean_cycles_ratio", or_null(means.cycles)},
      {"first_predictions", json_of(diff.first_predictions)},
      {"second_predictions", json_of(diff.second_predictions)},
      {"cases", std::move(cases)},
  };
  return document.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace sparkbench
