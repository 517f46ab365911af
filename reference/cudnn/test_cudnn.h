// A cuDNN that runs graphs on the host, operation by operation in fp64, for tests without a GPU: it
// shows that a graph says what attention is, not that cuDNN has a kernel for it.
#pragma once

#include "reference/cudnn/api.h"

namespace sparkbench::cudnn {

/// Tensors in memory are on the host. Its random masks are those of kernels/dropout.h: a tensor's
/// [batch, heads, rows, columns], the seed as it is given, the probability rounded to 256ths.
Api fake_api();

}  // namespace sparkbench::cudnn
