// A fake cuDNN that runs graphs on the host, operation by operation in fp64, for tests without a
// GPU. It shows that a graph computes attention, not that cuDNN has a kernel for it.
#pragma once

#include "reference/cudnn/api.h"

namespace sparkbench::cudnn {

/// Tensors in memory are on the host. Random masks are those of kernels/problem/dropout.h for the
/// tensor's [batch, heads, rows, columns] and the given seed, with the probability rounded to
/// 256ths.
Api fake_api();

}  // namespace sparkbench::cudnn
