// The paths of the kernels as they are compiled, against the emulated machine: what the code of
// every warp does over a whole grid is what the source does. (The code: test_sm70_code.h.)
#include "harness/model/measure/instance_paths.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "harness/model/measure/test_sm70_code.h"
#include "harness/model/predict/v100_constants.h"
#include "kernels/base/sample.h"
#include "kernels/machine/emulated/blocks/launch.h"
#include "kernels/strided/kernel_passes.h"
#include "kernels/volta/backward/relay_plan.h"
#include "kernels/volta/short_blocks.h"
#include "reference/inputs/inputs.h"

namespace sparkbench {
namespace {

/// Warp instructions over a grid.
struct PathCounts {
  std::uint64_t mma = 0, mma_fp16acc = 0, shared_loads = 0, shared_stores = 0, global_atomics = 0;
  double barriers = 0.0;  // a block's, or a team's
  SharedAccesses shared;
};

void add_step(const SassInstruction& instruction, const PathStep& step, int warps,
              PathCounts& counts) {
  if (!step.is_executed) return;
  if (instruction.opcode == "HMMA" && instruction.has_modifier("STEP0")) {
    ++counts.mma;
    if (!instruction.has_modifier("F32")) ++counts.mma_fp16acc;
  }
  if (instruction.opcode == "LDS") ++counts.shared_loads;
  if (instruction.opcode == "STS") ++counts.shared_stores;
  if (instruction.opcode == "RED") ++counts.global_atomics;
  if (instruction.opcode == "BAR") {
    counts.barriers += 1.0 / (step.barrier_warps != 0 ? step.barrier_warps : warps);
  }
}

class InstancePaths : public testing::Test {
 protected:
  void SetUp() override {
    if (!is_sm70_code_named()) GTEST_SKIP() << kNoSm70Code;
    ASSERT_FALSE(sm70_functions().empty());
  }

  /// Adds what the instance does for the problem.
  static void add_paths(const std::string& id, const Problem& problem, PathCounts& counts) {
    const KernelInstance& instance = instance_of(id);
    const SassFunction& function = sm70_function_of(instance);
    const LaunchPaths paths = paths_of(function, instance, problem);
    const Extents grid = kernel_launch_of(instance, problem).grid;
    for (int z = 0; z < grid[2]; ++z) {
      for (int y = 0; y < grid[1]; ++y) {
        for (int x = 0; x < grid[0]; ++x) add_block(function, paths.of_block({x, y, z}), counts);
      }
    }
  }
  /// Paths of a backward pass with the dQ semaphore.
  static void add_relay_paths(const std::string& kernel, const Problem& problem,
                              PathCounts& counts) {
    const std::string dropout = problem.dropout().threshold != 0 ? "/dropout" : "";
    const int columns = problem.head_dim;
    add_paths(fmt::format("{}/bwd-statistics/d{}", kernel, columns), problem, counts);
    add_paths(fmt::format("{}/bwd/d{}{}/relay", kernel, columns, dropout), problem, counts);
  }

