#include "harness/predict/cycles_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <vector>

#include "harness/cycles/machine_constants.h"
#include "harness/predict/problem_time.h"
#include "kernels/registry.h"
#include "results/render/text_table.h"

namespace sparkbench {
namespace {

struct Row {
  const KernelInstance& instance;
  const InstanceCycles& cycles;

  const StageCycles& stages() const {
    return cycles.stages[static_cast<int>(ChipAssumption::kForwarded)].back();
  }
};

std::vector<Row> rows_of(const CyclesFile& file, std::span<const std::string> ids) {
  std::vector<Row> rows;
  for (const KernelInstance& instance : kernel_instances()) {
    if (std::find(ids.begin(), ids.end(), instance.id) == ids.end()) continue;
    rows.push_back({instance, *file.find(instance.id)});
  }
  return rows;
}

double share_of(const Row& row, ChipAssumption assumption) {
  const KernelInstance& instance = row.instance;
  const double flop = 2.0 * instance.products * instance.block_rows * instance.step_columns *
                      instance.head_dim * row.cycles.blocks_per_sm;
  const auto& stages = row.cycles.stages[static_cast<int>(assumption)];
  return flop / (stages.back().full_tile * kTensorFlopPerCycle);
}

/// The slow, the likely and the fast end.
std::array<double, 3> band_of(const Row& row) {
  const ThreeWays of_model = share_of_model(row.instance, row.cycles);
  const double share = share_of(row, ChipAssumption::kForwarded);
  const double slowest = share_of(row, ChipAssumption::kSupply8);
  return {std::min(share * of_model.slow, slowest), share * of_model.likely, share * of_model.fast};
}

template <class Text>
TextColumn column(std::string title, const std::vector<Row>& rows, Text&& text) {
  TextColumn column{std::move(title), {}, true};
  for (const Row& row : rows) column.cells.push_back(text(row));
  return column;
}

TextColumn names(const std::vector<Row>& rows) {
  TextColumn names =
      column("kernel", rows, [](const Row& row) { return std::string(row.instance.id); });
  names.right_aligned = false;
  return names;
}

std::string stage_table(const std::vector<Row>& rows) {
  const auto stage = [&](std::string title, double StageCycles::*member) {
    return column(std::move(title), rows,
                  [=](const Row& row) { return fmt::format("{:.0f}", row.stages().*member); });
  };
  return format_columns(
      {names(rows),
       column("blocks", rows,
              [](const Row& row) { return std::to_string(row.cycles.blocks_per_sm); }),
       column("tile", rows,
              [](const Row& row) {
                return fmt::format("{}x{}", row.instance.block_rows, row.instance.step_columns);
              }),
       stage("prologue", &StageCycles::prologue), stage("full tile", &StageCycles::full_tile),
       stage("cut tile", &StageCycles::cut_tile), stage("next head", &StageCycles::next_head),
       stage("epilogue", &StageCycles::epilogue),
       column("loop B", rows, [](const Row& row) { return std::to_string(row.cycles.loop_bytes); }),
       column("binds", rows, [](const Row& row) { return row.cycles.binding; })},
      {});
}

std::string share_table(const std::vector<Row>& rows) {
  std::vector<TextColumn> columns = {names(rows)};
  for (int i = 0; i < kChipAssumptions; ++i) {
    const auto assumption = static_cast<ChipAssumption>(i);
    columns.push_back(column(std::string(name_of(assumption)), rows, [=](const Row& row) {
      return fmt::format("{:.1f}", 100 * share_of(row, assumption));
    }));
  }
  columns.push_back(column("likely", rows, [](const Row& row) {
    const auto [slow, likely, fast] = band_of(row);
    return fmt::format("{:.0f} ({:.0f}-{:.0f})", 100 * likely, 100 * slow, 100 * fast);
  }));
  return format_columns(columns, {});
}

nlohmann::ordered_json json_of(const Row& row) {
  nlohmann::ordered_json stages, shares;
  for (int i = 0; i < kChipAssumptions; ++i) {
    const std::string name(name_of(static_cast<ChipAssumption>(i)));
    for (const StageCycles& of_resident : row.cycles.stages[i]) {
      stages[name].push_back({{"prologue", of_resident.prologue},
                              {"full_tile", of_resident.full_tile},
                              {"cut_tile", of_resident.cut_tile},
                              {"epilogue", of_resident.epilogue},
                              {"next_head", of_resident.next_head}});
    }
    shares[name] = share_of(row, static_cast<ChipAssumption>(i));
  }
  const auto [slow, likely, fast] = band_of(row);
  return {{"kernel", row.instance.id},
          {"code_hash", row.cycles.code_hash},
          {"threads", row.cycles.threads},
          {"blocks_per_sm", row.cycles.blocks_per_sm},
          {"block_rows", row.instance.block_rows},
          {"step_columns", row.instance.step_columns},
          {"loop_bytes", row.cycles.loop_bytes},
          {"binding", row.cycles.binding},
          {"cycles", std::move(stages)},
          {"tensor_share", std::move(shares)},
          {"likely_tensor_share", {{"low", slow}, {"likely", likely}, {"high", fast}}}};
}

}  // namespace

std::string format_cycles(const CyclesFile& file, std::span<const std::string> ids) {
  const std::vector<Row> rows = rows_of(file, ids);
  return fmt::format(
      "Predicted cycles of an SM of a V100 that holds as many blocks as fit, each at this stage\n"
      "(sm_70 code{}; accumulators forwarded)\n\n{}\n"
      "Share of tensor peak in the main loop, per cent, under each assumption of the chip, and "
      "what "
      "is\nlikely, with its band\n\n{}",
      file.toolkit.empty() ? "" : " of CUDA " + file.toolkit, stage_table(rows), share_table(rows));
}

std::string format_cycles_json(const CyclesFile& file, std::span<const std::string> ids) {
  nlohmann::ordered_json instances = nlohmann::ordered_json::array();
  for (const Row& row : rows_of(file, ids)) instances.push_back(json_of(row));
  const nlohmann::ordered_json toolkit =
      file.toolkit.empty() ? nlohmann::ordered_json(nullptr) : nlohmann::ordered_json(file.toolkit);
  const nlohmann::ordered_json document = {{"schema", "sparkbench.kernel-cycles 1.1.0"},
                                           {"sm", file.sm},
                                           {"toolkit", toolkit},
                                           {"instances", std::move(instances)}};
  return document.dump(2) + "\n";
}

}  // namespace sparkbench
