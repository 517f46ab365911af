#include "harness/model/sm/timed_code.h"

#include <gtest/gtest.h>

#include "harness/model/sm/test_code.h"
#include "sweeps/usage_error.h"

namespace sparkbench {
namespace {

TimedInstruction timed(const std::string& text, const BankConflicts& conflicts = {}) {
  return time_code(code_of({{"S01", text}}), {}, conflicts).instructions.front();
}

TEST(TimedCode, DecodesTheControlField) {
  const ControlBits bits =
      decode_control(0x0f << 17 | 0b100010 << 11 | 3 << 8 | 5 << 5 | 1 << 4 | 9);
  EXPECT_EQ(bits.stall, 9);
  EXPECT_TRUE(bits.prefers_this_warp);
  EXPECT_EQ(bits.write, 5);
  EXPECT_EQ(bits.read, 3);
  EXPECT_EQ(bits.wait, 0b100010);
  EXPECT_EQ(bits.reuse, 0xf);
  EXPECT_EQ(format_control(bits), "B-1---5 R3 W5 - S09");
  EXPECT_EQ(format_control(decode_control(0x7e2)), "B------ R- W- Y S02");
}

TEST(TimedCode, ReadsBackWhatTestsWrite) {
  for (const std::string text : {"B-1---5 R3 W5 - S09", "B------ R- W- Y S15"}) {
    EXPECT_EQ(format_control(decode_control(parse_control(text))), text);
  }
}

TEST(TimedCode, KnowsPortsAndTensorWork) {
  const TimedInstruction f32 = timed("HMMA.884.F32.F32.STEP0 R8, R4.ROW, R6.COL, R8");
  EXPECT_EQ(f32.timing_class, TimingClass::kHmmaF32);
  EXPECT_EQ(f32.port, Port::kTensor);
  EXPECT_EQ(f32.flop, 512);
  EXPECT_EQ(f32.hold, 2);
  EXPECT_TRUE(f32.is_tensor);
  const TimedInstruction f16 = timed("HMMA.884.F16.F16.STEP0 R8, R4.ROW, R6.COL, R8");
  EXPECT_EQ(f16.timing_class, TimingClass::kHmmaF16);
  EXPECT_EQ(f16.flop, 1024);
  EXPECT_EQ(f16.hold, 4);
  EXPECT_EQ(timed("HFMA2 R0, R1, R2, R3").port, Port::kTensor);
  EXPECT_EQ(timed("MUFU.EX2 R0, R1").hold, 8);
  EXPECT_EQ(timed("BRA 0x0").port, Port::kNone);
  EXPECT_TRUE(timed("BRA 0x0").is_branch);
}

TEST(TimedCode, KeepsTheUnitOfWhatIsNeverExecuted) {
  const TimedInstruction never = timed("@!PT SHFL.IDX PT, RZ, RZ, RZ, RZ");
  EXPECT_TRUE(never.is_never_executed);
  EXPECT_EQ(never.timing_class, TimingClass::kShfl);
  EXPECT_FALSE(timed("@!PT HMMA.884.F32.F32.STEP0 R8, R4.ROW, R6.COL, R8").is_tensor);
}

TEST(TimedCode, CountsPassesOfSharedMemory) {
  EXPECT_EQ(timed("LDS.U.32 R0, [R1]").wavefronts, 1);
  EXPECT_EQ(timed("LDS.U.64 R0, [R1]").wavefronts, 2);
  EXPECT_EQ(timed("LDS.U.128 R0, [R1]").wavefronts, 4);
  EXPECT_EQ(timed("STS.U16 [R1], R0").wavefronts, 1);
  EXPECT_EQ(timed("SHFL.BFLY PT, R0, R1, 0x1, 0x1f").wavefronts, 1);
  EXPECT_EQ(timed("LDG.E.128.SYS R0, [R2]").bytes, 512);
  const BankConflicts conflicts{{{0x0, 8.0}}, {{"STS", 3.0}, {"LDS", 2.0}}};
  EXPECT_EQ(timed("STS.64 [R1], R0", conflicts).wavefronts, 16);
  EXPECT_EQ(timed("STS.64 [R1], R0", {{}, {{"STS", 3.0}}}).wavefronts, 6);
}

TEST(TimedCode, ReadsBarriers) {
  const auto plain = timed("BAR.SYNC.DEFER_BLOCKING 0x0").barrier;
  ASSERT_TRUE(plain);
  EXPECT_TRUE(plain->waits);
  EXPECT_EQ(plain->id, 0);
  EXPECT_EQ(plain->threads, 0);
  const auto named = timed("BAR.ARV 0x3, 0x80").barrier;
  EXPECT_FALSE(named->waits);
  EXPECT_EQ(named->id, 3);
  EXPECT_EQ(named->threads, 128);
  const auto team = timed("BAR.SYNC.DEFER_BLOCKING R204, 0x80").barrier;
  EXPECT_FALSE(team->id);
  EXPECT_EQ(team->threads, 128);
  EXPECT_FALSE(timed("EXIT").barrier);
}

TEST(TimedCode, ReadsLimitsOfPendingInstructions) {
  EXPECT_EQ(timed("DEPBAR.LE SB3, 0x2").limit.scoreboard, 3);
  EXPECT_EQ(timed("DEPBAR.LE SB3, 0x2").limit.most, 2);
  EXPECT_EQ(timed("EXIT").limit.scoreboard, -1);
}

TEST(TimedCode, RefusesAListingWithoutEncodings) {
  SassFunction function = code_of({{"S01", "EXIT"}});
  function.instructions[0].control.reset();
  try {
    time_code(function, {});
    FAIL();
  } catch (const UsageError& error) {
    EXPECT_TRUE(std::string(error.what()).starts_with("f: the listing has no encodings"));
  }
}

}  // namespace
}  // namespace sparkbench
