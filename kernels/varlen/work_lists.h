// Varlen work lists (tile/work_list.h) as the host lays them out in memory, and the grid of the
// kernels that read them. C++17, for both machines.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "kernels/problem/packed.h"
#include "kernels/tile/list_blocks.h"

namespace sparkbench {

/// Whether a list is of rows or of keys, and how many of them a block has.
struct WorkListKind {
  bool is_of_keys;
  int block_rows;
};

/// Items that the list of a varlen problem has memory for.
int work_items(const Problem& packed, int batch, const WorkListKind& kind);

/// Bytes of the list: a multiple of 256, or 0 where there is no block.
std::uint64_t work_list_bytes(const Problem& packed, int batch, const WorkListKind& kind);

/// Throws std::invalid_argument for a problem that is not varlen, or if its lengths or batch are
/// negative or too large.
void check_packed(const Problem& packed, const PackedLengths& lengths);

/// A list in `memory`, of work_list_bytes() and aligned to 16 bytes.
WorkListParams work_list(const Problem& packed, const PackedLengths& lengths,
                         const WorkListKind& kind, void* memory);

/// The grid of a kernel with so many blocks for each item.
inline std::array<int, 3> packed_grid(int blocks_of_item, int items) {
  return {blocks_of_item, items < kItemsOfAxis ? items : kItemsOfAxis,
          (items + kItemsOfAxis - 1) / kItemsOfAxis};
}

}  // namespace sparkbench
