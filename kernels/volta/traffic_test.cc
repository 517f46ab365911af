// What the Volta kernels move through global memory, on the emulated V100: the compulsory bytes
// times the re-reads that their tiling implies, and no bank conflict in shared memory on the way.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <array>
#include <span>
#include <string>
#include <vector>

#include "kernels/testing/nightly.h"
#include "kernels/volta/backward/relay_plan.h"
#include "kernels/volta/backward/schedules.h"
#include "kernels/volta/dispatch.h"
#include "kernels/volta/emulated.h"
#include "kernels/volta/forward/mainloop.h"
#include "kernels/volta/instances.h"
#include "reference/inputs/inputs.h"

namespace sparkbench::volta {
namespace {

constexpr double kTolerance = 0.05;
constexpr int kSeqlen = 512;  // whole tiles only: a ragged one is loaded no further than it reaches
constexpr std::uint64_t kSectorBytes = 32;

struct TrafficBytes {
  std::uint64_t read = 0, written = 0, added = 0;
};

/// Bytes of one head's rows.
struct RowBytes {
  explicit RowBytes(const Problem& problem)
      : half(sizeof(Half) * static_cast<std::uint64_t>(problem.head_dim)),
        fp32(sizeof(float) * static_cast<std::uint64_t>(problem.head_dim)) {}