 private:
  static void add_block(const SassFunction& function, const FollowedBlock& block,
                        PathCounts& counts) {
    for (const WarpPath& path : block.paths) {
      for (const PathStep& step : path) {
        add_step(function.instructions[step.instruction], step,
                 static_cast<int>(block.paths.size()), counts);
      }
    }
    counts.shared += block.shared_accesses;
  }
};

constexpr std::size_t kVoltaBytes = std::size_t{96} << 10;   // of shared memory, for a block
constexpr std::size_t kTuringBytes = std::size_t{64} << 10;  // where instances of their own run

EmulationOptions options(std::size_t shared_bytes) {
  return {.profile = &arithmetic_profile("volta"),
          .detect = false,
          .shared_bytes_per_block = shared_bytes};
}

Counters emulated_forward(const std::string& kernel, const Problem& problem,
                          std::size_t shared_bytes = kVoltaBytes) {
  const OwnedInputs inputs = make_inputs(problem, Distribution::kNormal, 3);
  std::vector<Half> o(problem.q_elements());
  std::vector<float> lse(problem.lse_elements());
  const auto tensors = contiguous_tensors(problem, inputs.q.data(), inputs.k.data(),
                                          inputs.v.data(), o.data(), lse.data());
  return emulate_forward(*find_attention_kernel(kernel), problem, tensors, options(shared_bytes),
                         {})
      .counters;
}

Counters emulated_backward(const std::string& kernel, const Problem& problem, bool is_deterministic,
                           std::size_t shared_bytes = kVoltaBytes) {
  const OwnedInputs inputs = make_inputs(problem, Distribution::kNormal, 3);
  std::vector<Half> o(problem.q_elements()), d_o = o, dq = o, dk(problem.k_elements()), dv = dk;
  const std::vector<float> lse(problem.lse_elements(), 1.0f);
  const auto tensors =
      contiguous_tensors(problem, inputs.q.data(), inputs.k.data(), inputs.v.data(), o.data(),
                         d_o.data(), lse.data(), dq.data(), dk.data(), dv.data());
  return emulate_backward(*find_attention_kernel(kernel), problem, tensors, options(shared_bytes),
                          is_deterministic, {})
      .counters;
}

/// Loads of rows past the last are the compiler's to leave out, where a branch around their stores
/// takes them along; of whole blocks there are none.
void expect_same_loads(const PathCounts& path, const Counters& emulated, const Problem& problem) {
  const bool is_ragged = problem.seqlen_q % kSampleRows != 0 || problem.seqlen_k % kSampleRows != 0;
  if (!is_ragged) {
    EXPECT_EQ(path.shared_loads, emulated.shared_loads);
    EXPECT_EQ(path.shared.wavefronts, emulated.shared_wavefronts);
  } else {
    EXPECT_LE(path.shared_loads, emulated.shared_loads);
    EXPECT_GE(path.shared_loads, 0.9 * emulated.shared_loads);
    EXPECT_LE(path.shared.wavefronts, emulated.shared_wavefronts);
  }
}

void expect_same(const PathCounts& path, const Counters& emulated, const Problem& problem) {
  EXPECT_EQ(path.mma, emulated.mma_m8n8k4);
  EXPECT_EQ(path.mma_fp16acc, emulated.mma_fp16acc);
  EXPECT_EQ(path.shared_stores, emulated.shared_stores);
  EXPECT_EQ(path.global_atomics, emulated.global_atomics);
  EXPECT_NEAR(path.barriers, static_cast<double>(emulated.barriers), 1e-6);
  EXPECT_EQ(path.shared.unknown, 0u);
  EXPECT_EQ(path.shared.conflicts, emulated.bank_conflicts);
  expect_same_loads(path, emulated, problem);
}

struct Lengths {
  int seqlen_q, seqlen_k;
};

constexpr Lengths kLengths[] = {{256, 256}, {300, 300}, {130, 321}, {321, 70}};
constexpr MaskSpec kMasks[] = {MaskSpec::full(), MaskSpec::causal(), MaskSpec::window(100),
                               MaskSpec::band(20, 5), MaskSpec::prefix(150)};

/// Calls check(problem, name) for each mask, length and dropout.
template <class Check>
void for_each_problem(int head_dim, Check check) {
  for (const Lengths& lengths : kLengths) {
    for (const MaskSpec& mask : kMasks) {
      for (const float dropout_p : {0.0f, 0.1f}) {
        SCOPED_TRACE(testing::Message()
                     << "seqlen " << lengths.seqlen_q << " x " << lengths.seqlen_k << ", "
                     << name_of(mask) << ", dropout " << dropout_p);
        check(Problem{.batch = 1,
                      .heads = 1,
                      .seqlen_q = lengths.seqlen_q,
                      .seqlen_k = lengths.seqlen_k,
                      .head_dim = head_dim,
                      .mask = mask,
                      .dropout_p = dropout_p,
                      .seed = 11},
              dropout_p > 0 ? "/dropout" : "");
      }
    }
  }
}

/// A part of an instance's name, of those that have short blocks: of a forward kernel, and of a
/// deterministic backward one.
std::string short_part(const Problem& problem) {
  const int window = volta::short_forward_window(problem.head_dim, Accumulator::kFp32);
  return volta::wants_blocks(window, problem.head_dim, problem) ? "/short" : "";
}

std::string short_backward_part(const Problem& problem) {
  const bool is_short = volta::has_short_window(volta::kShortBackwardWindow, problem.key_mask());
  return problem.head_dim == 64 && is_short ? "/short" : "";
}

TEST_F(InstancePaths, OfForwardKernelsDoWhatTheSourceDoes) {
  for (const std::string kernel : {"volta-fp32acc", "volta-fp16acc"}) {
    for (const int head_dim : {64, 128}) {
      SCOPED_TRACE(kernel + ", " + std::to_string(head_dim));
      for_each_problem(head_dim, [&](const Problem& problem, const std::string& dropout) {
        PathCounts path;
        add_paths(fmt::format("{}/fwd/d{}{}{}", kernel, head_dim, dropout, short_part(problem)),
                  problem, path);
        expect_same(path, emulated_forward(kernel, problem), problem);
      });
    }
  }
}

TEST_F(InstancePaths, OfBackwardKernelsDoWhatTheSourceDoes) {
  for (const std::string kernel : {"volta-fp32acc", "volta-fp16acc"}) {
    for (const int head_dim : {64, 128}) {
      SCOPED_TRACE(kernel + ", " + std::to_string(head_dim));
      for_each_problem(head_dim, [&](const Problem& problem, const std::string& dropout) {
        PathCounts path;
        if (volta::has_relay(problem, false)) {
          add_relay_paths(kernel, problem, path);
        } else {
          add_paths(fmt::format("{}/bwd-statistics/d{}", kernel, head_dim), problem, path);
          add_paths(fmt::format("{}/bwd/d{}{}", kernel, head_dim, dropout), problem, path);
          add_paths(fmt::format("{}/bwd-round-dq/d{}", kernel, head_dim), problem, path);
        }
        expect_same(path, emulated_backward(kernel, problem, false), problem);
      });
    }
  }
}

TEST_F(InstancePaths, OfDeterministicKernelsDoWhatTheSourceDoes) {
  for (const std::string kernel : {"volta-fp32acc", "volta-fp16acc"}) {
    for (const int head_dim : {64, 128}) {
      SCOPED_TRACE(kernel + ", " + std::to_string(head_dim));
      for_each_problem(head_dim, [&](const Problem& problem, const std::string& dropout) {
        PathCounts path;
        add_paths(fmt::format("{}/bwd-statistics/d{}", kernel, head_dim), problem, path);
        const std::string last_part = dropout + short_backward_part(problem);
        add_paths(fmt::format("{}/bwd/d{}{}/deterministic", kernel, head_dim, last_part), problem,
                  path);
        add_paths(fmt::format("{}/bwd-dq/d{}{}", kernel, head_dim, last_part), problem, path);
        expect_same(path, emulated_backward(kernel, problem, true), problem);
      });
    }
  }
}

/// Heads of a group follow each other in a block of keys, and share K and V in one of queries.
TEST_F(InstancePaths, OfSharedKeysDoWhatTheSourceDoes) {
  for (const int head_dim : {64, 128}) {
    for (const MaskSpec& mask : {MaskSpec::full(), MaskSpec::causal(), MaskSpec::window(100)}) {
      SCOPED_TRACE(testing::Message() << head_dim << ", " << name_of(mask));
      const Problem problem{.heads = 6,
                            .seqlen_q = 300,
                            .seqlen_k = 321,
                            .head_dim = head_dim,
                            .mask = mask,
                            .heads_k = 2};
      const auto id = [&](const char* pass) {
        return fmt::format("volta-fp32acc/{}/d{}", pass, head_dim);
      };
      PathCounts forward, backward, deterministic;
      add_paths(id("fwd") + short_part(problem), problem, forward);
      expect_same(forward, emulated_forward("volta-fp32acc", problem), problem);
      const std::string last_part = short_backward_part(problem);
      if (volta::has_relay(problem, false)) {
        add_relay_paths("volta-fp32acc", problem, backward);
      } else {
        add_paths(id("bwd-statistics"), problem, backward);
        add_paths(id("bwd"), problem, backward);
        add_paths(id("bwd-round-dq"), problem, backward);
      }
      expect_same(backward, emulated_backward("volta-fp32acc", problem, false), problem);
      if (volta::has_relay(problem, true)) continue;
      add_paths(id("bwd-statistics"), problem, deterministic);
      add_paths(id("bwd") + last_part + "/deterministic", problem, deterministic);
      add_paths(id("bwd-dq") + last_part, problem, deterministic);
      expect_same(deterministic, emulated_backward("volta-fp32acc", problem, true), problem);
    }
  }
}

TEST_F(InstancePaths, OfInstancesForLessSharedMemoryDoToo) {
  for (const MaskSpec& mask : {MaskSpec::full(), MaskSpec::causal(), MaskSpec::window(100)}) {
    const Problem problem{.seqlen_q = 300, .seqlen_k = 300, .head_dim = 128, .mask = mask};
    SCOPED_TRACE(name_of(mask));
    PathCounts forward, backward, deterministic;
    const std::string of_short = short_part(problem);
    add_paths("volta-fp32acc/fwd/d128" + (of_short.empty() ? "/4" : of_short), problem, forward);
    expect_same(forward, emulated_forward("volta-fp32acc", problem, kTuringBytes), problem);
    for (PathCounts* const path : {&backward, &deterministic}) {
      add_paths("volta-fp32acc/bwd-statistics/d128", problem, *path);
    }
    add_paths("volta-fp32acc/bwd/d128/64/1", problem, backward);
    add_paths("volta-fp32acc/bwd-round-dq/d128", problem, backward);
    expect_same(backward, emulated_backward("volta-fp32acc", problem, false, kTuringBytes),
                problem);
    add_paths("volta-fp32acc/bwd/d128/deterministic/64/1", problem, deterministic);
    add_paths("volta-fp32acc/bwd-dq/d128", problem, deterministic);
    expect_same(deterministic, emulated_backward("volta-fp32acc", problem, true, kTuringBytes),
                problem);
  }
}

/// What data decide lies behind the loops: it is met once in a path, or once for each row.
TEST_F(InstancePaths, OfNoLoopDependOnData) {
  for (const KernelInstance& instance : kernel_instances()) {
    if (!is_native(instance.instruction, kModelledSm)) continue;
    SCOPED_TRACE(instance.id);
    const Problem problem{.seqlen_q = 1024,
                          .seqlen_k = 1024,
                          .head_dim = instance.head_dim,
                          .dropout_p = instance.has_dropout ? 0.1f : 0.0f};
    const SassFunction& function = sm70_function_of(instance);
    const FollowedBlock block = paths_of(function, instance, problem).of_block({0, 0, 0});
    for (const PathNote& note : block.notes) {
      EXPECT_EQ(note.doubt, PathDoubt::kUnknownBranch) << text_of(note, function);
      EXPECT_LE(note.times, block.paths.size()) << text_of(note, function);
    }
  }
}

}  // namespace
}  // namespace sparkbench
