// The key blocks for dK and dV, made on the host, once for a mask and its lengths.
#pragma once

#include <cstddef>
#include <vector>

#include "kernels/baselines/acsr/rows.h"
#include "kernels/problem/attention.h"

namespace sparkbench::acsr {

class MaskRows;  // kernels/baselines/acsr/rows_of_mask.h

/// Each key is in one block of its class, whether or not a row sees it.
class MaskKeys {
 public:
  /// `rows` are the problem's.
  MaskKeys(const Problem& problem, const MaskRows& rows);

  int blocks_of_head() const { return blocks_of_head_; }
  /// A head's blocks.
  const KeyBlock* blocks_of(int head) const;

  /// Room for them elsewhere, aligned to 16 bytes; and their bytes.
  std::size_t bytes() const { return sizeof(KeyBlock) * blocks_.size(); }
  std::vector<std::byte> all_bytes() const;

 private:
  int unions_, blocks_of_head_ = 0;
  std::vector<KeyBlock> blocks_;  // [unions, blocks_of_head]
};

}  // namespace sparkbench::acsr
