// A step of the dK/dV kernel adds dS K of its queries to dQ in the workspace.
#pragma once

#include "kernels/volta/backward/block.h"
#include "kernels/volta/tile/tile_accumulator.h"

namespace sparkbench::volta {

/// Columns of the workspace.
template <class Config>
SPARK_DEVICE int sum_columns(const BackwardParams& params) {
  return volta::sum_columns(Config::kHasEveryBlock ? Config::kHeadDim / kChunkHalves
                                                   : params.head_chunks);
}

/// Where the sums of a step's queries are in the workspace.
struct DqSums {
  std::uint32_t head;
  int first_query;

  /// The sums of 16 of the queries, from `query` on, and 32 of their columns.
  SPARK_DEVICE float* at(const BackwardParams& params, int query, int columns,
                         int column_block) const {
    return params.workspace.dq_sums_of(head, query, columns, column_block);
  }
};

/// kGroups 16-row groups of 32 columns. `locate` returns DqSums or SlotSums, and is called wherever
/// they are used.
template <class Config, int kGroups, class Machine, class Locate>
SPARK_DEVICE void add_to_sums(Machine& machine, const BackwardParams& params, Locate locate,
                              int first_group, int column_block,
                              const AccumulatorFragment<Config::kAccumulator> (&dq)[kGroups][2]) {
  const auto sums = locate();
  const int first_query = sums.first_query + kGridRows * first_group;
#pragma unroll
  for (int g = 0; g < kGroups; ++g) {
    // Opaque, or each sum has an address of its own.
    float* const at = machine.opaque(
        sums.at(params, first_query + kGridRows * g, sum_columns<Config>(params), column_block) +
        machine.lane());
#pragma unroll
    for (int f = 0; f < 2; ++f) {
      float value[8];
      sparkbench::widen(machine, dq[g][f], value);
#pragma unroll
      for (int i = 0; i < 8; ++i) {
        machine.add_global(at + 32 * (8 * f + i), value[i]);
      }
    }
  }
}

/// kGroups 16-row groups of a part of dQ: of 32 columns and 64 keys, or the step's half of them.
template <class Config, int kGroups, class Machine, class Locate>
SPARK_DEVICE void add_dq_part(Machine& machine, const BackwardParams& params,
                              typename Config::KeyTile& k, TeamTiles<Config>& team, int part,
                              int first_group, Locate locate) {
  constexpr int kColumnBlocks = Config::kHeadDim / 32;
  const int column_block = part % kColumnBlocks;
  if (!Config::kHasEveryBlock && 4 * column_block >= params.head_chunks) return;
  const int key_tile = part / kColumnBlocks;
  auto& tiles = team.ds[key_tile];
  ProbabilityTile<kTransposedKeys>* ds[kGroups];
#pragma unroll
  for (int g = 0; g < kGroups; ++g) ds[g] = &tiles[first_group + g];
  AccumulatorFragment<Config::kAccumulator> dq[kGroups][2] = {};
  if constexpr (Config::kKeyHalf == kNoHalf) {
    matmul_probabilities<Config::kAccumulator>(machine, ds, k, column_block, dq,
                                               kTransposedKeys / kGridColumns * key_tile);
  } else {
    constexpr int kKeys = kTransposedKeys / 2;
    matmul_probabilities<Config::kAccumulator, kKeys, 1>(
        machine,
        [&](int g, int chunk) {
          return load_probabilities(machine, *ds[g], kKeys / 8 * Config::kKeyHalf + chunk);
        },
        k, output_operand_place<typename Config::KeyTile>(machine.lane()), column_block, dq,
        kKeys / kGridColumns * Config::kKeyHalf);
  }
  add_to_sums<Config>(machine, params, locate, first_group, column_block, dq);
}

/// One column group of 16 queries; `at` is the lane's first sum in a block of sums.
template <class Config, class Machine>
SPARK_DEVICE void add_group_to_sums(Machine& machine, const BackwardParams& params,
                                    const DqSums& sums, int group, int column_block, int place,
                                    const AccumulatorFragment<Config::kAccumulator>& dq) {
  // Opaque, or each sum has an address of its own.
  float* const at =
      machine.opaque(params.workspace.dq_sums_of(sums.head, sums.first_query + kGridRows * group,
                                                 sum_columns<Config>(params), column_block) +
                     place);
  float value[8];
  sparkbench::widen(machine, dq, value);
#pragma unroll
  for (int i = 0; i < 8; ++i) machine.add_global(at + 32 * i, value[i]);
}

/// For configs with two blocks per SM and one tile of keys per block: 16 queries and half of the
/// columns, which are a block of 32 and half a block. 80 columns have only one half block: each
/// column half computes it for the 32 keys that it takes first.
template <class Config, class Machine, class Locate>
SPARK_DEVICE void add_dq_half(Machine& machine, const BackwardParams& params,
                              typename Config::KeyTile& k, TeamTiles<Config>& team, int column_half,
                              int group, Locate locate) {
  using KeyTile = typename Config::KeyTile;
  constexpr bool kSharesHalfBlock = Config::kHeadDim == 80;
  constexpr int kKeys = kSharesHalfBlock ? kTransposedKeys / 2 : kTransposedKeys;
  constexpr int kRowBytes = 16 * KeyTile::kChunksPerRow;
  AccumulatorFragment<Config::kAccumulator> dq[1][3] = {};
  const auto add_keys = [&](int first_key, auto has_half) {
    auto place = output_operand_place<KeyTile>(machine.lane());
    auto half_place = half_block_place<KeyTile>(machine.lane());
    place.offset_bytes += kRowBytes * first_key + 64 * column_half;
    half_place.offset_bytes += kRowBytes * first_key;
    matmul_probabilities<Config::kAccumulator, kKeys, 1, decltype(has_half)::value>(
        machine,
        [&](int, int chunk) {
          return load_probabilities(machine, team.ds[0][group], chunk ^ (first_key / 8));
        },
        k, place, 0, dq, 0, {half_place, kSharesHalfBlock ? 8 : 8 + 2 * column_half});
  };
  add_keys(kSharesHalfBlock ? kKeys * column_half : 0, std::true_type{});
  if constexpr (kSharesHalfBlock) add_keys(kKeys * (column_half ^ 1), std::false_type{});
  const DqSums sums = locate();
  const auto add = [&](int column_block, int place, const auto& of_group) {
    add_group_to_sums<Config>(machine, params, sums, group, column_block, place, of_group);
  };
  const int lane = machine.lane();
  add(column_half, lane, dq[0][0]);
  add(column_half, lane + 32 * 8, dq[0][1]);
  add(2, half_block_sum(lane) + (kSharesHalfBlock ? 0 : 4 * column_half), dq[0][2]);
}

/// All queries and 24 columns of 96: a column group of 16, and half of another. A warp's column
/// halves have the same columns for half of the keys each, every second chunk of dS. A product then
/// reads each operand once: a third less shared memory traffic, for twice the accumulators. A
/// lane's first accumulators are those of one query group, its others those of the group that the
/// lane with the other keys finishes; the lanes exchange them and add up.
template <class Config, class Machine, class Locate>
SPARK_DEVICE void add_dq_of_key_halves(Machine& machine, const BackwardParams& params,
                                       typename Config::KeyTile& k, TeamTiles<Config>& team,
                                       int member, Locate locate) {
  static_assert(Config::kHeadDim == 96 && Config::kAccumulator == Accumulator::kFp32,
                "the column groups are these, and what is exchanged is of 32 bits");
  using KeyTile = typename Config::KeyTile;
  constexpr int kOtherKeysLane = 4;
  const int lane = machine.lane(), key_half = grid_column_half(lane);
  const int half_group = member >> 1, half = member & 1;
  const int key = 8 * ((lane >> 1) & 1) + (lane & 1) + 4 * key_half;
  const auto place = KeyTile::lane_place(key, 2 * member + (lane >> 4));
  auto half_place = KeyTile::lane_place(key, 8 + 2 * half_group + (lane >> 4));
  half_place.offset_bytes += 8 * half;
  AccumulatorFragment<Config::kAccumulator> dq[kRowGroups][3] = {};
#pragma unroll
  for (int step = 0; step < kTransposedKeys / kGridColumns; ++step) {
    Bits128 ds[kRowGroups];
#pragma unroll
    for (int g = 0; g < kRowGroups; ++g) {
      ds[g] = load_probabilities(machine, team.ds[0][key_half ^ g], 2 * step + key_half);
    }
#pragma unroll
    for (int pair = 0; pair < 2; ++pair) {
      const int first_key = kGridColumns * step + 2 * pair;
      const auto columns = machine.template load_shared<Bits128>(k.at(place, first_key, 0));
      machine.template mma_m8n8k4_outer<Major::kRow, Major::kRow, Operand::kB>(
          {&dq[0][0], &dq[1][0]}, {{operand(ds[0], pair), operand(ds[1], pair)}},
          {{operand(columns, 0), operand(columns, 1)}});
      const auto of_half = machine.template load_shared<Bits64>(k.at(half_place, first_key, 0));
#pragma unroll
      for (int g = 0; g < kRowGroups; ++g) {
        machine.template mma_m8n8k4_outer<Major::kRow, Major::kRow, Operand::kB>(
            {&dq[g][2]}, {{operand(ds[g], pair)}},
            {{OperandFragment{{of_half.word[0], of_half.word[1]}}}});
      }
    }
  }
  const DqSums sums = locate();
  const int query = sums.first_query + kGridRows * key_half;
  // The sums are in the order of lanes whose column half tells columns, so that an instruction adds
  // to pieces of 16 bytes, as in add_dq_half().
  const auto first_sum = [&](int group) {
    return params.workspace.dq_sums_of(sums.head, query, sum_columns<Config>(params), group >> 1) +
           ((lane & ~kOtherKeysLane) | (group & 1) * kOtherKeysLane);
  };
  float* const at = machine.opaque(first_sum(member));
  float* const half_at = machine.opaque(first_sum(4 + half_group) + 32 * 8 * half);
#pragma unroll
  for (int f = 0; f < 3; ++f) {
#pragma unroll
    for (int i = 0; i < 8; ++i) {
      machine.add_global(
          f == 2 ? half_at + 32 * i : at + 32 * (8 * f + i),
          dq[0][f].element[i] + machine.shuffle_xor(dq[1][f].element[i], kOtherKeysLane));
    }
  }
}

/// The share of warp `member` of a team: 32 columns and 64 keys, or, if there are twice as many
/// warps as such parts, 16 queries of one. With two blocks per SM: 16 queries and half of the
/// columns, or all queries and a quarter of the columns.
template <class Config, class Machine, class Locate>
SPARK_DEVICE void add_step_dq(Machine& machine, const BackwardParams& params,
                              typename Config::KeyTile& k, TeamTiles<Config>& team, int member,
                              Locate locate) {
  constexpr int kParts = Config::kHeadDim / 32 * Config::kKeyTiles;
  if constexpr (Config::kHalvesKeysOfDq) {
    add_dq_of_key_halves<Config>(machine, params, k, team, member, locate);
  } else if constexpr (Config::kSharesSm) {
    add_dq_half<Config>(machine, params, k, team, member >> 1, member & 1, locate);
  } else if constexpr (Config::kTeamWarps == kParts) {
    add_dq_part<Config, kRowGroups>(machine, params, k, team, member, 0, locate);
  } else {
    static_assert(Config::kTeamWarps == 2 * kParts, "two warps share a part");
    add_dq_part<Config, 1>(machine, params, k, team, member >> 1, member & 1, locate);
  }
}

}  // namespace sparkbench::volta
