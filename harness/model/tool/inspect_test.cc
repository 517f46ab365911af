// sparkbench-model inspect, with a fake disassembler that prints recorded listings.
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "harness/model/tool/test_model_program.h"

namespace sparkbench {
namespace {

const std::string kTestData = SPARKBENCH_TESTDATA;

/// A folder with a fake cuobjdump, which runs `script` with the flag as $1.
class CommandInspect : public testing::Test {
 protected:
  CommandInspect() {
    write_tool("case $1 in\n-sass) cat " + kTestData + "/small_forward.sass ;;\n*) cat " +
               kTestData + "/small_forward.usage ;;\nesac\n");
    std::ofstream(folder_.path() / "binary") << "code";
  }

  void write_tool(const std::string& script) {
    std::ofstream(folder_.path() / "cuobjdump") << "#!/bin/sh\n" << script;
    std::filesystem::permissions(folder_.path() / "cuobjdump", std::filesystem::perms::owner_all);
  }

  std::string path(const std::string& name) const { return path_in(folder_, name); }

  ProgramResult inspect(const std::string& flags) const {
    return run_model("inspect --cuobjdump " + path("cuobjdump") + " --binary " + path("binary") +
                     " " + flags);
  }

  TemporaryFolder folder_;
};

ProgramResult run_with_path(const std::string& path, const std::string& arguments) {
  const std::string old_path = std::getenv("PATH");
  setenv("PATH", path.c_str(), 1);
  ProgramResult result = run_model(arguments);
  setenv("PATH", old_path.c_str(), 1);
  return result;
}

TEST_F(CommandInspect, PrintsTablesThoughGatesDoNotHold) {
  const ProgramResult result = inspect("");
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_EQ(result.err, "");
  EXPECT_TRUE(contains(result.out, "volta-fp32acc/fwd/d64")) << result.out;
  EXPECT_TRUE(contains(result.out, "BREAKS")) << result.out;
}

TEST_F(CommandInspect, PrintsOneJsonDocument) {
  const ProgramResult result = inspect("--json");
  EXPECT_EQ(result.exit_code, 0);
  const auto document = nlohmann::json::parse(result.out);
  EXPECT_EQ(document["binary"], path("binary"));
  EXPECT_EQ(document["kernels"][0]["name"], "volta-fp32acc/fwd/d64");
}

TEST_F(CommandInspect, SelectsByKernelOrInstance) {
  for (const std::string glob : {"volta-fp32acc", "volta-*/fwd/d64", "volta-fp32acc/*"}) {
    EXPECT_EQ(inspect("--kernel " + glob).exit_code, 0) << glob;
  }
  expect_model_refused(inspect("--kernel volta-fp16acc"), 2, "--kernel: unknown 'volta-fp16acc'");
  expect_model_refused(
      inspect("--kernel volta-fp16acc"), 2,
      "did you mean 'volta-fp32acc'?; allowed: volta-fp32acc, or one of their instances");
  expect_model_refused(inspect("--kernel volta-fp32acc/fdw/d64"), 2,
                       "did you mean 'volta-fp32acc/fwd/d64'?");
}

TEST_F(CommandInspect, WritesGatesThatThenHold) {
  EXPECT_EQ(inspect("--write-gates " + path("gates.json")).exit_code, 0);
  EXPECT_TRUE(contains(text_of_file(folder_.path() / "gates.json"), "\"stack_bytes\""));
  EXPECT_EQ(inspect("--gates " + path("gates.json")).exit_code, 0);
}

TEST_F(CommandInspect, NamesAGateThatNoLongerHolds) {
  std::ofstream(folder_.path() / "gates.json") << R"({"volta-fp32acc/fwd/d64": ["issue_cap"]})";
  const ProgramResult result = inspect("--json --gates " + path("gates.json"));
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_EQ(result.err,
            "sparkbench-model: a gate that used to pass fails: volta-fp32acc/fwd/d64: issue_cap: "
            "0.4103, allowed: at least 1.2\n");
  EXPECT_EQ(nlohmann::json::parse(result.out)["broken_gates"].size(), 1u);
}

TEST_F(CommandInspect, RefusesToWriteSomeKernelsGates) {
  expect_model_refused(inspect("--kernel volta-* --write-gates " + path("gates.json")), 2,
                       "--write-gates: writes the gates of all kernels; allowed: without --kernel");
  expect_model_refused(inspect("--write-gates " + path("missing/gates.json")), 5, "--write-gates");
}

TEST_F(CommandInspect, NamesWhatABuildLacks) {
  const ProgramResult result = inspect("--require-sm 70");
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_TRUE(contains(result.err, "sparkbench-model: sm_70 has no volta-fp32acc/fwd/d128\n"));
  EXPECT_FALSE(contains(result.err, "volta-fp32acc/fwd/d64\n"));
  EXPECT_TRUE(contains(inspect("--require-sm 70,75").err, "sm_75 has no volta-fp32acc/fwd/d64\n"));
}

TEST_F(CommandInspect, AsksForKernelsThatAGlobMatches) {
  EXPECT_EQ(inspect("--require-sm 70 --kernel volta-fp32acc/fwd/d64").exit_code, 0);
  const ProgramResult result = inspect("--require-sm 70,75 --kernel volta-fp32acc/fwd/d64");
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_EQ(result.err, "sparkbench-model: sm_75 has no volta-fp32acc/fwd/d64\n");
}

TEST_F(CommandInspect, RefusesBadRequiredArchitectures) {
  EXPECT_EQ(inspect("--require-sm volta").exit_code, 2);
  EXPECT_EQ(inspect("--require-sm -70").exit_code, 2);
}

TEST_F(CommandInspect, RefusesGatesFilesThatItCannotUse) {
  expect_model_refused(inspect("--gates " + path("none.json")), 2, "none.json cannot be read");
  std::ofstream(folder_.path() / "gates.json") << "{";
  expect_model_refused(inspect("--gates " + path("gates.json")), 2, "--write-gates wrote");
}

TEST_F(CommandInspect, RefusesBinariesWithoutWhatItLooksFor) {
  expect_model_refused(
      run_model("inspect --cuobjdump " + path("cuobjdump") + " --binary " + path("nothing")), 2,
      "nothing is no file that can be read; allowed: an executable");
  write_tool("echo \"cuobjdump info    : File '$2' does not contain device code\"; exit 255\n");
  expect_model_refused(inspect(""), 2,
                       "--binary: " + path("binary") + " holds no GPU code; allowed");
  write_tool("true\n");
  expect_model_refused(inspect(""), 2, "holds no attention kernel; allowed");
}

TEST_F(CommandInspect, RefusesGatesWithoutCodeForSm70) {
  write_tool(
      "case $1 in\n-sass) printf 'code for sm_80\\n Function : f\\n /*0000*/ EXIT ;\\n' ;;\n"
      "*) printf ' Function f:\\n  REG:8 STACK:0 SHARED:0 LOCAL:0\\n' ;;\nesac\n");
  EXPECT_EQ(inspect("").exit_code, 0);
  expect_model_refused(inspect("--write-gates " + path("gates.json")), 2,
                       "no main loop for sm_70 to judge; allowed with --gates and --write-gates");
}

TEST_F(CommandInspect, RefusesADisassemblerThatIsNoneOrFails) {
  expect_model_refused(
      run_model("inspect --cuobjdump /nowhere/cuobjdump --binary " + path("binary")), 2,
      "--cuobjdump: /nowhere/cuobjdump is no program that can be run");
  write_tool("echo 'nvdisasm not found' >&2; exit 1\n");
  expect_model_refused(inspect(""), 3, "failed with exit status 1: nvdisasm not found");
}

TEST_F(CommandInspect, SaysWhereCuobjdumpComesFrom) {
  const ProgramResult result = run_with_path("/nowhere", "inspect --binary " + path("binary"));
  expect_model_refused(result, 3, "no cuobjdump on PATH: it comes with the CUDA toolkit");
}

TEST_F(CommandInspect, FindsAToolNamedWithoutAFolderOnPath) {
  write_tool("echo 'of PATH' >&2; exit 1\n");
  const std::string command = " --binary " + path("binary");
  expect_model_refused(
      run_with_path(folder_.path().string(), "inspect --cuobjdump cuobjdump" + command), 3,
      "failed with exit status 1: of PATH");
  expect_model_refused(run_with_path("/nowhere", "inspect --cuobjdump cuobjdump" + command), 2,
                       "--cuobjdump: cuobjdump is no program that can be run");
}

}  // namespace
}  // namespace sparkbench
