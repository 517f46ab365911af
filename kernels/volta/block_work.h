// How much each block of a launch does: its counts are affine in that, from which the emulated
// machine tells the counts of blocks that it does not run.
#pragma once

#include <algorithm>
#include <vector>

#include "kernels/attention.h"
#include "kernels/mask/key_mask.h"
#include "kernels/volta/dispatch.h"

namespace sparkbench::volta {

/// Of each block of rows, the tiles of keys that it walks.
template <class Config>
std::vector<double> tiles_of_blocks(const Problem& problem, bool is_last_tile_first) {
  const KeyMask mask = problem.key_mask();
  const int blocks = ceil_divide(problem.seqlen_q, Config::kBlockM);
  std::vector<double> work;
  for (int block = 0; block < blocks; ++block) {
    const int tile = is_last_tile_first ? blocks - 1 - block : block;
    const Range keys = mask.keys_of_any({tile * Config::kBlockM, (tile + 1) * Config::kBlockM});
    const int first = first_tile<Config::kBlockN>(keys);
    work.push_back(keys.is_empty() ? 0.0 : ceil_divide(keys.end - first, Config::kBlockN));
  }
  return work;
}

/// Of each block of keys, the steps of queries that it walks.
template <class Config>
std::vector<double> steps_of_blocks(const Problem& problem) {
  const KeyMask mask = problem.key_mask();
  std::vector<double> work;
  for (int key = 0; key < problem.seqlen_k; key += Config::kBlockKeys) {
    const int end = std::min(key + Config::kBlockKeys, problem.seqlen_k);
    const Range rows = mask.rows_of_any({key, end});
    const int first = first_tile<Config::kStep>(rows);
    work.push_back(rows.is_empty() ? 0.0 : ceil_divide(rows.end - first, Config::kStep));
  }
  return work;
}

}  // namespace sparkbench::volta
