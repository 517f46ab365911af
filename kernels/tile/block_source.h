// How a launch's blocks find their work.
#pragma once

namespace sparkbench {

enum class BlockSource {
  kDense,        // one after the other
  kVarlen,       // by a list that is made before the launch (kernels/varlen/)
  kBlockSparse,  // by a pattern's lists (kernels/block_sparse/)
};

}  // namespace sparkbench
