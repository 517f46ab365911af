#include "harness/run/case_report.h"

#include <gtest/gtest.h>

#include "results/record/test_run.h"

namespace sparkbench {
namespace {

CaseRecord measured_case() {
  CaseRecord record;
  record.id = "volta-fp32acc/fwd/b1/h2/sq256/sk256/d64/full/p0";
  record.kernel = "volta-fp32acc";
  record.accumulator = Accumulator::kFp32;
  record.flops = 4096000;
  record.bytes = 6400;
  record.memory_bytes = MemoryBytes{6400, 0, std::nullopt, 6400};
  record.repro = "sparkbench sweep --kernel volta-fp32acc";
  return record;
}

CaseRecord emulated_case() {
  CaseRecord record = measured_case();
  record.warnings = {{"W-EMULATED-NO-TIME", "there is no clock", std::nullopt}};
  Emulation counts;
  counts.tiles_run = counts.tiles_total = 8;
  counts.mma = 4000;
  counts.mufu = 500;
  counts.shared_wavefronts = 6000;
  counts.bank_conflicts = 60;
  counts.global_sectors_read = 300;
  counts.global_sectors_written = 60;
  counts.global_sectors_added = 40;
  record.emulation = counts;
  return record;
}

/// The value of a report's line, or "no such line".
std::string value_of(const std::string& report, const std::string& label) {
  const std::size_t line = report.find("\n  " + label + " ");
  if (line == std::string::npos) return "no such line";
  const std::size_t value = report.find_first_not_of(' ', line + 3 + label.size());
  return report.substr(value, report.find('\n', value) - value);
}

TEST(CaseReport, EndsWithHowToRepeatIt) {
  const std::string report = format_case_report(measured_case());
  EXPECT_EQ(report.substr(0, report.find('\n')), "volta-fp32acc");
  EXPECT_EQ(value_of(report, "repeat"), "sparkbench sweep --kernel volta-fp32acc");
  EXPECT_EQ(report.back(), '\n');
}

TEST(CaseReport, GivesTheStatusWithItsReason) {
  CaseRecord record = measured_case();
  record.status = Status::kSkipped;
  record.reason = Reason{"E-UNSUPPORTED", "head_dim 80"};
  const std::string report = format_case_report(record);
  EXPECT_EQ(value_of(report, "status"), "skipped");
  EXPECT_EQ(value_of(report, "reason"), "E-UNSUPPORTED: head_dim 80");
  EXPECT_EQ(value_of(report, "time"), "none: the case did not run");
}

TEST(CaseReport, HasTheErrorsOfEveryOutput) {
  CaseRecord record = sample_backward_run().cases.at(0);
  record.gradient_accuracy->o = sample_timed_case().accuracy;
  const std::string report = format_case_report(record);
  std::size_t count = 0;
  for (std::size_t at = report.find("errors of"); at != std::string::npos;
       at = report.find("errors of", at + 1)) {
    ++count;
  }
  EXPECT_EQ(count, 4u);
  EXPECT_EQ(value_of(report, "errors of").substr(0, 3), "o, ");
}

TEST(CaseReport, SaysWhyAnEmulatedCaseHasNoTime) {
  EXPECT_EQ(value_of(format_case_report(emulated_case()), "time"), "none: there is no clock");
}

TEST(CaseReport, SaysWhyAReferenceHasNoParts) {
  CaseRecord record = emulated_case();
  EXPECT_EQ(value_of(format_case_report(record), "parts"), "no such line");
  record.role = Role::kReference;
  EXPECT_EQ(value_of(format_case_report(record), "parts"), "none: there is no clock");
}

TEST(CaseReport, GivesThePartsOfAReference) {
  CaseRecord record = measured_case();
  record.role = Role::kReference;
  record.parts = PassParts{11, 4000.0, {}};
  record.parts->of = {{"S = scale Q K^T", 0.5, 1000000000, 200000000000, 0.5, 0.25},
                      {"P = softmax S", 0.25, 900000000, 0, 0.9, std::nullopt}};
  const std::string report = format_case_report(record);
  EXPECT_EQ(value_of(report, "parts"), "11 passes by themselves, medians; a copy moves 4000 GB/s");
  EXPECT_EQ(value_of(report, "  S = scale Q K^T"),
            "0.5 ms, 2000 GB/s (50.0 % of the copy), 400 TFLOP/s, 25.0 % of the peak");
  EXPECT_EQ(value_of(report, "  P = softmax S"), "0.25 ms, 3600 GB/s (90.0 % of the copy)");
  record.parts->copy_gbps.reset();
  record.parts->of[1].copy_fraction.reset();
  EXPECT_EQ(value_of(format_case_report(record), "  P = softmax S"), "0.25 ms, 3600 GB/s");
}

TEST(CaseReport, GivesMedianSpreadAndSamples) {
  CaseRecord record = measured_case();
  record.time_ms = TimeMs{0.824, 0.83, 0.81, 0.9, 0.01, 0.82, 0.84, {0.81, 0.824, 0.9}};
  record.noise = 0.012;
  record.sampling = Sampling{3, "time", 0};
  record.tflops = 83.5;
  record.peak_fraction = 0.668;
  const std::string report = format_case_report(record);
  EXPECT_EQ(value_of(report, "time"), "0.824 ms (median)");
  EXPECT_EQ(value_of(report, "mean"), "0.83 ms, standard deviation 0.01 ms");
  EXPECT_EQ(value_of(report, "range"), "0.81 to 0.9 ms");
  EXPECT_EQ(value_of(report, "quartiles"), "0.82 and 0.84 ms");
  EXPECT_EQ(value_of(report, "noise"), "1.2 %");
  EXPECT_EQ(value_of(report, "samples"), "3, stopped by time");
  EXPECT_EQ(value_of(report, "throughput"), "83.5 TFLOP/s, 66.8 % of the peak");
}

TEST(CaseReport, MarksATimeThatSaysNothing) {
  CaseRecord record = measured_case();
  record.time_ms = TimeMs{0.824, 0.83, 0.81, 0.9, 0.01, 0.82, 0.84, {0.81, 0.824, 0.9}};
  record.valid = false;
  record.warnings = {{"W-MMA884-EMULATED", "m8n8k4 runs on the CUDA cores", std::nullopt}};
  const std::string report = format_case_report(record);
  EXPECT_EQ(value_of(report, "time"), "0.824 ms (median), not valid: see the warnings");
  EXPECT_EQ(value_of(report, "warning"), "W-MMA884-EMULATED: m8n8k4 runs on the CUDA cores");
}

TEST(CaseReport, RelatesTheCountsOfAnEmulatedRun) {
  const std::string report = format_case_report(emulated_case());
  EXPECT_EQ(value_of(report, "mma"), "4000");
  EXPECT_NE(report.find("50.0 % of their FLOPs are useful"), std::string::npos) << report;
  EXPECT_EQ(value_of(report, "mufu"), "500, 125.0 per 1000 mma");
  EXPECT_EQ(value_of(report, "shared wavefronts"), "6000, 1.5 per mma");
  EXPECT_EQ(value_of(report, "bank conflicts"), "60, 1.00 % of the wavefronts");
  EXPECT_EQ(value_of(report, "global sectors"),
            "300 read, 60 written, 40 added to, 2 times the least bytes");
}

TEST(CaseReport, LeavesTheFlopsOfWgmmaOut) {
  CaseRecord record = emulated_case();
  record.kernel = "hopper-fp32acc";
  const std::string report = format_case_report(record);
  EXPECT_EQ(value_of(report, "mma"), "4000");
  EXPECT_EQ(report.find("are useful"), std::string::npos);
}

TEST(CaseReport, RelatesNoSampledCountsToTheWhole) {
  CaseRecord record = emulated_case();
  record.emulation->tiles_run = 2;
  const std::string report = format_case_report(record);
  EXPECT_EQ(report.find("are useful"), std::string::npos);
  EXPECT_EQ(value_of(report, "global sectors"), "300 read, 60 written, 40 added to");
}

TEST(CaseReport, DividesByNothingThatIsZero) {
  CaseRecord record = measured_case();
  record.emulation = Emulation{};
  const std::string report = format_case_report(record);
  EXPECT_EQ(value_of(report, "shared wavefronts"), "0");
  EXPECT_EQ(value_of(report, "bank conflicts"), "0");
  EXPECT_EQ(report.find("nan"), std::string::npos);
}

TEST(CaseReport, GivesEveryErrorAndTheWorstPlace) {
  CaseRecord record = measured_case();
  Accuracy accuracy;
  accuracy.oracle = "exact-fp64";
  accuracy.checked_elements = 32768;
  accuracy.rel_l1 = 2.5e-4;
  accuracy.worst_index = {0, 7, 1, 63};
  accuracy.worst_got = 0.5;
  accuracy.worst_want = 0.25;
  accuracy.error_over_unfused = 0.5;
  accuracy.mask_hash = "af63dc4c8601ec8c";
  record.accuracy = accuracy;
  EXPECT_EQ(value_of(format_case_report(record), "errors of"),
            "o, 32768 elements against exact-fp64");
  record.accuracy->checked_rows = 512;
  record.accuracy->weighted = true;
  record.accuracy->worst_row_rel_l1 = 0.005;
  record.accuracy->worst_row = {0, 3, 1};
  const std::string report = format_case_report(record);
  EXPECT_EQ(value_of(report, "errors of"),
            "o, 32768 elements of 512 sampled and weighted rows against exact-fp64");
  EXPECT_EQ(value_of(report, "worst row's rel_l1"), "0.5 % at batch 0, row 3, head 1");
  EXPECT_EQ(value_of(report, "rel_l1"), "0.025 %");
  EXPECT_EQ(value_of(report, "worst element"),
            "got 0.5, want 0.25 at batch 0, row 7, head 1, dim 63");
  EXPECT_EQ(value_of(report, "error_over_unfused"),
            "0.5 times the error of the unfused computation with FP32 accumulators");
  EXPECT_EQ(value_of(report, "mask hash"), "af63dc4c8601ec8c");
}

TEST(CaseReport, HasNoMetricsOfWhatIsNotFinite) {
  CaseRecord record = measured_case();
  record.accuracy.emplace();
  record.accuracy->mismatches = record.accuracy->nonfinite = 3;
  const std::string report = format_case_report(record);
  EXPECT_EQ(value_of(report, "metrics"), "none: the output is not finite");
  EXPECT_EQ(value_of(report, "mismatches"), "3, of which 3 not finite");
  EXPECT_EQ(value_of(report, "rel_l1"), "no such line");
}

TEST(RunHead, TellsTheShapesOfTensors) {
  RunRecord run;
  run.method.input = "tensors";
  run.method.input_file = "layer7.safetensors";
  run.cases = {measured_case()};
  EXPECT_EQ(value_of(format_run_head(run), "tensors"),
            "q [1, 1, 1, 64], k and v [1, 1, 1, 64], read as [batch, seqlen, heads, head_dim]");
}

TEST(RunHead, TellsTheProblemTheInputAndTheDevice) {
  RunRecord run;
  run.environment.device.name = "V100 (emulated)";
  run.environment.device.arithmetic = "volta";
  run.method.input = "normal";
  run.run.seed = 7;
  run.cases = {measured_case()};
  run.cases[0].problem.seqlen_q = 65;
  run.cases[0].problem.mask = MaskSpec::causal();
  const std::string head = format_run_head(run);
  EXPECT_EQ(value_of(head, "seqlen_q"), "65");
  EXPECT_EQ(value_of(head, "seqlen_k"), "1");
  EXPECT_EQ(value_of(head, "mask"), "causal");
  EXPECT_EQ(value_of(head, "input"), "normal, seed 7");
  EXPECT_EQ(value_of(head, "device"), "V100 (emulated), arithmetic volta");
}

TEST(WrappedReport, BreaksValuesBesideTheirLabels) {
  const std::string report =
      "volta-fp32acc\n"
      "  time                 none: an emulated device computes errors and counts\n"
      "  repeat               sparkbench run --device emulated-v100 --kernel volta-fp32acc\n";
  EXPECT_EQ(
      wrapped_report(report, {.width = 48, .wraps_text = true}),
      "volta-fp32acc\n"
      "  time                 none: an emulated device\n"
      "                       computes errors and\n"
      "                       counts\n"
      "  repeat               sparkbench run --device emulated-v100 --kernel volta-fp32acc\n");
  EXPECT_EQ(wrapped_report(report, {.width = 48}), report);
}

TEST(WrappedReport, KeepsAWordThatIsWiderThanTheLine) {
  const std::string line =
      "  id                   volta-fp32acc/fwd/b1/h2/sq128/sk128/d64/full/p0\n";
  EXPECT_EQ(wrapped_report(line, {.width = 40, .wraps_text = true}), line);
}

}  // namespace
}  // namespace sparkbench
