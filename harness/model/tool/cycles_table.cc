#include "harness/model/tool/cycles_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <vector>

#include "harness/model/predict/problem_time.h"
#include "harness/model/sm/machine_constants.h"
#include "kernels/registry.h"
#include "results/render/sheet.h"

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
SheetColumn column(std::string name, std::string title, const std::vector<Row>& rows, Text&& text) {
  SheetColumn column{std::move(name), {std::move(title), {}, true}};
  for (const Row& row : rows) column.text.cells.push_back(text(row));
  return column;
}

SheetColumn names(const std::vector<Row>& rows) {
  SheetColumn names =
      column("kernel", "kernel", rows, [](const Row& row) { return std::string(row.instance.id); });
  names.text.right_aligned = false;
  return names;
}

Sheet stage_table(const std::string& title, const std::vector<Row>& rows) {
  const auto stage = [&](std::string name, std::string words, double StageCycles::*member) {
    return column(std::move(name), std::move(words), rows,
                  [=](const Row& row) { return fmt::format("{:.0f}", row.stages().*member); });
  };
  return {title,
          {names(rows),
           column("blocks", "blocks", rows,
                  [](const Row& row) { return std::to_string(row.cycles.blocks_per_sm); }),
           column("tile", "tile", rows,
                  [](const Row& row) {
                    return fmt::format("{}x{}", row.instance.block_rows, row.instance.step_columns);
                  }),
           stage("prologue", "prologue", &StageCycles::prologue),
           stage("full_tile", "full\ntile", &StageCycles::full_tile),
           stage("cut_tile", "cut\ntile", &StageCycles::cut_tile),
           stage("more_part", "more\npart", &StageCycles::more_part),
           stage("idle_part", "idle\npart", &StageCycles::idle_part),
           stage("next_head", "next\nhead", &StageCycles::next_head),
           stage("epilogue", "epilogue", &StageCycles::epilogue),
           column("loop_bytes", "loop\nB", rows,
                  [](const Row& row) { return std::to_string(row.cycles.loop_bytes); }),
           column("binds", "binds", rows, [](const Row& row) { return row.cycles.binding; })}};
}

Sheet share_table(const std::vector<Row>& rows) {
  Sheet sheet{
      "Share of tensor peak in the main loop, per cent, under each assumption of the chip, and "
      "what is likely, with its band",
      {names(rows)}};
  for (int i = 0; i < kChipAssumptions; ++i) {
    const auto assumption = static_cast<ChipAssumption>(i);
    const std::string name(name_of(assumption));
    sheet.columns.push_back(column(name, name, rows, [=](const Row& row) {
      return fmt::format("{:.1f}", 100 * share_of(row, assumption));
    }));
  }
  sheet.columns.push_back(column("likely", "likely", rows, [](const Row& row) {
    const auto [slow, likely, fast] = band_of(row);
    return fmt::format("{:.0f} ({:.0f}-{:.0f})", 100 * likely, 100 * slow, 100 * fast);
  }));
  return sheet;
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
                              {"next_head", of_resident.next_head},
                              {"more_part", of_resident.more_part},
                              {"idle_part", of_resident.idle_part}});
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

std::vector<std::string> cycles_column_names() {
  const std::vector<Sheet> sheets = {stage_table("", {}), share_table({})};
  return column_names(sheets);
}

std::string format_cycles(const CyclesFile& file, std::span<const std::string> ids,
                          const TableView& view) {
  const std::vector<Row> rows = rows_of(file, ids);
  const std::string title = fmt::format(
      "Predicted cycles of an SM of a V100 that holds as many blocks as fit, each at this stage "
      "(sm_70 code{}; accumulators forwarded)",
      file.toolkit.empty() ? "" : " of CUDA " + file.toolkit);
  const std::string stages = format_sheet(stage_table(title, rows), view);
  const std::string shares = format_sheet(share_table(rows), view);
  return stages + (stages.empty() || shares.empty() ? "" : "\n") + shares;
}

std::string format_cycles_json(const CyclesFile& file, std::span<const std::string> ids) {
  nlohmann::ordered_json instances = nlohmann::ordered_json::array();
  for (const Row& row : rows_of(file, ids)) instances.push_back(json_of(row));
  const nlohmann::ordered_json toolkit =
      file.toolkit.empty() ? nlohmann::ordered_json(nullptr) : nlohmann::ordered_json(file.toolkit);
  const nlohmann::ordered_json document = {{"schema", "sparkbench.kernel-cycles 1.2.0"},
                                           {"sm", file.sm},
                                           {"toolkit", toolkit},
                                           {"instances", std::move(instances)}};
  return document.dump(2) + "\n";
}

}  // namespace sparkbench
