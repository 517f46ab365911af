#include "results/store/csv.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>

#include "results/record/safe_text.h"
#include "results/record/test_run.h"
#include "sweeps/axes.h"

namespace sparkbench {
namespace {

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

/// The axes that are inside `problem`, or beside it, in the order of sweeps/axes_test.cc.
std::string axis_columns(bool is_of_case) {
  std::string columns;
  for (const Axis* axis : recorded_axes()) {
    if (axis->is_of_case != is_of_case) continue;
    if (axis == &find_axis("mask")) columns += "causal,";
    columns += std::string(axis->name) + ",";
  }
  return columns;
}

TEST(Csv, HasTheseColumnsInThisOrder) {
  RunRecord run;
  run.run.tags = {{"host", "a"}, {"card", "b"}};
  EXPECT_EQ(
      cases_to_csv(run),
      "id,config_hash,kernel,role,accumulator," + axis_columns(false) +
          "dropout_p_applied,scale,seed,total_q,total_k,lengths_hash,zones_hash,"
          "layer_hidden,layer_ffn,layer_activation,layer_norm,layer_bias,layer_rest,status,reason_"
          "code,reason_"
          "message,valid,"
          "warnings,"
          "time_ms_median,time_ms_mean,time_ms_min,time_ms_max,time_ms_stdev,time_ms_q1,time_ms_q3,"
          "noise,sampling_count,sampling_stop_reason,sampling_median_error,sampling_flagged,"
          "sampling_held,sampling_checked,clock_mhz_median,clock_mhz_min,"
          "clock_mhz_max,flops,bytes,tflops,gbps,peak_fraction,bandwidth_fraction,memory_bytes_io,"
          "memory_bytes_workspace,memory_bytes_peak,memory_bytes_predicted,memory_bytes_unfused,"
          "output,"
          "oracle,"
          "checked_elements,max_abs,mean_abs,rmse,rel_l1,rel_l2,mean_rel,max_rel,rel_floor,"
          "cosine_diff,mismatches,nonfinite,worst_index,worst_got,worst_want,error_ratio,error_"
          "over_unfused,"
          "lse_max_abs,"
          "dropout_kept_fraction,mask_hash,bitwise_repeatable,output_hash,dq_max_abs,dq_mean_abs,"
          "dq_"
          "rel_l1,"
          "dq_rel_l2,dq_max_rel,dq_cosine_diff,dq_nonfinite,dq_error_ratio,dq_error_over_unfused,"
          "dq_mask_hash,"
          "dq_bitwise_repeatable,dq_output_hash,dk_max_abs,dk_mean_abs,dk_rel_l1,dk_rel_l2,"
          "dk_max_rel,dk_cosine_diff,dk_nonfinite,dk_error_ratio,dk_error_over_unfused,dk_mask_"
          "hash,dk_bitwise_"
          "repeatable,"
          "dk_output_hash,dv_max_abs,dv_mean_abs,dv_rel_l1,dv_rel_l2,dv_max_rel,dv_cosine_diff,"
          "dv_nonfinite,dv_error_ratio,dv_error_over_unfused,dv_mask_hash,dv_bitwise_repeatable,dv_"
          "output_hash,"
          "o_max_abs,o_mean_abs,o_rel_l1,o_rel_l2,o_max_rel,o_cosine_diff,o_nonfinite,o_error_"
          "ratio,"
          "o_error_over_unfused,o_lse_max_abs,o_mask_hash,o_bitwise_repeatable,o_output_hash,"
          "emulation_host_seconds,"
          "emulation_tiles_run,emulation_tiles_total,emulation_mma,emulation_mma_fp16acc,"
          "emulation_mufu,emulation_half_conversions,emulation_half_widenings,emulation_fma,"
          "emulation_shuffles,emulation_barriers,"
          "emulation_shared_loads,"
          "emulation_shared_stores,emulation_shared_wavefronts,emulation_bank_conflicts,"
          "emulation_global_loads,emulation_global_stores,emulation_global_atomics,"
          "emulation_global_wavefronts,emulation_global_sectors_read,"
          "emulation_global_sectors_written,emulation_global_sectors_added,emulation_races,"
          "emulation_findings,speedup_over,"
          "speedup_"
          "ratio,speedup_ratio_stdev,speedup_over_median_ms,speedup_interleaved,repro,device,"
          "position,"
          "elapsed_s,libraries,device_state_temperature_c,device_state_power_draw_w,"
          "device_state_throttle_reasons,run_id,version,git_sha,git_dirty,device_name,device_kind,"
          "device_uuid,driver_version,predicted_chip,predicted_basis,predicted_time_ms_low,"
          "predicted_time_ms_likely,predicted_time_ms_high,predicted_tflops,predicted_clock_mhz,"
          "predicted_low_clock_mhz,predicted_binding,predicted_speedup_over,"
          "predicted_speedup_low,predicted_speedup_likely,predicted_speedup_high,"
          "predicted_reason_code,predicted_reason_message,mask_work_pairs_visible,"
          "mask_work_density,mask_work_pairs_executed,mask_work_partial_share,"
          "mask_work_analysis_us,mask_work_metadata_bytes,mask_work_why_no_plan,mask_work_jit_"
          "first_call_ms,"
          "mask_work_jit_code_from,mask_work_why_no_jit,layer_launches,"
          "layer_weight_bytes,"
          "layer_peak_bytes,layer_attention_share,layer_gap_ms,layer_graph_ms," +
          axis_columns(true) +
          "model,checked_rows,weighted,worst_row_rel_l1,worst_row,dq_checked_rows,dq_weighted,"
          "dq_worst_row_rel_l1,dq_worst_row,dk_checked_rows,dk_weighted,dk_worst_row_rel_l1,"
          "dk_worst_row,dv_checked_rows,dv_weighted,dv_worst_row_rel_l1,dv_worst_row,"
          "o_checked_rows,o_weighted,o_worst_row_rel_l1,o_worst_row,"
          "predicted_software_name,predicted_software_factor,"
          "tag_card,"
          "tag_host\n");
}

TEST(Csv, HasARowPerCaseWithNullsEmpty) {
  const std::vector<std::string> lines = lines_of(cases_to_csv(sample_run()));
  ASSERT_EQ(lines.size(), 1 + sample_run().cases.size());
  EXPECT_EQ(lines[1].substr(0, lines[1].find("fp32,fwd")),
            "volta-fp32acc/fwd/b1/h2/sq128/sk128/d64/full/p0.1," +
                sample_run().cases[0].config_hash + ",volta-fp32acc,fused,");
  // New axes go between these two.
  for (const char* const cells : {",fwd,1,2,128,128,64,false,full,0.1,",
                                  ",0.1015625,0.125,18364758544493064720,,,,,,,,,,,ok,,,true,"
                                  "W-EMULATED-NO-TIME,,,,,,,,,,,,,,,,,,8388608,"}) {
    EXPECT_NE(lines[1].find(cells), std::string::npos) << lines[1];
  }
}

/// The cells of a line without quotes.
std::vector<std::string> cells_of(const std::string& line) {
  std::istringstream stream(line);
  std::vector<std::string> cells;
  for (std::string cell; std::getline(stream, cell, ',');) cells.push_back(cell);
  return cells;
}

/// The cells of one column without the header; no cell before it may be quoted.
std::vector<std::string> column_in(const std::string& csv, const std::string& name) {
  std::vector<std::string> column;
  std::size_t index = 0;
  for (const std::string& line : lines_of(csv)) {
    const std::vector<std::string> cells = cells_of(line);
    if (column.empty()) {
      index = static_cast<std::size_t>(std::find(cells.begin(), cells.end(), name) - cells.begin());
    }
    column.push_back(cells.at(index));
  }
  column.erase(column.begin());
  return column;
}

std::vector<std::string> column_of(const RunRecord& run, const std::string& name) {
  return column_in(cases_to_csv(run), name);
}

TEST(Csv, HasEachGradientOrTheOutput) {
  RunRecord run = sample_backward_run();
  run.cases = {run.cases[0], sample_emulated_case()};
  const GradientAccuracy& gradients = *run.cases[0].gradient_accuracy;
  EXPECT_EQ(column_of(run, "pass"), std::vector<std::string>({"bwd", "fwd"}));
  EXPECT_EQ(column_of(run, "rel_l1"), std::vector<std::string>({"", "0.00035"}));
  EXPECT_EQ(column_of(run, "dq_rel_l1"), std::vector<std::string>({"4e-04", ""}));
  EXPECT_EQ(column_of(run, "dk_rel_l1"), std::vector<std::string>({"8e-04", ""}));
  EXPECT_EQ(column_of(run, "dv_rel_l1"), std::vector<std::string>({"2e-04", ""}));
  EXPECT_EQ(column_of(run, "dv_output_hash"),
            std::vector<std::string>({gradients.dv.output_hash.value(), ""}));
  EXPECT_EQ(column_of(run, "worst_row"), std::vector<std::string>({"", "0;7;1"}));
  EXPECT_EQ(column_of(run, "dk_worst_row"), std::vector<std::string>({"0;7;1", ""}));
  EXPECT_EQ(column_of(run, "dq_weighted"), std::vector<std::string>({"false", ""}));
  EXPECT_EQ(column_of(run, "emulation_shuffles"), std::vector<std::string>({"", "7"}));
}

TEST(Csv, LeavesPredictionsEmptyWhereThereAreNone) {
  RunRecord run = sample_run();
  run.cases = {sample_timed_case(), sample_predicted_case()};
  run.cases[0].predicted_reason = Reason{"P-NO-CYCLES", "no cycles of it"};
  EXPECT_EQ(column_of(run, "predicted_time_ms_likely"), std::vector<std::string>({"", "0.8"}));
  EXPECT_EQ(column_of(run, "predicted_binding"), std::vector<std::string>({"", "tensor"}));
  EXPECT_EQ(column_of(run, "predicted_speedup_low"), std::vector<std::string>({"", "5.5"}));
  EXPECT_EQ(column_of(run, "predicted_reason_code"), std::vector<std::string>({"P-NO-CYCLES", ""}));
}

TEST(Csv, HasNoMetricOfNonfiniteOutputs) {
  RunRecord run = sample_run();
  run.cases = {run.cases.back()};
  for (const char* metric : {"rel_l1", "rel_l2", "max_abs", "cosine_diff", "error_over_unfused"}) {
    EXPECT_EQ(column_of(run, metric), std::vector<std::string>({""})) << metric;
  }
  EXPECT_EQ(column_of(run, "nonfinite"), std::vector<std::string>({"3"}));
}

TEST(Csv, TellsInEveryRowWhereItIsFrom) {
  RunRecord run = sample_run();
  run.build.git_sha = "def";
  run.cases = {sample_emulated_case(), sample_timed_case()};  // the second belongs to another run
  run.cases[1].warnings.clear();
  run.cases[1].reason.reset();
  EXPECT_EQ(column_of(run, "run_id"),
            std::vector<std::string>({"2025-01-31T12-00-00Z-1", "2025-01-31T12-00-00Z-2"}));
  EXPECT_EQ(column_of(run, "device_name"), std::vector<std::string>({"V100", "NVIDIA H200"}));
  EXPECT_EQ(column_of(run, "device_uuid"), std::vector<std::string>({"", "GPU-1"}));
  EXPECT_EQ(column_of(run, "git_sha"), std::vector<std::string>({"def", "abc"}));
  EXPECT_EQ(column_of(run, "driver_version"), std::vector<std::string>({"", "580.95.05"}));
  EXPECT_EQ(column_of(run, "libraries"),
            std::vector<std::string>({"", "cublas=13.1.0;cudnn=9.14.0"}));
  EXPECT_EQ(column_of(run, "device_state_throttle_reasons"),
            std::vector<std::string>({"", "sw_power_cap;hw_slowdown"}));
}

TEST(Csv, OfTwoMachinesIsOneTable) {
  RunRecord first = sample_run(), second = sample_backward_run();
  first.cases = {sample_timed_case()};
  second.environment.device.name = "NVIDIA H200";
  second.environment.device.uuid = "GPU-2";
  const std::vector<std::string> one = lines_of(cases_to_csv(first));
  const std::vector<std::string> other = lines_of(cases_to_csv(second));
  EXPECT_EQ(one.front(), other.front());
}

TEST(LeanCsv, HasTheOtherColumnsInTheSameOrder) {
  const RunRecord run = sample_run();
  ASSERT_GT(run.cases.size(), 1u);
  const std::vector<std::string> all = cells_of(lines_of(cases_to_csv(run)).front());
  const std::vector<std::string> lean = cells_of(lines_of(cases_to_lean_csv(run)).front());
  EXPECT_LT(2 * lean.size(), all.size());
  auto at = all.begin();
  for (const std::string& column : lean) {
    at = std::find(at, all.end(), column);
    ASSERT_NE(at, all.end()) << column;
  }
}

TEST(LeanCsv, HasTheSameValues) {
  RunRecord run = sample_backward_run();
  run.cases = {run.cases[0], sample_emulated_case()};
  for (const char* const column : {"id", "pass", "rel_l1", "dq_rel_l1", "device_name"}) {
    EXPECT_EQ(column_in(cases_to_lean_csv(run), column), column_of(run, column)) << column;
  }
}

TEST(LeanCsv, OfNoCaseNamesWhatNamesACase) {
  EXPECT_EQ(cases_to_lean_csv({}),
            "id,kernel,pass,batch,heads,seqlen_q,seqlen_k,head_dim,mask,dropout_p,status\n");
}

TEST(Csv, QuotesCommasQuotesAndLineBreaks) {
  RunRecord run;
  run.cases = {sample_emulated_case()};
  run.cases[0].reason = Reason{"E-X", "a \"b\", c\nd"};
  run.run.tags = {{"note", "1,2"}};
  const std::string csv = cases_to_csv(run);
  EXPECT_NE(csv.find(",E-X,\"a \"\"b\"\", c\nd\",true,"), std::string::npos) << csv;
  EXPECT_EQ(csv.substr(csv.size() - 7), ",\"1,2\"\n");
}

TEST(Csv, JoinsListsAndLeavesOutTheSamples) {
  RunRecord run;
  run.cases = {sample_timed_case()};
  run.cases[0].warnings.push_back({"W-SECOND", "", std::nullopt});
  const std::string csv = cases_to_csv(run);
  EXPECT_NE(
      csv.find(
          "W-THROTTLED;W-SECOND,0.824,0.83,0.81,0.9,0.01,0.82,0.84,0.003,3,noise,0.002,1,true,"),
      std::string::npos)
      << csv;
  EXPECT_NE(csv.find(",0;7;1;63,"), std::string::npos) << csv;
}

TEST(Csv, IsUtf8WhateverTheRecordHolds) {
  RunRecord run = sample_run();
  run.run.tags = {{"night\xff", "a\xff"}};
  run.cases[0].repro = "x\xff";
  EXPECT_TRUE(is_utf8(cases_to_csv(run)));
}

TEST(Csv, HasNoFormulaAndNoControlCharacters) {
  RunRecord run = sample_run();
  run.cases.resize(1);
  run.cases[0].kernel = "=cmd|' /C calc'!A0";
  run.run.tags = {{"night", "@SUM(A1)"}, {"e\x1b[8m", "\x1b[8mhidden"}};
  const std::string csv = cases_to_csv(run);
  EXPECT_NE(csv.find("'=cmd"), std::string::npos);
  EXPECT_EQ(csv.find(",=cmd"), std::string::npos);
  EXPECT_NE(csv.find(",'@SUM(A1)"), std::string::npos);
  EXPECT_EQ(csv.find('\x1b'), std::string::npos);
}

}  // namespace
}  // namespace sparkbench