  std::uint64_t half, fp32;  // of q, k, v, o and their gradients
  std::uint64_t lse = sizeof(float), delta = sizeof(float);
};

std::uint64_t keys_seen_by(const Problem& problem, int row) {
  return static_cast<std::uint64_t>(problem.key_mask().keys(row).size());
}

std::uint64_t queries_seeing(const Problem& problem, int key) {
  return static_cast<std::uint64_t>(problem.key_mask().rows(key).size());
}

InstanceWish wish_of(Accumulator accumulator, const Problem& problem, std::string_view pass,
                     int products) {
  return {pass, products, accumulator, problem, EmulationOptions{}.shared_bytes_per_block};
}

/// Query rows of a block of the kernel that serves the problem.
int forward_block_rows(Accumulator accumulator, const Problem& problem) {
  return instance_for(wish_of(accumulator, problem, "fwd", 2)).block_rows;
}

/// Calls visit(Config{}) of the row of a backward kernel's instance.
template <class Visit>
void visit_backward(const KernelInstance& instance, Visit visit) {
#define SPARK_ROW(symbol, row_id, ...) \
  if (instance.id == row_id) return visit(__VA_ARGS__{});
  SPARK_VOLTA_BACKWARD(SPARK_ROW)
  SPARK_VOLTA_BACKWARD_RELAY(SPARK_ROW)
#undef SPARK_ROW
}
template <class Visit>
void visit_backward_dq(const KernelInstance& instance, Visit visit) {
#define SPARK_ROW(symbol, row_id, ...) \
  if (instance.id == row_id) return visit(__VA_ARGS__{});
  SPARK_VOLTA_BACKWARD_DQ(SPARK_ROW)
#undef SPARK_ROW
}

/// Q once, O and LSE once, K and V once for every block of query rows that sees them.
TrafficBytes forward_traffic(const Problem& problem, int block_rows) {
  const RowBytes row(problem);
  const auto rows = static_cast<std::uint64_t>(problem.seqlen_q);
  TrafficBytes traffic{.read = rows * row.half, .written = rows * (row.half + row.lse)};
  for (int first = 0; first < problem.seqlen_q; first += block_rows) {
    traffic.read += 2 * row.half * keys_seen_by(problem, first + block_rows - 1);
  }
  return traffic;
}

std::uint64_t query_rows(const Problem& problem) {
  return static_cast<std::uint64_t>(problem.heads) * static_cast<std::uint64_t>(problem.seqlen_q);
}

/// LSE and D = rowsum(dO * O) of each row, together, for either backward pass.
TrafficBytes statistics_traffic(const Problem& problem) {
  const RowBytes row(problem);
  const std::uint64_t rows = query_rows(problem);
  return {.read = rows * (2 * row.half + row.lse), .written = rows * (row.lse + row.delta)};
}

/// K, V, dK and dV once for all heads that share them; Q and dO once for every block of keys that
/// they see, LSE and D once for every kScoreKeys of its keys, which a warp has scores of, and what
/// V has lent of itself once for every step.
template <class Config>
void add_key_blocks(const Problem& problem, TrafficBytes& traffic) {
  const RowBytes row(problem);
  const auto heads = static_cast<std::uint64_t>(problem.heads);
  const auto keys = static_cast<std::uint64_t>(problem.key_heads() * problem.seqlen_k);
  traffic.read += 2 * keys * row.half;
  traffic.written += 2 * keys * row.half;
  for (int first = 0; first < problem.seqlen_k; first += Config::kBlockKeys) {
    std::uint64_t of_query =
        2 * row.half + Config::kBlockKeys / Config::kScoreKeys * (row.lse + row.delta);
    if (Config::kBorrowsValues) of_query += Config::kBorrowedKeys * row.half / Config::kStep;
    traffic.read += heads * of_query * queries_seeing(problem, first);
  }
}

/// A block adds to each row of dQ that sees it once for every 64 of its keys; rounding reads the
/// sums. In relay a block sets them to zero, where a memset does otherwise.
template <class Config>
TrafficBytes summed_backward_traffic(const Problem& problem, bool is_in_relay) {
  const RowBytes row(problem);
  const auto heads = static_cast<std::uint64_t>(problem.heads);
  const std::uint64_t rows = query_rows(problem);
  TrafficBytes traffic = statistics_traffic(problem);
  add_key_blocks<Config>(problem, traffic);
  for (int first = 0; first < problem.seqlen_k; first += Config::kBlockKeys) {
    traffic.added += heads * Config::kKeyTiles * row.fp32 * queries_seeing(problem, first);
  }
  traffic.read += rows * row.fp32;
  traffic.written += rows * row.half;
  if (is_in_relay) traffic.written += rows * row.fp32;
  return traffic;
}

/// dQ in blocks of query rows of its own: Q, dO, LSE, D and dQ once, K and V once for every block.
template <class DqConfig>
void add_query_blocks(const Problem& problem, TrafficBytes& traffic) {
  const RowBytes row(problem);
  const auto heads = static_cast<std::uint64_t>(problem.heads);
  const std::uint64_t rows = query_rows(problem);
  traffic.read += rows * (2 * row.half + DqConfig::kScoreWarps * (row.lse + row.delta));
  traffic.written += rows * row.half;
  for (int first = 0; first < problem.seqlen_q; first += DqConfig::kBlockM) {
    traffic.read += heads * 2 * row.half * keys_seen_by(problem, first + DqConfig::kBlockM - 1);
  }
}

TrafficBytes backward_traffic(Accumulator accumulator, const Problem& problem,
                              bool is_deterministic) {
  const bool relays = has_relay(problem, is_deterministic);
  const InstanceWish wish = wish_of(accumulator, problem, "bwd", is_deterministic ? 4 : 5);
  const KernelInstance& keys = *find_instance(wish, relays);
  TrafficBytes traffic;
  if (!is_deterministic) {
    visit_backward(
        keys, [&](auto row) { traffic = summed_backward_traffic<decltype(row)>(problem, relays); });
    return traffic;
  }
  traffic = statistics_traffic(problem);
  visit_backward(keys, [&](auto row) { add_key_blocks<decltype(row)>(problem, traffic); });
  visit_backward_dq(instance_for(wish_of(accumulator, problem, "bwd-dq", 3)),
                    [&](auto row) { add_query_blocks<decltype(row)>(problem, traffic); });
  return traffic;
}

void expect_traffic(const char* direction, std::uint64_t sectors, std::uint64_t expected_bytes) {
  const auto bytes = static_cast<double>(sectors * kSectorBytes);
  const auto expected = static_cast<double>(expected_bytes);
  EXPECT_NEAR(bytes, expected, kTolerance * expected)
      << direction << ": " << bytes / expected << " times the tiling's bytes";
}

/// The lines that conflict, worst first.
std::string conflicts_of(const EmulationReport& report) {
  std::string lines;
  for (const SiteCounters& site : report.sites) {
    if (site.bank_conflicts == 0) continue;
    lines += fmt::format("{}:{}: {} of {} wavefronts\n", site.file, site.line, site.bank_conflicts,
                         site.shared_wavefronts);
  }
  return lines;
}

void expect_traffic(const EmulationReport& report, const TrafficBytes& expected) {
  expect_traffic("read", report.counters.global_sectors_read, expected.read);
  expect_traffic("written", report.counters.global_sectors_written, expected.written);
  expect_traffic("added", report.counters.global_sectors_added, expected.added);
  EXPECT_EQ(conflicts_of(report), "");
}

/// A kernel's accumulator, at a head_dim, causal or not, with a dropout_p.
class TrafficTest : public testing::TestWithParam<std::tuple<Accumulator, int, bool, float>> {
 protected:
  Accumulator accumulator() const { return std::get<0>(GetParam()); }

