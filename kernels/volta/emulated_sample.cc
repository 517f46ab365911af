#include "kernels/volta/emulated_sample.h"

#include <algorithm>
#include <array>
#include <set>

#include "kernels/base/ceil_divide.h"
#include "kernels/volta/backward/relay_plan.h"

namespace sparkbench::volta {

Tiles tiles_of_same_heads(const Problem& problem, const BackwardSample& sample) {
  std::set<std::array<int, 2>> heads;
  for (const auto& tile : sample.query_tiles) heads.insert({tile[1], tile[2]});
  for (const auto& tile : sample.key_tiles) {
    const int first = tile[1] * problem.group_size();
    for (int m = 0; m < problem.group_size(); ++m) heads.insert({first + m, tile[2]});
  }
  Tiles all;
  for (const auto& head : heads) {
    for (int t = 0; t < sample_tiles_of(problem.seqlen_q); ++t) {
      all.push_back({t, head[0], head[1]});
    }
  }
  return all;
}

Tiles tiles_of_visible_keys(const Problem& problem, const SampleTile& queries) {
  const int first = queries[0] * kSampleRows;
  const Range rows = {first, std::min(first + kSampleRows, problem.seqlen_q)};
  const Range keys = problem.key_mask().keys_of_any(rows);
  Tiles tiles;
  if (keys.is_empty()) return tiles;
  for (int t = keys.begin / kSampleRows; t * kSampleRows < keys.end; ++t) {
    tiles.push_back({t, problem.key_head(queries[1]), queries[2]});
  }
  return tiles;
}

std::vector<KeyBlocks> key_blocks_of(const Problem& problem, const BackwardSample& sample) {
  std::set<std::array<int, 3>> blocks;  // batch, key head, block
  const int block_keys = relay_block_keys(problem.head_dim);
  const int of_tile = kSampleRows / block_keys, all = ceil_divide(problem.seqlen_k, block_keys);
  for (const SampleTile& keys : sample.key_tiles) {
    for (int i = of_tile * keys[0]; i < std::min(all, of_tile * (keys[0] + 1)); ++i) {
      blocks.insert({keys[2], keys[1], i});
    }
  }
  const KeyMask mask = problem.key_mask();
  const DqRelay relay = make_relay(problem, all_step_bits(problem), nullptr);
  const RelayGeometry geometry{mask, relay.last_key, block_keys};
  for (const SampleTile& queries : sample.query_tiles) {
    const int begin = kSampleRows * queries[0];
    for (int row = begin; row < std::min(begin + kSampleRows, problem.seqlen_q);
         row += kRelayStep) {
      for (int i = geometry.first_block(row); i <= geometry.last_block(row); ++i) {
        blocks.insert({queries[2], problem.key_head(queries[1]), i});
      }
    }
  }
  std::vector<KeyBlocks> found;
  for (const auto& [batch, key_head, block] : blocks) {
    const bool goes_on = !found.empty() && found.back().batch == batch &&
                         found.back().key_head == key_head && found.back().blocks.end == block;
    if (goes_on) {
      ++found.back().blocks.end;
    } else {
      found.push_back({key_head, batch, {block, block + 1}});
    }
  }
  return found;
}

void pass_turns_behind(const DqRelay& relay, const Problem& problem, int key_block) {
  const RelayGeometry geometry{problem.key_mask(), relay.last_key,
                               relay_block_keys(problem.head_dim)};
  for (int head = 0; head < problem.batch * problem.key_heads(); ++head) {
    for (int step = 0; step < relay_steps(problem); ++step) {
      const int passed = std::max(0, geometry.last_block(step * kRelayStep) + 1 - key_block);
      for (int member = 0; member < problem.group_size(); ++member) {
        const DqSlot slot = dq_slot(relay, problem.group_size(), head, member, step);
        relay.turns[slot.slot] = slot.first_turn + static_cast<std::uint32_t>(passed);
      }
    }
  }
}

}  // namespace sparkbench::volta
