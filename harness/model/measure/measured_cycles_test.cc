#include "harness/model/measure/measured_cycles.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "harness/model/measure/instance_measurement.h"
#include "harness/model/predict/test_cycles.h"

namespace sparkbench {
namespace {

using Lines = std::vector<std::string>;

std::vector<std::string> v100_ids() {
  std::vector<std::string> ids;
  for (const KernelInstance* instance : v100_instances()) ids.emplace_back(instance->id);
  return ids;
}

bool is_one_of_v100(const std::string& id) {
  const std::vector<std::string> ids = v100_ids();
  return std::find(ids.begin(), ids.end(), id) != ids.end();
}

std::vector<const KernelInstance*> wanted(std::initializer_list<std::string_view> ids) {
  std::vector<const KernelInstance*> chosen;
  for (const KernelInstance* instance : v100_instances()) {
    if (std::find(ids.begin(), ids.end(), instance->id) != ids.end()) chosen.push_back(instance);
  }
  return chosen;
}

TEST(V100Instances, AreThoseThatAV100Launches) {
  EXPECT_TRUE(is_one_of_v100("volta-fp32acc/fwd/d128"));
  EXPECT_TRUE(is_one_of_v100("volta-fp32acc/bwd/d64/deterministic"));
  EXPECT_FALSE(is_one_of_v100("volta-fp32acc/fwd/d128/4"));           // for 64 KiB
  EXPECT_FALSE(is_one_of_v100("volta-fp32acc/bwd-statistics/d128"));  // without tiles
  EXPECT_FALSE(is_one_of_v100("hopper-fp32acc/fwd/d64"));             // without its instruction
}

TEST(V100Instances, AllHaveTheirCyclesInTheProgram) {
  std::vector<std::string> ids = v100_ids();
  std::vector<std::string> held;
  for (const InstanceCycles& cycles : embedded_cycles().instances) held.push_back(cycles.id);
  std::sort(ids.begin(), ids.end());
  std::sort(held.begin(), held.end());
  EXPECT_EQ(held, ids);
}

TEST(CyclesThatDiffer, AreNoneOfOneMeasurementRounded) {
  CyclesFile rounded = test_cycles();
  rounded.instances[0].stages[0][0].full_tile += 0.004;
  EXPECT_EQ(cycles_that_differ(test_cycles(), rounded, wanted({"volta-fp32acc/fwd/d64"})), Lines{});
}

TEST(CyclesThatDiffer, NameWhatIsAnother) {
  const auto both = wanted({"volta-fp32acc/fwd/d64", "volta-fp32acc/bwd/d64"});
  CyclesFile slower = test_cycles(), recompiled = test_cycles(), without = test_cycles();
  slower.instances[2].stages[3][0].cut_tile = 3601;
  CyclesFile bound = test_cycles();
  bound.instances[2].binding = "lsu";
  EXPECT_EQ(
      cycles_that_differ(test_cycles(), bound, both),
      (Lines{"volta-fp32acc/bwd/d64: its threads, the bytes of its loop, or what binds it are "
             "others"}));
  recompiled.instances[0].code_hash = "fedcba9876543210";
  without.instances.erase(without.instances.begin());
  EXPECT_EQ(cycles_that_differ(test_cycles(), slower, both),
            (Lines{"volta-fp32acc/bwd/d64: supply-8, 1 resident: 3601.00 cycles, where the "
                   "file has 3600.00"}));
  EXPECT_EQ(cycles_that_differ(test_cycles(), recompiled, both),
            (Lines{"volta-fp32acc/fwd/d64: its machine code is another"}));
  EXPECT_EQ(cycles_that_differ(without, test_cycles(), both),
            (Lines{"volta-fp32acc/fwd/d64: the file lacks it"}));
}

TEST(CyclesThatDiffer, KnowPartsOfTiles) {
  CyclesFile slower = test_cycles();
  slower.instances[2].stages[0][0].more_part = 101;
  EXPECT_EQ(cycles_that_differ(test_cycles(), slower, wanted({"volta-fp32acc/bwd/d64"})),
            (Lines{"volta-fp32acc/bwd/d64: forwarded, 1 resident: 101.00 cycles, where the file "
                   "has 100.00"}));
}

TEST(WithMeasured, ReplacesWhatIsMeasuredAlone) {
  CyclesFile measured = test_cycles();
  measured.instances.erase(measured.instances.begin() + 1, measured.instances.end());
  measured.instances[0].code_hash = "fedcba9876543210";
  measured.instances.push_back(test_instance("volta-fp16acc/fwd/d64", 2));
  const CyclesFile both = with_measured(test_cycles(), measured);
  EXPECT_EQ(both.toolkit, "11.8");
  EXPECT_EQ(both.instances.size(), 4u);
  EXPECT_EQ(both.find("volta-fp32acc/fwd/d64")->code_hash, "fedcba9876543210");
  EXPECT_EQ(both.find("volta-fp32acc/bwd/d64")->code_hash, "0123456789abcdef");
  EXPECT_NE(both.find("volta-fp16acc/fwd/d64"), nullptr);
}

SassFunction function_of(const std::string& operand, std::uint32_t control) {
  return {.symbol = "f",
          .sm = 70,
          .instructions = {
              {.address = 0, .opcode = "IADD3", .operands = {"R0", operand}, .control = control}}};
}

TEST(CodeHash, ChangesWithTextAndControlBits) {
  const std::string hash = code_hash(function_of("R1", 1));
  EXPECT_EQ(hash.size(), 16u);
  EXPECT_EQ(hash, code_hash(function_of("R1", 1)));
  EXPECT_NE(hash, code_hash(function_of("R2", 1)));
  EXPECT_NE(hash, code_hash(function_of("R1", 2)));
}

}  // namespace
}  // namespace sparkbench
