// Row runs on a GPU: bit for bit the emulated machine's results, whose runs differ.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <iostream>
#include <set>
#include <vector>

#include "kernels/hopper/forward/test_forward.h"
#include "kernels/hopper/plan.h"
#include "kernels/hopper/test_gpu.h"
#include "kernels/hopper/test_inputs.h"
#include "kernels/testing/test_gpu.h"

namespace sparkbench::hopper {
namespace {

class HopperRowRunsGpu : public OnHopper<int> {};

struct DeviceOutputs {
  std::vector<Half> o;
  std::vector<float> lse;
};

DeviceOutputs run_on_gpu(const Problem& problem, const OwnedInputs& inputs) {
  const DeviceBuffer q = upload(inputs.q), k = upload(inputs.k), v = upload(inputs.v);
  const DeviceBuffer o = poisoned(problem.q_elements() * sizeof(Half));
  const DeviceBuffer lse = poisoned(problem.lse_elements() * sizeof(float));
  const ForwardTensors tensors = contiguous_tensors(problem, q.as<Half>(), k.as<Half>(),
                                                    v.as<Half>(), o.as<Half>(), lse.as<float>());
  const PlanRequest request = for_current_gpu(forward_request(problem, tensors));
  run_on_stream(forward_plan(request, RowForm::kRuns), nullptr);
  CUDA_CHECK(cudaDeviceSynchronize());
  return {download<Half>(o, problem.q_elements()), download<float>(lse, problem.lse_elements())};
}

/// Tiles of all parts of the sequences, heads and batch entries, each once.
std::vector<SampleTile> some_tiles(const Problem& problem) {
  std::set<SampleTile> tiles;
  for (int i = 0; i < 16; ++i) {
    tiles.insert(
        {7 * i % sample_tiles_of(problem.seqlen_q), 5 * i % problem.heads, i / 3 % problem.batch});
  }
  return {tiles.begin(), tiles.end()};
}

/// Elements of O that were compared.
std::size_t expect_bits(const Problem& problem, const OwnedInputs& inputs) {
  const DeviceOutputs gpu = run_on_gpu(problem, inputs);
  const std::vector<SampleTile> tiles = some_tiles(problem);
  const Outputs emulated = run_emulated(problem, RowForm::kRuns, inputs, 0, tiles);
  std::size_t compared = 0, different = 0;
  for (const auto& [tile, head, batch] : tiles) {
    const int begin = tile * kSampleRows, end = std::min(begin + kSampleRows, problem.seqlen_q);
    for (int row = begin; row < end; ++row) {
      const std::size_t at =
          row_offset(batch, row, head, problem.seqlen_q, problem.heads, problem.head_dim);
      for (std::size_t i = 0; i < static_cast<std::size_t>(problem.head_dim); ++i, ++compared) {
        different += gpu.o[at + i].bits != emulated.o[at + i].bits ? 1 : 0;
      }
      const std::size_t of_lse = lse_offset(batch, head, row, problem.heads, problem.seqlen_q);
      EXPECT_EQ(gpu.lse[of_lse], emulated.lse[of_lse]);
    }
  }
  EXPECT_EQ(different, 0u) << "of " << compared;
  return compared;
}

/// With 300 tokens scores rise.
TEST_P(HopperRowRunsGpu, HaveTheEmulatedMachinesBits) {
  std::size_t compared = 0;
  for (const int seqlen : {1, 300, 4100}) {
    std::vector<MaskSpec> masks{MaskSpec::window(1),      MaskSpec::window(128),
                                MaskSpec::window(300),    MaskSpec::band(64, 64),
                                MaskSpec::band(128, 128), MaskSpec::band(90, -30)};
    if (seqlen < 1000) masks.push_back(MaskSpec::causal());
    for (const MaskSpec& mask : masks) {
      for (const float dropout_p : {0.0f, 0.17f}) {
        if (dropout_p > 0 && GetParam() <= 64) continue;
        SCOPED_TRACE(testing::Message()
                     << seqlen << " tokens, " << name_of(mask) << ", dropout " << dropout_p);
        const Problem problem{.batch = 2,
                              .heads = 12,
                              .seqlen_q = seqlen,
                              .seqlen_k = seqlen,
                              .head_dim = GetParam(),
                              .mask = mask,
                              .dropout_p = dropout_p,
                              .seed = 3,
                              .heads_k = 4};
        compared +=
            expect_bits(problem, seqlen == 300 ? rising_inputs(problem, 5)
                                               : make_inputs(problem, Distribution::kNormal, 5));
      }
    }
  }
  std::cout << compared << " elements of O compared\n";
}

INSTANTIATE_TEST_SUITE_P(HeadDims, HopperRowRunsGpu, testing::Values(24, 64, 80, 96, 128));

}  // namespace
}  // namespace sparkbench::hopper
