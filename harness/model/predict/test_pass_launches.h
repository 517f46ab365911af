// Problems and kernels of the tests of a pass' launches.
#pragma once

#include <string>

#include "kernels/problem/attention.h"
#include "kernels/registry.h"

namespace sparkbench {

inline Problem problem_of(int seqlen_q, int seqlen_k, const MaskSpec& mask, int head_dim = 64,
                          float dropout_p = 0) {
  return {.batch = 2,
          .heads = 3,
          .seqlen_q = seqlen_q,
          .seqlen_k = seqlen_k,
          .head_dim = head_dim,
          .mask = mask,
          .dropout_p = dropout_p};
}

inline const AttentionKernel& kernel_of(const std::string& name) {
  return *find_attention_kernel(name);
}

}  // namespace sparkbench