  Problem problem_{.seqlen_q = kSeqlen,
                   .seqlen_k = kSeqlen,
                   .head_dim = std::get<1>(GetParam()),
                   .mask = MaskSpec::causal_if(std::get<2>(GetParam())),
                   .dropout_p = std::get<3>(GetParam()),
                   .seed = 3};
  OwnedInputs inputs_ = make_inputs(problem_, Distribution::kNormal, 3);
  const EmulationOptions options_{.profile = &arithmetic_profile("volta"), .detect = false};
  // Any: traffic does not depend on values.
  std::vector<Half> o_ = inputs_.q;
  std::vector<float> lse_ = std::vector<float>(problem_.lse_elements(), 1.0f);

  /// Draws the inputs again after the problem changed.
  void draw() {
    inputs_ = make_inputs(problem_, Distribution::kNormal, 3);
    o_ = inputs_.q;
    lse_.assign(problem_.lse_elements(), 1.0f);
  }
};

class VoltaForwardTraffic : public TrafficTest {
 protected:
  EmulationReport emulate(std::span<const SampleTile> tiles = {}) {
    const ForwardTensors tensors = contiguous_tensors(problem_, inputs_.q.data(), inputs_.k.data(),
                                                      inputs_.v.data(), o_.data(), lse_.data());
    return emulate_forward(accumulator(), {problem_, options_.shared_bytes_per_block, &tensors},
                           options_, tiles);
  }
};

class VoltaBackwardTraffic : public TrafficTest {
 protected:
  /// Adds tokens, or rows that see no key, so that the pass does not take the dQ semaphore.
  void leave_relay() {
    if (!has_relay(problem_, false)) return;
    problem_.seqlen_q = kSeqlen + kSampleRows;
    if (problem_.mask == MaskSpec::full()) problem_.seqlen_k = problem_.seqlen_q;
    ASSERT_FALSE(has_relay(problem_, false));
    draw();
  }

