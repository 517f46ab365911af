#include "harness/model/predict/cycles_file.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <sstream>
#include <stdexcept>

#include "harness/model/predict/test_cycles.h"
#include "kernels/registry.h"
#include "kernels/testing/messages.h"

namespace sparkbench {
namespace {

std::string error_of(const std::string& text) {
  return message_of<std::invalid_argument>([&] { cycles_from_json(text); });
}

/// The test's cycles as text, with the first `what` replaced.
std::string replaced(const std::string& what, const std::string& with) {
  std::string text = cycles_to_json(test_cycles());
  const std::size_t at = text.find(what);
  EXPECT_NE(at, std::string::npos) << what;
  return text.replace(at, what.size(), with);
}

void expect_equal(const InstanceCycles& a, const InstanceCycles& b) {
  EXPECT_EQ(a.id, b.id);
  EXPECT_EQ(a.code_hash, b.code_hash);
  EXPECT_EQ(a.threads, b.threads);
  EXPECT_EQ(a.blocks_per_sm, b.blocks_per_sm);
  EXPECT_EQ(a.loop_bytes, b.loop_bytes);
  EXPECT_EQ(a.binding, b.binding);
  for (std::size_t i = 0; i < a.stages.size(); ++i) {
    ASSERT_EQ(a.stages[i].size(), b.stages[i].size());
    for (std::size_t r = 0; r < a.stages[i].size(); ++r) {
      EXPECT_DOUBLE_EQ(a.stages[i][r].prologue, b.stages[i][r].prologue);
      EXPECT_DOUBLE_EQ(a.stages[i][r].full_tile, b.stages[i][r].full_tile);
      EXPECT_DOUBLE_EQ(a.stages[i][r].cut_tile, b.stages[i][r].cut_tile);
      EXPECT_DOUBLE_EQ(a.stages[i][r].epilogue, b.stages[i][r].epilogue);
      EXPECT_DOUBLE_EQ(a.stages[i][r].next_head, b.stages[i][r].next_head);
      EXPECT_DOUBLE_EQ(a.stages[i][r].more_part, b.stages[i][r].more_part);
      EXPECT_DOUBLE_EQ(a.stages[i][r].idle_part, b.stages[i][r].idle_part);
    }
  }
}

TEST(CyclesFile, ComesBackFromItsText) {
  const CyclesFile file = test_cycles();
  const CyclesFile read = cycles_from_json(cycles_to_json(file));
  EXPECT_EQ(read.sm, 70);
  EXPECT_EQ(read.toolkit, "11.8");
  ASSERT_EQ(read.instances.size(), 3u);
  for (const InstanceCycles& instance : file.instances) {
    ASSERT_NE(read.find(instance.id), nullptr) << instance.id;
    expect_equal(*read.find(instance.id), instance);
  }
  EXPECT_EQ(read.find("volta-fp16acc/fwd/d64"), nullptr);
}

TEST(CyclesFile, HasOneTextWhateverTheOrder) {
  CyclesFile reversed = test_cycles();
  std::reverse(reversed.instances.begin(), reversed.instances.end());
  EXPECT_EQ(cycles_to_json(reversed), cycles_to_json(test_cycles()));
}

TEST(CyclesFile, IsReadLineByLine) {
  CyclesFile file;
  file.toolkit = "11.8";
  file.instances = {test_instance("volta-fp32acc/fwd/d64", 2)};
  file.instances[0].stages[0][0].prologue = 1234.5678;
  EXPECT_EQ(cycles_to_json(file), R"({
  "schema": 4,
  "sm": 70,
  "toolkit": "11.8",
  "instances": {
    "volta-fp32acc/fwd/d64": {
      "code_hash": "0123456789abcdef", "threads": 128, "blocks_per_sm": 2, "loop_bytes": 20000, "binding": "issue",
      "forwarded": [[1234.57, 2000, 3000, 500, 250, 100, 10], [1500, 3000, 4500, 750, 375, 150, 15]],
      "no-reuse": [[1050, 2100, 3150, 525, 262.5, 105, 10.5], [1575, 3150, 4725, 787.5, 393.75, 157.5, 15.75]],
      "supply-16": [[1100, 2200, 3300, 550, 275, 110, 11], [1650, 3300, 4950, 825, 412.5, 165, 16.5]],
      "supply-8": [[1200, 2400, 3600, 600, 300, 120, 12], [1800, 3600, 5400, 900, 450, 180, 18]]
    }
  }
}
)");
}

TEST(CyclesFile, WithoutInstancesIsShort) {
  EXPECT_EQ(cycles_to_json({}),
            "{\n  \"schema\": 4,\n  \"sm\": 70,\n  \"toolkit\": \"\",\n  \"instances\": {}\n}\n");
}

TEST(CyclesFile, RefusesWhatIsNoCycles) {
  EXPECT_TRUE(error_of("{").starts_with("not JSON: "));
  EXPECT_EQ(error_of("[]"), "document: is array; allowed: an object");
  EXPECT_EQ(error_of("{}"), "schema: is missing");
  EXPECT_EQ(error_of(replaced("\"schema\": 4", "\"schema\": 2")),
            "schema: is 2; allowed: an integer from 4 to 4");
  EXPECT_EQ(error_of(replaced("\"sm\": 70", "\"sm\": 75")),
            "sm: is 75; allowed: an integer from 70 to 70");
  EXPECT_EQ(error_of(replaced("\"11.8\"", "11.8")), "toolkit: is 11.8; allowed: a string");
  EXPECT_EQ(error_of(replaced("\"sm\"", "\"chip\": 1, \"sm\"")),
            "chip: is no field; allowed: schema, sm, toolkit, instances");
  EXPECT_EQ(error_of("{\"schema\": 4, \"sm\": 70, \"toolkit\": \"\", \"instances\": []}"),
            "instances: is array; allowed: an object");
}

TEST(CyclesFile, RefusesBadFieldsOfAnInstance) {
  const std::string at = "instances.volta-fp32acc/bwd/d64.";  // the first of them
  EXPECT_EQ(error_of(replaced("\"threads\": 128, ", "")), at + "threads: is missing");
  EXPECT_TRUE(error_of(replaced("\"threads\"", "\"thraeds\""))
                  .starts_with(at + "thraeds: is no field, did you mean 'threads'?; allowed: "));
  EXPECT_EQ(error_of(replaced("128", "\"128\"")),
            at + "threads: is \"128\"; allowed: an integer from 32 to 1024");
  EXPECT_EQ(error_of(replaced("\"blocks_per_sm\": 1", "\"blocks_per_sm\": 0")),
            at + "blocks_per_sm: is 0; allowed: an integer from 1 to 32");
  EXPECT_EQ(error_of(replaced("20000", "-1")),
            at + "loop_bytes: is -1; allowed: an integer from 0 to 1073741824");
  EXPECT_EQ(error_of(replaced("0123456789abcdef", "0123456789ABCDEF")),
            at + "code_hash: is '0123456789ABCDEF'; allowed: 16 hexadecimal digits");
  EXPECT_EQ(error_of(replaced("\"issue\"", "\"\"")),
            at + "binding: is empty; allowed: a resource's name");
  EXPECT_EQ(error_of(replaced("\"threads\"", "\"registers\": 255, \"threads\"")),
            at + "registers: is no field; allowed: code_hash, threads, blocks_per_sm, loop_bytes, "
                 "binding, forwarded, no-reuse, supply-16, supply-8");
}

TEST(CyclesFile, RefusesBadCycles) {
  const std::string at = "instances.volta-fp32acc/bwd/d64.forwarded";
  EXPECT_EQ(error_of(replaced("[[1000, 2000, 3000, 500, 250, 100, 10]]", "7")),
            at + ": is number; allowed: an array of 1, one for each resident block");
  EXPECT_EQ(error_of(replaced("[[1000, 2000, 3000, 500, 250, 100, 10]]", "[]")),
            at + ": is an array of 0; allowed: an array of 1, one for each resident block");
  EXPECT_EQ(error_of(replaced("3000, 500, 250, 100, 10", "3000, 500, 250, 100")),
            at + "[0]: is an array of 6; allowed: an array of 7, prologue, full tile, cut tile, "
                 "epilogue, next head, more part, idle part");
  EXPECT_EQ(error_of(replaced(", 2000,", ", null,")),
            at + "[0][1]: is null; allowed: a number, at least 0");
  EXPECT_EQ(error_of(replaced(", 2000,", ", -2000,")),
            at + "[0][1]: is -2000; allowed: a number, at least 0");
  EXPECT_TRUE(error_of(replaced("\"forwarded\"", "\"forward\""))
                  .starts_with("instances.volta-fp32acc/bwd/d64.forward: is no field, did you mean "
                               "'forwarded'?; allowed: "));
}

TEST(CyclesFile, RefusesTwoInstancesOfOneId) {
  EXPECT_EQ(error_of(replaced("volta-fp32acc/fwd/d64", "volta-fp32acc/bwd/d64")),
            "volta-fp32acc/bwd/d64: is there twice");
}

TEST(CyclesFile, ThatIsCommittedIsAsItIsWritten) {
  std::ifstream stream(SPARKBENCH_VOLTA_CYCLES_FILE);
  std::ostringstream text;
  text << stream.rdbuf();
  EXPECT_EQ(cycles_to_json(cycles_from_json(text.str())), text.str());
  EXPECT_EQ(cycles_to_json(embedded_cycles()), text.str());
}

TEST(CyclesFile, ThatIsCommittedNamesInstancesOnly) {
  for (const InstanceCycles& cycles : embedded_cycles().instances) {
    const auto instances = kernel_instances();
    const auto is_it = [&](const KernelInstance& each) {
      return each.id == cycles.id && each.threads == cycles.threads;
    };
    EXPECT_TRUE(std::any_of(instances.begin(), instances.end(), is_it)) << cycles.id;
  }
}

TEST(CalibratedAssumption, IsWhatTheFindingsSay) {
  EXPECT_EQ(calibrated_assumption(R"({"findings": {"assumption": "supply-16"}})"),
            ChipAssumption::kSupply16);
  const auto refusal = [](const char* text) {
    return message_of<std::invalid_argument>([&] { calibrated_assumption(text); });
  };
  EXPECT_EQ(refusal(R"({"findings": {"assumption": null}})"),
            "findings.assumption: is null; allowed: forwarded, no-reuse, supply-16, supply-8, as "
            "--calibrate finds them on a V100");
  EXPECT_NE(refusal("{}").find("findings.assumption: is null"), std::string::npos);
  EXPECT_NE(refusal("text").find("not JSON"), std::string::npos);
}

}  // namespace
}  // namespace sparkbench
