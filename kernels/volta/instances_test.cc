// The table of what is compiled, against what a GPU can run and what the gates on file name.
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <string>

#include "kernels/registry.h"
#include "kernels/volta/dispatch.h"
#include "kernels/volta/instance_table.h"
#include "kernels/volta/short_blocks.h"

namespace sparkbench::volta {
namespace {

constexpr std::size_t kVolta = 96 << 10, kTuring = 64 << 10;
constexpr Accumulator kFp16 = Accumulator::kFp16, kFp32 = Accumulator::kFp32;

std::string forward_id(Accumulator accumulator, const Problem& problem, std::size_t shared_bytes) {
  return std::string(instance_for({"fwd", 2, accumulator, problem, shared_bytes}).id);
}

std::string backward_id(const Problem& problem, bool computes_dq, std::size_t shared_bytes) {
  return std::string(
      instance_for({"bwd", computes_dq ? 5 : 4, Accumulator::kFp32, problem, shared_bytes}).id);
}

std::string dq_id(const Problem& problem) {
  return std::string(instance_for({"bwd-dq", 3, Accumulator::kFp32, problem, kVolta}).id);
}

TEST(VoltaInstances, FitAnSm) {
  for (const KernelInstance& instance : instances()) {
    SCOPED_TRACE(instance.id);
    EXPECT_EQ(instance.threads % 32, 0);
    EXPECT_GT(instance.threads, 0);
    EXPECT_GT(instance.block_rows, 0);
    EXPECT_LE(instance.dynamic_shared_bytes, static_cast<int>(kVolta));
    // At least a tile of K or Q.
    EXPECT_GE(instance.dynamic_shared_bytes, instance.step_columns * instance.head_dim * 2);
  }
}

TEST(VoltaInstances, HaveSymbolsThatSayTheirIds) {
  for (const KernelInstance& instance : instances()) {
    std::string symbol(instance.id);
    for (char& letter : symbol) {
      if (letter == '/' || letter == '-') letter = '_';
    }
    EXPECT_EQ(instance.symbol, symbol);
  }
}

/// With those of the other folders for that card.
TEST(VoltaInstances, AreThoseWithGates) {
  std::ifstream file(SPARKBENCH_VOLTA_GATES);
  const nlohmann::json held = nlohmann::json::parse(file);
  std::set<std::string> with_gates, with_products;
  for (const auto& [id, gates] : held.items()) with_gates.insert(id);
  for (const KernelInstance& instance : kernel_instances()) {
    if (instance.products > 0 && is_native(instance.instruction, 70)) {
      with_products.emplace(instance.id);
    }
  }
  EXPECT_EQ(with_products, with_gates);
}

TEST(VoltaDispatch, TakesTheRowOfTheProblem) {
  const Problem problem{.head_dim = 64};
  EXPECT_EQ(forward_id(kFp32, problem, kVolta), "volta-fp32acc/fwd/d64");
  EXPECT_EQ(forward_id(kFp16, problem, kVolta), "volta-fp16acc/fwd/d64");
  EXPECT_EQ(backward_id(problem, true, kVolta), "volta-fp32acc/bwd/d64");
  EXPECT_EQ(backward_id(problem, false, kVolta), "volta-fp32acc/bwd/d64/deterministic");
}

TEST(VoltaDispatch, PadsToTheNextTile) {
  EXPECT_EQ(forward_id(kFp32, {.head_dim = 8}, kVolta), "volta-fp32acc/fwd/d32");
  EXPECT_EQ(forward_id(kFp32, {.head_dim = 32}, kVolta), "volta-fp32acc/fwd/d32");
  EXPECT_EQ(forward_id(kFp32, {.head_dim = 40}, kVolta), "volta-fp32acc/fwd/d64");
  EXPECT_EQ(forward_id(kFp32, {.head_dim = 56}, kVolta), "volta-fp32acc/fwd/d64");
  EXPECT_EQ(forward_id(kFp32, {.head_dim = 72}, kVolta), "volta-fp32acc/fwd/d80");
  EXPECT_EQ(forward_id(kFp32, {.head_dim = 80}, kTuring), "volta-fp32acc/fwd/d80");
  EXPECT_EQ(forward_id(kFp32, {.head_dim = 88}, kVolta), "volta-fp32acc/fwd/d96");
  EXPECT_EQ(forward_id(kFp32, {.head_dim = 96}, kTuring), "volta-fp32acc/fwd/d128/4");
  EXPECT_EQ(forward_id(kFp32, {.seqlen_q = 256, .head_dim = 104}, kVolta),
            "volta-fp32acc/fwd/d128");
  EXPECT_EQ(forward_id(kFp32, {.seqlen_q = 256, .head_dim = 120}, kTuring),
            "volta-fp32acc/fwd/d128/4");
  EXPECT_EQ(forward_id(kFp32, {.head_dim = 136}, kVolta), "volta-fp32acc/fwd/d256");
  EXPECT_EQ(forward_id(kFp32, {.head_dim = 256}, kVolta), "volta-fp32acc/fwd/d256");
  EXPECT_EQ(backward_id({.head_dim = 72}, true, kVolta), "volta-fp32acc/bwd/d80");
  EXPECT_EQ(backward_id({.head_dim = 80}, false, kVolta), "volta-fp32acc/bwd/d80/deterministic");
  EXPECT_EQ(backward_id({.head_dim = 96}, true, kVolta), "volta-fp32acc/bwd/d96");
  EXPECT_EQ(backward_id({.head_dim = 192}, false, kVolta), "volta-fp32acc/bwd/d256/deterministic");
  EXPECT_EQ(backward_id({.head_dim = 96}, true, kTuring), "volta-fp32acc/bwd/d96");
  EXPECT_EQ(backward_id({.head_dim = 104}, true, kTuring), "volta-fp32acc/bwd/d128/64/1");
  EXPECT_EQ(backward_id({.head_dim = 40}, false, kTuring),
            "volta-fp32acc/bwd/d64/padded/deterministic/128/1");
}

TEST(VoltaDispatch, DropsOnlyFromAThresholdOn) {
  Problem problem{.seqlen_q = 256, .head_dim = 128, .dropout_p = 0.1f};
  EXPECT_EQ(forward_id(kFp32, problem, kVolta), "volta-fp32acc/fwd/d128/dropout");
  problem.dropout_p = 1e-4f;  // no 256th
  EXPECT_EQ(forward_id(kFp32, problem, kVolta), "volta-fp32acc/fwd/d128");
}

TEST(VoltaDispatch, TakesSmallerBlocksWhereSharedMemoryIs) {
  const Problem problem{.seqlen_q = 256, .head_dim = 128};
  EXPECT_EQ(forward_id(kFp32, problem, kTuring), "volta-fp32acc/fwd/d128/4");
  EXPECT_EQ(backward_id(problem, true, kTuring), "volta-fp32acc/bwd/d128/64/1");
}

TEST(VoltaDispatch, HasShortBlocksForShortWindows) {
  Problem problem{.seqlen_q = 4096, .seqlen_k = 4096, .head_dim = 128};
  problem.mask = MaskSpec::window(2048);
  EXPECT_EQ(forward_id(kFp32, problem, kVolta), "volta-fp32acc/fwd/d128/short");
  problem.dropout_p = 0.1f;
  EXPECT_EQ(forward_id(kFp16, problem, kVolta), "volta-fp16acc/fwd/d128/dropout/short");
  problem.dropout_p = 0.0f;
  problem.mask = MaskSpec::window(2049);
  EXPECT_EQ(forward_id(kFp32, problem, kVolta), "volta-fp32acc/fwd/d128");
  problem.mask = MaskSpec::band(600, 1447);
  EXPECT_EQ(forward_id(kFp32, problem, kVolta), "volta-fp32acc/fwd/d128/short");
  problem.mask = MaskSpec::window(128);
  problem.head_dim = 104;
  EXPECT_EQ(forward_id(kFp32, problem, kVolta), "volta-fp32acc/fwd/d128/short");
  problem.head_dim = 96;
  EXPECT_EQ(forward_id(kFp32, problem, kVolta), "volta-fp32acc/fwd/d96");
}

TEST(VoltaDispatch, HasShortBlocksOf64ColumnsInEachKernel) {
  Problem problem{.seqlen_q = 4096, .seqlen_k = 4096, .head_dim = 64};
  problem.mask = MaskSpec::window(512);
  for (const int head_dim : {40, 64}) {
    problem.head_dim = head_dim;
    EXPECT_EQ(forward_id(kFp32, problem, kVolta), "volta-fp32acc/fwd/d64/short");
    EXPECT_EQ(forward_id(kFp16, problem, kVolta), "volta-fp16acc/fwd/d64/short");
    EXPECT_EQ(backward_id(problem, false, kTuring), "volta-fp32acc/bwd/d64/short/deterministic");
    EXPECT_EQ(dq_id(problem), "volta-fp32acc/bwd-dq/d64/short");
  }
  problem.dropout_p = 0.1f;
  EXPECT_EQ(forward_id(kFp32, problem, kVolta), "volta-fp32acc/fwd/d64/dropout/short");
  EXPECT_EQ(backward_id(problem, false, kVolta),
            "volta-fp32acc/bwd/d64/dropout/short/deterministic");
  EXPECT_EQ(dq_id(problem), "volta-fp32acc/bwd-dq/d64/dropout/short");
  problem.mask = MaskSpec::window(513);
  problem.mask = MaskSpec::window(1024);
  EXPECT_EQ(forward_id(kFp32, problem, kVolta), "volta-fp32acc/fwd/d64/dropout/short");
  problem.mask = MaskSpec::window(1025);
  EXPECT_EQ(forward_id(kFp32, problem, kVolta), "volta-fp32acc/fwd/d64/dropout");
  problem.mask = MaskSpec::window(2048);
  EXPECT_EQ(forward_id(kFp16, problem, kVolta), "volta-fp16acc/fwd/d64/dropout/short");
  EXPECT_EQ(backward_id(problem, false, kVolta),
            "volta-fp32acc/bwd/d64/dropout/short/deterministic");
  EXPECT_EQ(dq_id(problem), "volta-fp32acc/bwd-dq/d64/dropout/short");
  problem.mask = MaskSpec::window(2049);
  EXPECT_EQ(forward_id(kFp16, problem, kVolta), "volta-fp16acc/fwd/d64/dropout");
  EXPECT_EQ(backward_id(problem, true, kVolta), "volta-fp32acc/bwd/d64/dropout");
  EXPECT_EQ(dq_id(problem), "volta-fp32acc/bwd-dq/d64/dropout");
  problem.mask = MaskSpec::window(128);
  problem.head_dim = 32;
  EXPECT_EQ(forward_id(kFp32, problem, kVolta), "volta-fp32acc/fwd/d32/dropout");
  problem.head_dim = 64;
  problem.mask = MaskSpec::full();
  problem.seqlen_q = 128;  // an odd number of blocks
  EXPECT_EQ(forward_id(kFp32, problem, kVolta), "volta-fp32acc/fwd/d64/dropout");
}

TEST(VoltaDispatch, RelaysDqOfWindows) {
  Problem problem{
      .seqlen_q = 4096, .seqlen_k = 4096, .head_dim = 64, .mask = MaskSpec::window(128)};
  const auto relay_id = [&](Accumulator accumulator, std::size_t shared_bytes) {
    const KernelInstance* const found =
        find_instance({"bwd", 5, accumulator, problem, shared_bytes}, true);
    return std::string(found != nullptr ? found->id : "");
  };
  EXPECT_EQ(relay_id(Accumulator::kFp32, kVolta), "volta-fp32acc/bwd/d64/relay");
  EXPECT_EQ(relay_id(Accumulator::kFp16, kTuring), "volta-fp16acc/bwd/d64/relay");
  problem.head_dim = 40;
  problem.dropout_p = 0.1f;
  EXPECT_EQ(relay_id(Accumulator::kFp32, kTuring), "volta-fp32acc/bwd/d64/dropout/relay");
  problem.head_dim = 104;
  EXPECT_EQ(relay_id(Accumulator::kFp16, kVolta), "volta-fp16acc/bwd/d128/dropout/relay");
  problem.head_dim = 128;
  EXPECT_EQ(relay_id(Accumulator::kFp32, kVolta), "volta-fp32acc/bwd/d128/dropout/relay");
  EXPECT_EQ(relay_id(Accumulator::kFp32, kTuring), "");
}

TEST(VoltaDispatch, HasShortBlocksWhereALongOneWouldBeHalfEmpty) {
  const auto id_of = [](int seqlen_q) {
    return forward_id(kFp32, {.seqlen_q = seqlen_q, .seqlen_k = 2048, .head_dim = 128}, kVolta);
  };
  for (const int seqlen_q : {1, 128, 257, 384, 1920}) {
    EXPECT_EQ(id_of(seqlen_q), "volta-fp32acc/fwd/d128/short") << seqlen_q;
  }
  for (const int seqlen_q : {0, 129, 256, 512, 1921, 2048, 2176}) {
    EXPECT_EQ(id_of(seqlen_q), "volta-fp32acc/fwd/d128") << seqlen_q;
  }
}

TEST(VoltaDispatch, HasShortBlocksOf128ColumnsWhereAMaskHidesSomeOfFewKeys) {
  const auto id_of = [](const MaskSpec& mask, int seqlen, int head_dim = 128) {
    const Problem problem{
        .seqlen_q = seqlen, .seqlen_k = seqlen, .head_dim = head_dim, .mask = mask};
    return forward_id(kFp32, problem, kVolta);
  };
  EXPECT_EQ(id_of(MaskSpec::causal(), 512), "volta-fp32acc/fwd/d128/short");
  EXPECT_EQ(id_of(MaskSpec::causal(), 500), "volta-fp32acc/fwd/d128/short");
  EXPECT_EQ(id_of(MaskSpec::causal(), 641), "volta-fp32acc/fwd/d128");
  EXPECT_EQ(id_of(MaskSpec::prefix(64), 512), "volta-fp32acc/fwd/d128/short");
  EXPECT_EQ(id_of(MaskSpec::prefix(512), 512), "volta-fp32acc/fwd/d128");
  EXPECT_EQ(id_of(MaskSpec::window(512), 512), "volta-fp32acc/fwd/d128/short");
  EXPECT_EQ(id_of(MaskSpec::full(), 512), "volta-fp32acc/fwd/d128");
  EXPECT_EQ(id_of(MaskSpec::causal(), 512, 64), "volta-fp32acc/fwd/d64");
}

TEST(VoltaDispatch, TakesNoWindowForShortThatHasAllKeys) {
  const auto is_short = [](const MaskSpec& mask, int seqlen) {
    return has_short_window(1024, make_key_mask(mask, seqlen, seqlen));
  };
  EXPECT_TRUE(is_short(MaskSpec::window(1), 4096));
  EXPECT_TRUE(is_short(MaskSpec::window(512), 513));
  EXPECT_FALSE(is_short(MaskSpec::window(512), 512));
  EXPECT_FALSE(is_short(MaskSpec::causal(), 512));
  EXPECT_FALSE(is_short(MaskSpec::full(), 512));
  EXPECT_FALSE(is_short(MaskSpec::prefix(64), 512));
  EXPECT_FALSE(is_short(MaskSpec::band(2147483647, 2147483647), 512));
}

TEST(VoltaDispatch, RefusesWhatHasNoRow) {
  EXPECT_THROW(forward_id(kFp32, {.head_dim = 264}, kVolta), std::invalid_argument);
  EXPECT_THROW(forward_id(kFp32, {.head_dim = 136}, kTuring), std::invalid_argument);
  EXPECT_THROW(forward_id(kFp32, {.head_dim = 60}, kVolta), std::invalid_argument);
  EXPECT_THROW(forward_id(kFp32, {.head_dim = 64}, 1 << 10), std::invalid_argument);
}

}  // namespace
}  // namespace sparkbench::volta
