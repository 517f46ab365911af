#include "results/record/test_run.h"

#include <limits>

#include "results/record/case_id.h"
#include "results/record/record_fields.h"
#include "sweeps/work.h"

namespace sparkbench {
namespace {

Problem problem_of(int seqlen, bool causal) {
  Problem problem;
  problem.batch = 1;
  problem.heads = 2;
  problem.seqlen_q = problem.seqlen_k = seqlen;
  problem.head_dim = 64;
  problem.mask = MaskSpec::causal_if(causal);
  problem.dropout_p = 0.1f;
  problem.seed = 0xFEDCBA9876543210u;  // not exact in a double or a signed integer
  return problem;
}

CaseRecord case_of(const std::string& kernel, const Problem& problem) {
  CaseRecord record;
  record.problem = CaseProblem(Pass::kForward, problem);
  record.problem.input.reset();  // as in records older than this field
  record.problem.input_scale.reset();
  record.id = make_case_id(kernel, record.problem);
  record.config_hash = make_config_hash(record.id, problem.seed, {});
  record.kernel = kernel;
  record.flops = useful_flops(Pass::kForward, problem);
  record.bytes = compulsory_bytes(Pass::kForward, problem);
  record.memory_bytes = {record.bytes, 0, std::nullopt, record.bytes, std::nullopt};
  record.repro =
      "sparkbench run --kernel " + kernel + " --seqlen " + std::to_string(problem.seqlen_q);
  return record;
}

Accuracy accuracy_of(double rel_l1, double error_ratio) {
  Accuracy accuracy;
  accuracy.oracle = "exact-fp64";
  accuracy.checked_elements = 16384;
  accuracy.max_abs = rel_l1 / 2;
  accuracy.mean_abs = rel_l1 / 20;
  accuracy.rmse = rel_l1 / 15;
  accuracy.rel_l1 = rel_l1;
  accuracy.rel_l2 = rel_l1 * 1.25;
  accuracy.mean_rel = rel_l1 * 2;
  accuracy.max_rel = rel_l1 * 100;
  accuracy.rel_floor = 1e-3;
  accuracy.worst_index = {0, 7, 1, 63};
  accuracy.worst_got = 0.5;
  accuracy.worst_want = 0.5 + rel_l1 / 2;
  accuracy.error_ratio = accuracy.error_over_unfused = error_ratio;
  accuracy.lse_max_abs = 1e-6;
  accuracy.weighted = false;
  accuracy.worst_row_rel_l1 = rel_l1 * 3;
  accuracy.worst_row = {0, 7, 1};
  return accuracy;
}

CaseRecord emulated_case(const std::string& kernel, const Problem& problem, double rel_l1,
                         double error_ratio) {
  CaseRecord record = case_of(kernel, problem);
  record.accuracy = accuracy_of(rel_l1, error_ratio);
  record.accuracy->checked_elements = problem.q_elements();
  record.accuracy->checked_rows = problem.lse_elements();
  record.warnings = {{"W-EMULATED-NO-TIME", "an emulated device has no time", std::nullopt}};
  return record;
}

Accuracy gradient_of(const std::string& output, double rel_l1, double error_ratio) {
  Accuracy accuracy = accuracy_of(rel_l1, error_ratio);
  accuracy.output = output;
  accuracy.lse_max_abs.reset();
  accuracy.mask_hash = "af63dc4c8601ec8c";
  accuracy.output_hash = to_hex(fnv1a(output));
  return accuracy;
}

void turn_backward(CaseRecord& record) {
  const double rel_l1 = record.accuracy->rel_l1, error_ratio = *record.accuracy->error_ratio;
  const std::optional<double> over_unfused = record.accuracy->error_over_unfused;
  record.problem.pass = Pass::kBackward;
  record.id = make_case_id(record.kernel, record.problem);
  record.flops = useful_flops(Pass::kBackward, record.problem);
  record.bytes = compulsory_bytes(Pass::kBackward, record.problem);
  record.accuracy.reset();
  record.gradient_accuracy = GradientAccuracy{gradient_of("dq", rel_l1, error_ratio),
                                              gradient_of("dk", 2 * rel_l1, error_ratio),
                                              gradient_of("dv", 0.5 * rel_l1, error_ratio)};
  for (Accuracy GradientAccuracy::*gradient :
       {&GradientAccuracy::dq, &GradientAccuracy::dk, &GradientAccuracy::dv}) {
    Accuracy& accuracy = (*record.gradient_accuracy).*gradient;
    accuracy.error_over_unfused = over_unfused;
    accuracy.checked_elements = record.problem.q_elements();
    accuracy.checked_rows = record.problem.lse_elements();
  }
}

void append_problem(RunRecord& run, const Problem& problem, double unfused_error) {
  CaseRecord fp32 = emulated_case("volta-fp32acc", problem, 0.5 * unfused_error, 0.5);
  fp32.accumulator = Accumulator::kFp32;
  CaseRecord fp16 = emulated_case("volta-fp16acc", problem, 2 * unfused_error, 0.9);
  fp16.accumulator = Accumulator::kFp16;
  fp16.accuracy->error_over_unfused = 2.0;  // 0.9 of that with FP16 accumulators
  CaseRecord unfused = emulated_case("unfused-fp16", problem, unfused_error, 1.0);
  unfused.role = Role::kReference;
  unfused.accumulator = Accumulator::kFp32;
  run.cases.insert(run.cases.end(), {fp32, fp16, unfused});
}

CaseRecord unfinished_case(Status status, int seqlen, const std::string& message) {
  CaseRecord record = case_of("volta-fp16acc", problem_of(seqlen, false));
  record.accumulator = Accumulator::kFp16;
  record.status = status;
  record.reason = Reason{status == Status::kSkipped ? "E-OUT-OF-MEMORY" : "E-LAUNCH", message};
  return record;
}

}  // namespace

CaseRecord sample_emulated_case() {
  CaseRecord record = emulated_case("volta-fp32acc", problem_of(128, true), 3.5e-4, 0.54);
  record.accumulator = Accumulator::kFp32;
  record.emulation = Emulation{};
  record.emulation->host_seconds = 0.25;
  record.emulation->mma = 4096;
  record.emulation->shuffles = 7;
  return record;
}

CaseRecord sample_timed_case() {
  CaseRecord record = sample_emulated_case();
  record.emulation.reset();
  record.reason = Reason{"E-TOLERANCE", "rel_l2 is 3.1 times the unfused computation's"};
  record.warnings = {{"W-THROTTLED", "the clock fell below \"base\", twice", 0.25}};
  record.time_ms = TimeMs{0.824, 0.83, 0.81, 0.9, 0.01, 0.82, 0.84, {0.81, 0.824, 0.9}};
  record.noise = 0.003;
  record.sampling = Sampling{3, "noise", 0.002, 1, true, 3};
  record.clock_mhz = ClockMhz{1455, 1380, 1530, {1530, 1380, std::nullopt}};
  record.tflops = 83.5;
  record.gbps = 120.25;
  record.peak_fraction = 0.668;
  record.bandwidth_fraction = 0.134;
  record.memory_bytes->peak = 1 << 20;
  record.memory_bytes->unfused = 33 << 20;
  record.accuracy->dropout_kept_fraction = 0.8984375;
  record.accuracy->mask_hash = "af63dc4c8601ec8c";
  record.accuracy->bitwise_repeatable = true;
  record.accuracy->output_hash = "cbf29ce484222325";
  record.speedup = Speedup{"cublas-fp16", 7.92, 0.03, 6.526, true};
  record.problem.input = "outliers";
  record.problem.input_scale = 16;
  record.device = "cuda:3";
  record.position = 17;
  record.elapsed_s = 1.5;
  record.libraries = Libraries{{"cublas", "13.1.0"}, {"cudnn", "9.14.0"}};
  record.device_state = DeviceState{54, 612.5, {{"sw_power_cap", "hw_slowdown"}}};
  record.provenance = Provenance{
      "2025-01-31T12-00-00Z-2", "0.1.0", "abc", true, "NVIDIA H200", "gpu", "GPU-1", "580.95.05"};
  record.parts = PassParts{11, 4270.5, {{"P = softmax S", 0.25, 1 << 30, 0, 0.95, std::nullopt}}};
  return record;
}

CaseRecord sample_predicted_case() {
  CaseRecord record = sample_timed_case();
  record.predicted = Prediction{.chip = "V100-SXM2",
                                .basis = std::string(kPredictedByCycles),
                                .time_ms = {0.7, 0.8, 1.0},
                                .tflops = 86,
                                .clock_mhz = 1380,
                                .low_clock_mhz = 1530,
                                .binding = "tensor",
                                .speedup = PredictedSpeedup{"cublas-fp16", 5.5, 7.25, 9.5}};
  return record;
}

RunRecord sample_run() {
  RunRecord run;
  run.run.id = "2025-01-31T12-00-00Z-1";
  run.run.started_at = "2025-01-31T12:00:00Z";
  run.run.argv = {"sparkbench", "sweep", "--causal", "both"};
  run.run.resolved = {{"device", "emulated-v100"}};
  run.run.seed = 0xFEDCBA9876543210u;
  run.run.complete = true;
  run.build.version = "0.1.0";
  run.build.build_type = "Release";
  run.build.cxx_compiler = "GNU 12.2.0";
  run.environment.os = "Linux";
  run.environment.cpu = "a CPU";
  run.environment.device.name = "V100";
  run.environment.device.arithmetic = "volta";
  leave_untimed(run.method);
  run.method.timeout_s.reset();
  run.method.deterministic.reset();
  run.method.flop_convention = kFlopConvention;
  run.method.input = "normal";
  append_problem(run, problem_of(128, false), 8e-4);
  append_problem(run, problem_of(200, true), 2e-4);
  run.cases.push_back(unfinished_case(Status::kSkipped, 16384, "needs 32 GiB of 16 GiB"));
  run.cases.push_back(unfinished_case(Status::kFailed, 256, "misaligned address"));
  CaseRecord incorrect = unfinished_case(Status::kIncorrect, 64, "3 elements are not finite");
  incorrect.reason->code = "E-INCORRECT";
  incorrect.accuracy = accuracy_of(std::numeric_limits<double>::quiet_NaN(), 1.0);
  incorrect.accuracy->cosine_diff = std::numeric_limits<double>::quiet_NaN();
  incorrect.accuracy->error_ratio.reset();
  incorrect.accuracy->error_over_unfused.reset();
  incorrect.accuracy->lse_max_abs.reset();
  incorrect.accuracy->nonfinite = 3;
  run.cases.push_back(incorrect);
  return run;
}

RunRecord sample_backward_run() {
  RunRecord run = sample_run();
  run.cases.resize(6);
  run.method.deterministic = false;
  for (CaseRecord& record : run.cases) turn_backward(record);
  return run;
}

}  // namespace sparkbench
