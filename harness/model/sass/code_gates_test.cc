#include "harness/model/sass/code_gates.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "harness/model/sass/kernel_inspection.h"
#include "harness/model/sass/test_listing.h"

namespace sparkbench {
namespace {

/// A forward kernel that holds every gate: 128 rows of four warps, 64 keys a pass, so that a lane
/// computes 64 scores.
KernelInspection sound_kernel() {
  KernelInspection kernel{.name = "volta-fp32acc/fwd/d64", .sm = 70, .resources = {}};
  kernel.instance = KernelInstance{.id = "volta-fp32acc/fwd/d64",
                                   .symbol = "volta_fp32acc_fwd_d64",
                                   .instruction = MmaInstruction::kM8n8k4,
                                   .accumulator = Accumulator::kFp32,
                                   .head_dim = 64,
                                   .has_dropout = false,
                                   .products = 2,
                                   .threads = 128,
                                   .dynamic_shared_bytes = 0,
                                   .block_rows = 128,
                                   .step_columns = 64,
                                   .limits = {2, 64, 2.0, 1.2}};
  kernel.masks = 64;
  LoopInspection loop{};
  loop.mix.counts[static_cast<std::size_t>(InstructionClass::kBarrier)] = 2;
  loop.mix.data_shuffles = 16;
  loop.caps.issue = 1.2;
  loop.caps.lsu = 1.2;
  loop.scores = 2048.0;
  loop.columns = 64.0;
  kernel.loops = {loop};
  return kernel;
}

std::optional<bool> verdict(const KernelInspection& kernel, std::string_view name) {
  const auto gates = judge(kernel);
  const auto gate = std::find_if(gates.begin(), gates.end(),
                                 [&](const GateResult& result) { return result.name == name; });
  return gate->holds();
}

TEST(CodeGates, AllHoldForASoundKernelInOrder) {
  const auto gates = judge(sound_kernel());
  ASSERT_EQ(gates.size(), gate_names().size());
  for (std::size_t i = 0; i < gates.size(); ++i) {
    EXPECT_EQ(gates[i].name, gate_names()[i]);
    EXPECT_EQ(gates[i].holds(), true) << gates[i].name;
  }
}

TEST(CodeGates, BreakOnStackAndLocalMemory) {
  KernelInspection kernel = sound_kernel();
  kernel.resources.stack_bytes = 8;
  kernel.local_accesses = 1;
  EXPECT_EQ(verdict(kernel, "stack_bytes"), false);
  EXPECT_EQ(verdict(kernel, "local_accesses"), false);
}

TEST(CodeGates, BreakOnOneNarrowAccess) {
  KernelInspection kernel = sound_kernel();
  kernel.loops[0].mix.narrow_shared_accesses = 1;
  EXPECT_EQ(verdict(kernel, "narrow_shared_accesses"), false);
}

TEST(CodeGates, CountBarriersForTheColumnsOfTheLimit) {
  KernelInspection kernel = sound_kernel();
  int& barriers = kernel.loops[0].mix.counts[static_cast<std::size_t>(InstructionClass::kBarrier)];
  barriers = 3;
  EXPECT_EQ(verdict(kernel, "barriers"), false);
  kernel.loops[0].columns = 128.0;
  EXPECT_EQ(verdict(kernel, "barriers"), true);
  barriers = 4;
  EXPECT_EQ(verdict(kernel, "barriers"), true);
  kernel.loops[0].columns = 32.0;
  EXPECT_EQ(verdict(kernel, "barriers"), false);
}

TEST(CodeGates, CountBarriersForAStep) {
  KernelInspection kernel = sound_kernel();
  int& barriers = kernel.loops[0].mix.counts[static_cast<std::size_t>(InstructionClass::kBarrier)];
  kernel.instance->limits.barriers = 4;
  kernel.instance->limits.barrier_columns = 32;
  kernel.loops[0].columns = 32.0;
  barriers = 4;
  EXPECT_EQ(verdict(kernel, "barriers"), true);
  barriers = 5;
  EXPECT_EQ(verdict(kernel, "barriers"), false);
  kernel.loops[0].columns = 64.0;  // two steps a pass
  EXPECT_EQ(verdict(kernel, "barriers"), true);
}

TEST(CodeGates, CountDataShufflesForEightScores) {
  KernelInspection kernel = sound_kernel();
  kernel.loops[0].mix.data_shuffles = 17;
  EXPECT_EQ(verdict(kernel, "data_shuffles"), false);
  kernel.instance->limits.data_shuffles = 0.0;
  kernel.loops[0].mix.data_shuffles = 1;
  EXPECT_EQ(verdict(kernel, "data_shuffles"), false);
  kernel.loops[0].mix.data_shuffles = 0;
  EXPECT_EQ(verdict(kernel, "data_shuffles"), true);
}

TEST(CodeGates, AskTheCapOfTheLimits) {
  KernelInspection kernel = sound_kernel();
  kernel.loops[0].caps.issue = 1.19;
  kernel.loops[0].caps.lsu = 1.0;
  EXPECT_EQ(verdict(kernel, "issue_cap"), false);
  EXPECT_EQ(verdict(kernel, "lsu_cap"), false);
  kernel.instance->limits.cap = 1.0;
  EXPECT_EQ(verdict(kernel, "issue_cap"), true);
  EXPECT_EQ(verdict(kernel, "lsu_cap"), true);
  kernel.loops[0].caps.lsu = 0.99;
  EXPECT_EQ(verdict(kernel, "lsu_cap"), false);
}

TEST(CodeGates, BreakOnMasksWhereMasksAreKnown) {
  KernelInspection kernel = sound_kernel();
  kernel.loops[0].masks = 1;
  EXPECT_EQ(verdict(kernel, "masks"), false);
  kernel.loops[0].masks = 0;
  kernel.masks = 8;
  EXPECT_EQ(verdict(kernel, "masks"), true);
  kernel.masks = 7;
  EXPECT_EQ(verdict(kernel, "masks"), std::nullopt);
}

TEST(CodeGates, OfOtherKernelsAreTheCodesAlone) {
  KernelInspection kernel = sound_kernel();
  kernel.instance.reset();
  kernel.loops[0].scores.reset();
  kernel.loops[0].columns.reset();
  EXPECT_EQ(verdict(kernel, "barriers"), std::nullopt);
  EXPECT_EQ(verdict(kernel, "data_shuffles"), std::nullopt);
  EXPECT_EQ(verdict(kernel, "issue_cap"), true);
}

TEST(CodeGates, FailOnNaN) {
  EXPECT_EQ((GateResult{"issue_cap", NAN, 1.2, true}).holds(), false);
  EXPECT_EQ((GateResult{"masks", NAN, 0.0, false}).holds(), false);
}

// One pass of the recorded loop: two products of one mma each, 2048 / 128 = 16 scores of a warp.
TEST(Inspection, OfARecordedKernelHasLoopAndVerdicts) {
  const auto kernels = inspect_listings(recorded_listing("sass"), recorded_listing("usage"));
  ASSERT_EQ(kernels.size(), 1u);
  const KernelInspection& kernel = kernels[0];
  EXPECT_EQ(kernel.name, "volta-fp32acc/fwd/d64");
  EXPECT_EQ(kernel.tensor_instructions, 8);
  EXPECT_EQ(kernel.local_accesses, 0);
  EXPECT_EQ(kernel.masks, 4);
  ASSERT_NE(kernel.main_loop(), nullptr);
  EXPECT_EQ(kernel.main_loop()->scores, 16.0);
  EXPECT_EQ(verdict(kernel, "stack_bytes"), true);
  EXPECT_EQ(verdict(kernel, "narrow_shared_accesses"), true);
  EXPECT_EQ(verdict(kernel, "data_shuffles"), false);  // one for half a score of a lane
  EXPECT_EQ(verdict(kernel, "issue_cap"), false);
  EXPECT_EQ(verdict(kernel, "masks"), std::nullopt);  // it hides half of a fragment
}

TEST(Inspection, OfAnotherArchitectureIsAPlainReport) {
  const auto kernels = inspect_listings(
      "code for sm_80\n Function : f\n /*0000*/ HMMA.16816.F32 R4, R4, R8, R4 ;\n"
      " /*0010*/ @P0 BRA 0x0 ;\n",
      "arch = sm_80\n Function f:\n  REG:12 STACK:0 SHARED:4 LOCAL:0\n");
  ASSERT_EQ(kernels.size(), 1u);
  EXPECT_EQ(kernels[0].sm, 80);
  EXPECT_EQ(kernels[0].resources.registers, 12);
  EXPECT_EQ(kernels[0].tensor_instructions, 1);
  EXPECT_TRUE(kernels[0].loops.empty());
  EXPECT_TRUE(kernels[0].gates.empty());
}

TEST(Inspection, CountsWgmmaOfCodeForHopperAlone) {
  const auto kernels = inspect_listings(
      "code for sm_90a\n Function : hopper_fp32acc_fwd_d64\n"
      " /*0000*/ HGMMA.64x64x16.F32 R24, gdesc[UR4], RZ, !UPT, gsb0 ;\n"
      " /*0010*/ @P0 BRA 0x0 ;\n",
      "arch = sm_90a\n Function hopper_fp32acc_fwd_d64:\n"
      "  REG:128 STACK:8 SHARED:0 LOCAL:0\n");
  ASSERT_EQ(kernels.size(), 1u);
  EXPECT_EQ(kernels[0].name, "hopper-fp32acc/fwd/d64");
  EXPECT_EQ(kernels[0].sm, 90);
  EXPECT_EQ(kernels[0].tensor_instructions, 1);
  EXPECT_EQ(kernels[0].resources.stack_bytes, 8);
  ASSERT_TRUE(kernels[0].occupancy);
  EXPECT_EQ(kernels[0].occupancy->blocks, 1);
  EXPECT_TRUE(kernels[0].loops.empty());
  EXPECT_TRUE(kernels[0].gates.empty());
}

TEST(Inspection, PassesOverOtherKernelsOfSm70) {
  EXPECT_TRUE(inspect_listings("code for sm_70\n Function : f\n /*0000*/ EXIT ;\n",
                               " Function f:\n  REG:12 STACK:0 SHARED:4 LOCAL:0\n")
                  .empty());
}

}  // namespace
}  // namespace sparkbench
