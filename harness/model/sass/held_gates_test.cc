#include "harness/model/sass/held_gates.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <fstream>

#include "harness/model/sass/test_listing.h"
#include "sweeps/usage_error.h"

namespace sparkbench {
namespace {

const std::string kName = "volta-fp32acc/fwd/d64";

std::vector<KernelInspection> recorded_kernels() {
  return inspect_listings(recorded_listing("sass"), recorded_listing("usage"));
}

using Lines = std::vector<std::string>;

TEST(HeldGates, AreThoseThatHold) {
  const HeldGates held = held_gates(recorded_kernels());
  ASSERT_EQ(held.size(), 1u);
  EXPECT_EQ(held.at(kName), (Lines{"stack_bytes", "local_accesses", "narrow_shared_accesses"}));
}

TEST(HeldGates, SurviveBeingWrittenAndRead) {
  const TemporaryFolder folder;
  const HeldGates held = {{"a/fwd/d64", {"masks", "barriers"}}, {"b/bwd/d64", {}}};
  std::ofstream(folder.path() / "gates.json") << format_held_gates(held);
  EXPECT_EQ(read_held_gates(folder.path() / "gates.json"), held);
  std::ofstream(folder.path() / "none.json") << format_held_gates({});
  EXPECT_EQ(read_held_gates(folder.path() / "none.json"), HeldGates());
}

TEST(HeldGates, ThatStillHoldAreNotBroken) {
  const auto kernels = recorded_kernels();
  EXPECT_EQ(broken_gates(held_gates(kernels), kernels, "*"), Lines{});
}

TEST(HeldGates, ThatBreakAreNamedWithValueAndLimit) {
  EXPECT_EQ(broken_gates({{kName, {"stack_bytes", "issue_cap"}}}, recorded_kernels(), "*"),
            Lines{kName + ": issue_cap: 0.4103, allowed: at least 1.2"});
  auto kernels = recorded_kernels();
  kernels[0].gates[1].value = 3.0;
  EXPECT_EQ(broken_gates({{kName, {"local_accesses"}}}, kernels, "*"),
            Lines{kName + ": local_accesses: 3, allowed: at most 0"});
}

TEST(HeldGates, ThatCanNoLongerBeToldAreBroken) {
  auto kernels = recorded_kernels();
  kernels[0].gates[7] = {"masks", std::nullopt, 0.0, false, "nothing is recognized"};
  EXPECT_EQ(broken_gates({{kName, {"masks"}}}, kernels, "*"),
            Lines{kName + ": masks: nothing is recognized"});
}

TEST(HeldGates, OfMissingKernelsAreBrokenIfAskedFor) {
  const HeldGates held = {{"volta-fp16acc/fwd/d64", {"masks"}}};
  EXPECT_EQ(broken_gates(held, recorded_kernels(), "*"),
            Lines{"volta-fp16acc/fwd/d64: the binary has no such kernel with a main loop"});
  EXPECT_EQ(broken_gates(held, recorded_kernels(), "volta-fp16acc").size(), 1u);
  EXPECT_EQ(broken_gates(held, recorded_kernels(), "volta-fp32acc"), Lines{});
}

void expect_refused(const std::string& text, const std::string& says) {
  const TemporaryFolder folder;
  std::ofstream(folder.path() / "gates.json") << text;
  try {
    read_held_gates(folder.path() / "gates.json");
    ADD_FAILURE() << "read: " << text;
  } catch (const UsageError& error) {
    const std::string message = error.what();
    EXPECT_EQ(message.rfind("--gates: ", 0), 0u) << message;
    EXPECT_NE(message.find(says), std::string::npos) << message;
    EXPECT_EQ(message.find('\n'), std::string::npos) << message;
  }
}

TEST(HeldGates, OfABadFileAreRefused) {
  expect_refused("{", "parse error");
  expect_refused("[1]", "allowed: a file that --write-gates wrote");
  expect_refused(R"({"a": ["isue_cap"]})",
                 "a has an unknown gate 'isue_cap', did you mean 'issue_cap'?; allowed: stack_");
  EXPECT_THROW(read_held_gates("/nowhere/gates.json"), UsageError);
  EXPECT_THROW(read_held_gates("/dev/zero"), UsageError);
  const TemporaryFolder folder;
  const auto pipe = folder.path() / "pipe";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_THROW(read_held_gates(pipe), UsageError);
}

}  // namespace
}  // namespace sparkbench
