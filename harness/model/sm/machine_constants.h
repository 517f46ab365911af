// Every number of the machine that the cycle model uses, with its source.
//   [J] Jia et al., arXiv 1804.06826: microbenchmarks of a V100
//   [R] Raihan et al., arXiv 1811.08309: when the steps of an HMMA end, on a Titan V
//   [N] NVIDIA: the Volta white paper, the CUDA guide's table of throughputs, Nsight's notes on
//       pipes, a statement in its developer forum that tensor, FP16 and FP64 share a port
//   [P] the stall count that ptxas 11.8 puts between two independent instructions of a kind
//   [H] Huerta et al., arXiv 2503.20481: cores of Ampere and Blackwell, taken to be alike
//   [C] 1CatAI, 1Cat-vLLM, docs/design/sm70_hmma_pipeline_search: measured on a V100
//   [A] assumed, no source; --set and --sensitivity show what it matters
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "harness/model/predict/cycles_file.h"
#include "harness/model/predict/v100_constants.h"

namespace sparkbench {

inline constexpr int kScoreboards = 6;                  // of a warp [J]
inline constexpr int kTensorFlopPerCycle = 8 * 64 * 2;  // of an SM: 8 tensor cores, 64 FMA [N]

/// Which of the warps that could issue does.
inline constexpr int kRoundRobin = 0, kGreedyThenYoungest = 1, kGreedyThenOldest = 2;

/// One SM of a V100. Times are in cycles, and a latency is from issue to the write scoreboard's
/// release where nothing is in the way. An instruction of fixed latency needs none, since the
/// compiler's stall counts carry it, unless it is given a scoreboard.
struct SmConstants {
  int scheduler = kGreedyThenYoungest;  // [H]

  int hmma_f32_latency = 14;  // [C]; [R] has 10 (steps 0-2) to 12 (step 3)
  int hmma_f16_latency = 16;  // [R] 12 (step 0) to 17 (step 1)
  int fp16_latency = 8;       // [P]
  int fp64_latency = 10;      // [P]
  int fma_latency = 6;        // [P]
  int alu_latency = 6;        // [P]
  int xu_latency = 18;        // [J] 14, and the way through the port
  int shfl_latency = 22;      // [J] 22 to 23
  int lds_latency = 19;       // [J] 32 bits a lane; wider ones add their passes
  int sts_latency = 12;       // [A]
  int atoms_latency = 30;     // [A]
  int ldg_latency = 200;      // [J] 193 for a hit in L2
  int stg_latency = 20;       // [A]
  int atomg_latency = 250;    // [A]
  int ldl_latency = 28;       // [J] a hit in L1; in doubt up to ldg_latency, a hit in L2
  int ldc_latency = 30;       // [A]
  int s2r_latency = 20;       // [A]
  int membar_latency = 60;    // [A]
  int control_latency = 12;   // [A] of a control instruction with a write scoreboard
  int bar_latency = 16;       // [A] from the last arrival to the first issue behind the barrier

  // For how long an instruction holds its dispatch port.
  int hmma_f32_hold = 2;  // 512 FLOP a step: 256 a clock and scheduler [P, N]
  int hmma_f16_hold = 4;  // 1024 FLOP a step: the same rate [P, N]
  int fp16_hold = 2;      // 16 lanes [P, N]
  int fp64_hold = 4;      // 8 lanes [P, N]
  int fma_hold = 2;       // 16 lanes [P, N]
  int alu_hold = 2;       // 16 lanes [P, N]
  int xu_hold = 8;        // 4 lanes [P, N]
  int bank_conflict = 1;  // more for an instruction whose three sources are in one bank [J]
  int hmma_no_reuse = 0;  // more for an HMMA.F32 with neither operand in the reuse cache: unknown

  // From the last step of an HMMA to the first of the next one that adds to its accumulator.
  int hmma_f32_forward = 2;  // [C]: 8.66 a product
  int hmma_f16_forward = 9;  // from [R]: 13 a product

  int read_release_fixed = 4;  // a read scoreboard's release behind the port's [A]
  int branch_taken = 8;        // least from a taken branch to the next instruction [A]

  int mio_queue = 5;         // entries, of a scheduler [H]
  int mio_interval = 4;      // between two of a scheduler: 8 lanes of the load-store unit [N, P]
  int mio_min_latency = 2;   // from issue to the shared unit [A]
  int mio_read_release = 6;  // a read scoreboard's release behind the start of service [A]
  int smem_bytes = 128;      // a clock, of shared memory, L1 and shuffles [J]
  /// A clock and SM, all SMs busy: 2155 GB/s / 80 / 1.38 GHz [J]. In doubt down to 6.9, where all
  /// loads miss L2: kHbmGbps.likely.
  double l2_bytes = 20.0;

  int icache_bytes = 12288;       // of the L0 instruction cache of a scheduler [J]
  int icache_line = 128;          // bytes [A]
  int fetch_ahead = 2;            // lines that the stream buffer runs ahead [A]
  int l0_miss_next = 0;           // delay of the first warp into the next line: prefetched [H]
  int l0_miss_jump = 20;          // the same after a jump [A]
  int sm_fetch_bytes = 0;         // of code a clock and SM from L1.5; 0: not limited. Unknown
  int scheduler_fetch_bytes = 0;  // the same of a scheduler. Unknown
  int l0_miss_latency = 0;        // of a fetch where one of the two limits holds. Unknown

  bool operator==(const SmConstants&) const = default;
};

struct ConstantInfo {
  std::string_view name;  // "hmma_f32_latency"
  std::variant<int SmConstants::*, double SmConstants::*> member;
  double least, most;                              // that the model can be given
  std::optional<std::pair<double, double>> doubt;  // where the machine's may lie, if not certain
};

std::span<const ConstantInfo> constant_infos();

double value_of(const SmConstants& constants, const ConstantInfo& info);
void set_value(SmConstants& constants, const ConstantInfo& info, double value);

/// Of "hmma_no_reuse=1". Throws UsageError, naming `flag`, for a name that is none, and for a value
/// that is no number or not allowed.
void set_constant(SmConstants& constants, std::string_view flag, const std::string& assignment);

/// `constants` with what the assumption says of the chip.
SmConstants with_assumption(SmConstants constants, ChipAssumption assumption);

}  // namespace sparkbench
