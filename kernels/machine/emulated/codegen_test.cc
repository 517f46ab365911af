#include "kernels/machine/emulated/codegen.h"

#include <vector>

#include "kernels/machine/emulated/blocks/test_launch.h"

namespace sparkbench {
namespace {

TEST(EmulatedCodegen, ChangesNothing) {
  std::vector<Bits128> memory(32, Bits128{{1, 2, 3, 4}});
  const std::vector<GlobalRegion> regions = {{"x", memory.data(), 32 * sizeof(Bits128), true}};
  const auto report = run({.warps = 2, .regions = regions}, [&](EmulatedMachine& machine) {
    const int thread = machine.thread();
    machine.recompute_indices();
    machine.recompute_indices(0);
    machine.recompute_indices(-96);
    EXPECT_EQ(machine.thread(), thread);
    const Bits128* const address = machine.opaque(memory.data() + machine.opaque(machine.lane()));
    EXPECT_EQ(machine.load_opaque_global(address).word[3], 4u);
  });
  EXPECT_EQ(report.findings_total, 0u);
  EXPECT_EQ(report.counters.global_loads, 2u);
}

TEST(EmulatedCodegen, FindsANumberThatCorruptsIndices) {
  int line = 0;
  const auto report = run({}, [&](EmulatedMachine& machine) {
    line = __LINE__ + 1;
    for (const int number : {0, 32, 48}) machine.recompute_indices(number);
  });
  expect_finding(report, FindingKind::kCorruptIndices, 0, line, __FILE__);
  EXPECT_EQ(report.findings[0].message,
            "recompute_indices(48) would change thread() and block() on a GPU: the argument must "
            "be a multiple of 32");
}

}  // namespace
}  // namespace sparkbench
