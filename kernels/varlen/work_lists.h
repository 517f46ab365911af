// The lists of blocks of packed sequences (tile/work_list.h) as the host lays them out, and the
// grid of what follows. C++17, for both machines.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "kernels/problem/packed.h"
#include "kernels/tile/list_blocks.h"

namespace sparkbench {

/// What a list is of, and how many of its rows, or keys, a block has.
struct WorkListKind {
  bool is_of_keys;
  int block_rows;
};

/// Items that the list of a packed problem has room for.
int work_items(const Problem& packed, int batch, const WorkListKind& kind);

/// Bytes of the list: a multiple of 256, or 0 where there is no block.
std::uint64_t work_list_bytes(const Problem& packed, int batch, const WorkListKind& kind);

/// Throws std::invalid_argument for a problem that is not packed, or where its lengths or batch are
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
