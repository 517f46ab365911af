#include "harness/model/sass/loop_mix.h"

#include <gtest/gtest.h>

#include <cmath>

#include "harness/model/sass/mask_code.h"
#include "harness/model/sass/tensor_loops.h"
#include "harness/model/sass/test_listing.h"

namespace sparkbench {
namespace {

LoopMix mix_of(const std::vector<std::string>& instructions) {
  const SassFunction function = function_of(instructions);
  return count_mix(function, all_of(function));
}

// Counted by hand in testdata/small_forward.sass, 0xf0 to 0x400 without 0x210 to 0x2b0.
TEST(LoopMix, OfARecordedLoopIsAPersonsCount) {
  const auto function = parse_sass_listing(recorded_listing("sass"))[0];
  const auto loops = find_tensor_loops(function, find_mask_code(function, true));
  const LoopMix mix = count_mix(function, loops.front().path);
  EXPECT_EQ(mix.mma, 2.0);
  EXPECT_EQ(mix.count(InstructionClass::kTensor), 8);
  EXPECT_EQ(mix.count(InstructionClass::kFp32), 4);  // three IMAD, one FADD
  EXPECT_EQ(mix.count(InstructionClass::kAlu), 11);
  EXPECT_EQ(mix.count(InstructionClass::kXu), 5);
  EXPECT_EQ(mix.count(InstructionClass::kLds), 1);
  EXPECT_EQ(mix.count(InstructionClass::kSts), 1);
  EXPECT_EQ(mix.count(InstructionClass::kLdg), 1);
  EXPECT_EQ(mix.count(InstructionClass::kShfl), 2);
  EXPECT_EQ(mix.count(InstructionClass::kBarrier), 2);
  EXPECT_EQ(mix.count(InstructionClass::kControl), 4);
  EXPECT_EQ(mix.instructions, 39);
  EXPECT_EQ(mix.lsu_wavefronts, 4 + 4 + 4 + 1 + 1);
  EXPECT_EQ(mix.narrow_shared_accesses, 0);
  EXPECT_EQ(mix.data_shuffles, 1);

  const LoopCaps caps = caps_of(mix);
  EXPECT_DOUBLE_EQ(caps.issue, 16.0 / 39.0);
  EXPECT_DOUBLE_EQ(caps.lsu, 4.0 / 14.0);
  EXPECT_DOUBLE_EQ(caps.xu, 16.0 / 40.0);
  EXPECT_DOUBLE_EQ(caps.fp32, 16.0 / 8.0);
  EXPECT_DOUBLE_EQ(caps.alu, 16.0 / 22.0);
  EXPECT_DOUBLE_EQ(caps.tensor_port, 1.0);
}

TEST(LoopMix, CountsTwoStepsAnMmaInFp16) {
  const LoopMix mix = mix_of({"HMMA.884.F16.F16.STEP0 R2, R4.ROW, R6.COL, R2",
                              "HMMA.884.F16.F16.STEP1 R2, R4.ROW, R6.COL, R2",
                              "HADD2.F32 R8, -RZ, R2.H0_H0", "HFMA2 R3, R3, R3, R3"});
  EXPECT_EQ(mix.mma, 1.0);
  EXPECT_DOUBLE_EQ(caps_of(mix).issue, 2.0);
  EXPECT_DOUBLE_EQ(caps_of(mix).tensor_port, 8.0 / 12.0);
  EXPECT_TRUE(std::isinf(caps_of(mix).lsu));
  EXPECT_TRUE(std::isinf(caps_of(mix).xu));
}

TEST(LoopMix, CountsWavefrontsByWidth) {
  const LoopMix mix = mix_of({"LDS.U.128 R4, [R2]", "LDS.U.64 R4, [R2]", "LDS.U R4, [R2]",
                              "LDS.U.U16 R4, [R2]", "STS.64 [R2], R4", "STS [R2], R4",
                              "LDG.E.128.SYS R4, [R2]", "STG.E.SYS [R2], R4", "LDL.64 R4, [R1]",
                              "RED.E.ADD.F32.FTZ.RN.STRONG.GPU [R2], R4", "SHFL.BFLY PT, R5, R4"});
  EXPECT_EQ(mix.lsu_wavefronts, 4 + 2 + 1 + 1 + 2 + 1 + 4 + 1 + 2 + 1 + 1);
  EXPECT_EQ(mix.narrow_shared_accesses, 3);
}

TEST(LoopMix, CountsTheNeverExecutedAsIssueSlots) {
  const LoopMix mix = mix_of({"@!PT SHFL.IDX PT, RZ, RZ, RZ, RZ", "S2R R3, SR_TID.X"});
  EXPECT_EQ(mix.instructions, 2);
  EXPECT_EQ(mix.count(InstructionClass::kControl), 1);
  EXPECT_EQ(mix.count(InstructionClass::kOther), 1);
  EXPECT_EQ(mix.data_shuffles, 0);
}

TEST(LoopMix, TellsShufflesOfMaximaFromThoseOfData) {
  const std::string shuffle = "SHFL.BFLY PT, R1, R2, 0x2, 0x1f";
  EXPECT_EQ(mix_of({shuffle, "FMNMX R3, R2, R1, !PT"}).data_shuffles, 0);
  EXPECT_EQ(mix_of({"FMNMX R3, R2, R1, !PT", shuffle}).data_shuffles, 0);  // of the next pass
  EXPECT_EQ(mix_of({shuffle, "FMNMX R3, R2, R11, !PT", "FADD R3, R2, R1"}).data_shuffles, 1);
  EXPECT_EQ(mix_of({shuffle, "SEL R4, R1, R2, P0", "FMNMX R3, R2, R1, !PT"}).data_shuffles, 1);
  EXPECT_EQ(mix_of({shuffle}).data_shuffles, 1);
}

}  // namespace
}  // namespace sparkbench