  EmulationReport emulate(bool is_deterministic, const BackwardSample& sample = {}) {
    std::vector<Half> d_o = inputs_.q, dq = inputs_.q, dk = inputs_.k, dv = inputs_.v;
    const BackwardTensors tensors =
        contiguous_tensors(problem_, inputs_.q.data(), inputs_.k.data(), inputs_.v.data(),
                           o_.data(), d_o.data(), lse_.data(), dq.data(), dk.data(), dv.data());
    return emulate_backward(
        accumulator(),
        {problem_, options_.shared_bytes_per_block, nullptr, &tensors, is_deterministic}, options_,
        sample);
  }
};

TEST_P(VoltaForwardTraffic, IsThatOfItsTiles) {
  expect_traffic(emulate(), forward_traffic(problem_, forward_block_rows(accumulator(), problem_)));
}

/// If seqlen is a multiple of every tile, the first and the last tile determine all counts.
TEST_P(VoltaForwardTraffic, OfTheGridFollowsFromItsEndTiles) {
  const std::array<SampleTile, 2> tiles = {{{0, 0, 0}, {kSeqlen / kSampleRows - 1, 0, 0}}};
  EXPECT_EQ(emulate(tiles).grid_counters, emulate().counters);
}

TEST_P(VoltaBackwardTraffic, IsThatOfItsTiles) {
  expect_traffic(emulate(false), backward_traffic(accumulator(), problem_, false));
}

TEST_P(VoltaBackwardTraffic, WithSumsOfAllQueriesIsThatOfItsTiles) {
  leave_relay();
  expect_traffic(emulate(false), backward_traffic(accumulator(), problem_, false));
}

TEST_P(VoltaBackwardTraffic, OfTheDeterministicPassIsItsTiles) {
  expect_traffic(emulate(true), backward_traffic(accumulator(), problem_, true));
}

/// Four heads that read two key heads.
TEST_P(VoltaBackwardTraffic, OfAGroupHasItsKeysOnce) {
  problem_.heads = 4;
  problem_.heads_k = 2;
  problem_.seqlen_q = problem_.seqlen_k = kSeqlen / 2;
  draw();
  for (const bool is_deterministic : {false, true}) {
    expect_traffic(emulate(is_deterministic),
                   backward_traffic(accumulator(), problem_, is_deterministic));
  }
}

/// Without what blocks in relay wait, which is not the same in each run.
TEST_P(VoltaBackwardTraffic, OfTheGridFollowsFromItsEndTiles) {
  leave_relay();
  const std::vector<SampleTile> queries = {{0, 0, 0}, {problem_.seqlen_q / kSampleRows - 1, 0, 0}},
                                keys = {{0, 0, 0}, {problem_.seqlen_k / kSampleRows - 1, 0, 0}};
  for (const bool is_deterministic : {false, true}) {
    EXPECT_EQ(emulate(is_deterministic, {queries, keys}).grid_counters,
              emulate(is_deterministic).counters)
        << (is_deterministic ? "deterministic" : "atomic");
  }
}

/// Every mask with dropout or without it, the other way round for the next head_dim or accumulator;
/// nightly with both.
std::vector<std::tuple<Accumulator, int, bool, float>> traffic_cases() {
  std::vector<std::tuple<Accumulator, int, bool, float>> cases;
  for (const std::size_t acc : {0u, 1u}) {
    for (const std::size_t columns : {1u, 2u}) {
      for (const std::size_t causal : {0u, 1u}) {
        for (const std::size_t dropout : {0u, 1u}) {
          if (!is_tried(acc + columns + causal + dropout, 2)) continue;
          cases.emplace_back(acc == 0 ? Accumulator::kFp16 : Accumulator::kFp32,
                             static_cast<int>(64 * columns), causal == 1,
                             dropout == 1 ? 0.1f : 0.0f);
        }
      }
    }
  }
  return cases;
}

INSTANTIATE_TEST_SUITE_P(Instances, VoltaForwardTraffic, testing::ValuesIn(traffic_cases()));
INSTANTIATE_TEST_SUITE_P(Instances, VoltaBackwardTraffic, testing::ValuesIn(traffic_cases()));

INSTANTIATE_TEST_SUITE_P(Dense, VoltaForwardTraffic,
                         testing::Combine(testing::Values(Accumulator::kFp16, Accumulator::kFp32),
                                          testing::Values(80), testing::Bool(),
                                          testing::Values(0.1f)));
INSTANTIATE_TEST_SUITE_P(Wide, VoltaForwardTraffic,
                         testing::Combine(testing::Values(Accumulator::kFp32), testing::Values(256),
                                          testing::Values(true), testing::Values(0.1f)));
INSTANTIATE_TEST_SUITE_P(Wide, VoltaBackwardTraffic,
                         testing::Combine(testing::Values(Accumulator::kFp32), testing::Values(256),
                                          testing::Values(true), testing::Values(0.1f)));

}  // namespace
}  // namespace sparkbench::volta
