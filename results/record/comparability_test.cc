#include "results/record/comparability.h"

#include <gtest/gtest.h>

#include "results/record/test_run.h"

namespace sparkbench {
namespace {

TEST(Comparability, IsNotTouchedByTimesHostsAndTimeouts) {
  RunRecord other = sample_run();
  other.run.id = "another";
  other.run.started_at = "2030-01-01T00:00:00Z";
  other.environment.cpu = "another";
  other.environment.os = "another";
  other.environment.device.memory_bytes = 1;
  other.method.timeout_s = 3.0;
  other.cases.clear();
  EXPECT_TRUE(find_differences(sample_run(), other).empty());
}

RunRecord gpu_run() {
  RunRecord run = sample_run();
  Environment& environment = run.environment;
  environment.driver_version = "580.95.05";
  environment.cublas_version = "13.1.0";
  DeviceInfo& device = environment.device;
  device.kind = DeviceKind::kGpu;
  device.name = "NVIDIA H200";
  device.uuid = "GPU-1";
  device.power_limit_w = 700;
  device.ecc = true;
  device.persistence_mode = true;
  device.memory_available_bytes = 1;
  device.state = DeviceState{40, 120, {{"gpu_idle"}}};
  run.cases.resize(2);
  run.cases[0].kernel = "cudnn";
  run.cases[0].libraries = Libraries{{"cudnn", "9.14.0"}};
  run.cases[1].kernel = "cublas-fp16";
  run.cases[1].libraries = Libraries{{"cublas", "13.1.0"}};
  return run;
}

std::vector<std::string> spelled(const std::vector<Difference>& differences) {
  std::vector<std::string> lines;
  for (const Difference& each : differences) {
    lines.push_back(std::string(each.of) + " " + each.field + " " + each.first + " " + each.second);
  }
  return lines;
}

using Lines = std::vector<std::string>;

TEST(Comparability, IsOfTheLibrariesThatEachKernelCalls) {
  RunRecord other = gpu_run();
  other.cases[0].libraries = Libraries{{"cudnn", "9.19.1"}};
  EXPECT_EQ(spelled(find_differences(gpu_run(), other)),
            Lines({"libraries libraries of cudnn: cudnn 9.14.0 9.19.1"}));
  other.cases.erase(other.cases.begin());
  EXPECT_EQ(spelled(find_differences(gpu_run(), other)), Lines());
}

/// Like another build of this project, and on emulated devices too.
TEST(Comparability, IsOfTheBuildOfAUsersKernel) {
  for (const DeviceKind kind : {DeviceKind::kGpu, DeviceKind::kEmulated}) {
    RunRecord run = gpu_run();
    run.environment.device.kind = kind;
    run.cases[0].kernel = "mine";
    run.cases[0].libraries = Libraries{{"mine", "1"}, {"a.so", file_hash_text("01")}};
    RunRecord other = run;
    EXPECT_EQ(spelled(find_differences(run, other)), Lines());
    other.cases[0].libraries = Libraries{{"mine", "2"}, {"a.so", file_hash_text("02")}};
    EXPECT_EQ(spelled(find_differences(run, other)),
              Lines({"build libraries of mine: a.so fnv1a 01 fnv1a 02",
                     "build libraries of mine: mine 1 2"}));
    other.cases.erase(other.cases.begin());
    EXPECT_EQ(spelled(find_differences(run, other)), Lines());
  }
}

TEST(Comparability, IsOfDriverPowerLimitAndEcc) {
  RunRecord other = gpu_run();
  other.environment.driver_version = "570.1";
  other.environment.device.power_limit_w = 500;
  other.environment.device.ecc = false;
  EXPECT_EQ(spelled(find_differences(gpu_run(), other)),
            Lines({"device environment.device.ecc true false",
                   "device environment.device.power_limit_w 700 500",
                   "libraries environment.driver_version 580.95.05 570.1"}));
}

TEST(Comparability, IsNotOfAMomentsState) {
  RunRecord other = gpu_run();
  other.environment.device.state = DeviceState{80, 700, {{"hw_thermal_slowdown"}}};
  other.environment.device.memory_available_bytes = 2;
  EXPECT_EQ(spelled(find_differences(gpu_run(), other)), Lines());
  EXPECT_EQ(spelled(find_doubts(gpu_run(), other)), Lines());
}

TEST(Comparability, OfAResumedRunIsOfTheCard) {
  RunRecord other = gpu_run();
  other.environment.device.uuid = "GPU-2";
  EXPECT_EQ(spelled(find_differences(gpu_run(), other)), Lines());
  EXPECT_EQ(spelled(find_changes(gpu_run(), other)),
            Lines({"device environment.device.uuid GPU-1 GPU-2"}));
  EXPECT_EQ(spelled(find_doubts(gpu_run(), other)),
            Lines({"device environment.device.uuid GPU-1 GPU-2"}));
  other.environment.device.uuid.reset();
  EXPECT_EQ(spelled(find_changes(gpu_run(), other)), Lines());
}

TEST(Comparability, DoubtsWhatOneRunDoesNotKnow) {
  RunRecord old = gpu_run();
  old.environment.driver_version = "supports CUDA 13.0";
  old.environment.device.ecc.reset();
  for (CaseRecord& record : old.cases) record.libraries.reset();
  EXPECT_EQ(spelled(find_differences(old, gpu_run())), Lines());
  EXPECT_EQ(spelled(find_doubts(old, gpu_run())),
            Lines({"device environment.device.ecc null true",
                   "libraries environment.driver_version null 580.95.05",
                   "libraries libraries of cudnn: cudnn null 9.14.0"}));
  old.environment.cublas_version = "12.9.1";  // which cublas-fp16 is known to call
  EXPECT_EQ(spelled(find_differences(old, gpu_run())),
            Lines({"libraries libraries of cublas-fp16: cublas 12.9.1 13.1.0"}));
}

TEST(Comparability, DoubtsAnotherHostUnlessItEmulates) {
  RunRecord other = gpu_run();
  other.environment.os = "another";
  EXPECT_EQ(spelled(find_doubts(gpu_run(), other)), Lines({"device environment.os Linux another"}));
  RunRecord emulated = sample_run();
  emulated.environment.os = "another";
  emulated.environment.driver_version = "570.1";
  EXPECT_EQ(spelled(find_differences(sample_run(), emulated)), Lines());
  EXPECT_EQ(spelled(find_doubts(sample_run(), emulated)), Lines());
}

TEST(Comparability, NamesWhatDiffers) {
  RunRecord other = sample_run();
  other.build.git_sha = "abc";
  other.environment.device.name = "H100";
  other.method.tolerance_ratio = 3.0;
  other.run.seed = 1;
  EXPECT_EQ(spelled(find_differences(sample_run(), other)),
            Lines({"build build.git_sha null abc", "device environment.device.name V100 H100",
                   "method method.tolerance_ratio 2 3", "method run.seed 18364758544493064720 1"}));
}

TEST(Comparability, CountsTheMemoryOfAGpu) {
  RunRecord first = sample_run();
  first.environment.device.kind = DeviceKind::kGpu;
  first.environment.device.memory_bytes = 2;
  RunRecord second = first;
  second.environment.device.memory_bytes = 1;
  EXPECT_EQ(find_differences(first, second).size(), 1u);
}

TEST(Comparability, IgnoresMemoryThatOthersTake) {
  RunRecord first = sample_run();
  first.environment.device.kind = DeviceKind::kGpu;
  first.environment.device.memory_available_bytes = std::uint64_t{15} << 30;
  RunRecord second = first;
  second.environment.device.memory_available_bytes = std::uint64_t{3} << 30;
  EXPECT_TRUE(find_differences(first, second).empty());
}

TEST(Comparability, IsOfWhatFilesHeld) {
  const auto run_of = [](const char* lengths, const char* zones, const char* tensors) {
    RunRecord run = sample_run();
    run.cases.resize(2);
    CaseProblem& packed = run.cases[0].problem;
    packed.lengths_spec = "file:l";
    packed.lengths_hash = lengths;
    packed.batch = 2;
    packed.total_q = packed.total_k = 14;
    run.cases[1].problem.pattern_spec = "sink:4+zones:z";
    run.cases[1].problem.zones_hash = zones;
    run.method.input_file = "t";
    run.method.input_hash = tensors;
    return run;
  };
  const RunRecord run = run_of("a", "b", "c");
  EXPECT_TRUE(find_differences(run, run_of("a", "b", "c")).empty());
  EXPECT_EQ(
      spelled(find_differences(run, run_of("x", "b", "c"))),
      Lines({"file 'l' of --lengths 2 sequences of 14 rows and 14 keys (hash a) 2 sequences of "
             "14 rows and 14 keys (hash x)"}));
  EXPECT_EQ(spelled(find_differences(run, run_of("a", "x", "c"))),
            Lines({"file 'z' of --mask of hash b of hash x"}));
  EXPECT_EQ(spelled(find_differences(run, run_of("a", "b", "x"))),
            Lines({"method hash of 't' of --tensors c x"}));
  RunRecord other = run_of("x", "x", "c");
  other.cases[0].problem.lengths_spec = "file:m";
  other.cases[1].problem.pattern_spec = "zones:y";
  EXPECT_TRUE(find_differences(run, other).empty()) << "of files with other names";
}

}  // namespace
}  // namespace sparkbench
