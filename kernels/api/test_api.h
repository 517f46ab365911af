// What the tests of the C interface share: a problem, and tensors of it.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/api/spark_attention.h"
#include "kernels/problem/attention.h"

namespace sparkbench {

inline spark_attention_problem emulated_problem(int head_dim = 64) {
  spark_attention_problem problem = spark_attention_problem_default();
  problem.backend = SPARK_ATTENTION_EMULATED;
  problem.batch = 2;
  problem.heads = 4;
  problem.heads_k = 2;
  problem.seqlen_q = 37;
  problem.seqlen_k = 70;
  problem.head_dim = head_dim;
  problem.mask = "causal";
  problem.dropout_p = 0.2f;
  problem.seed = 5;
  return problem;
}

/// The same in the kernels' words.
inline Problem problem_like(const spark_attention_problem& of) {
  return {.batch = of.batch,
          .heads = of.heads,
          .seqlen_q = of.seqlen_q,
          .seqlen_k = of.seqlen_k,
          .head_dim = of.head_dim,
          .mask = MaskSpec::causal(),
          .dropout_p = of.dropout_p,
          .seed = of.seed,
          .heads_k = of.heads_k};
}

/// Contiguous.
template <class Tensor, class Data>
Tensor tensor_of(Data* data, int seqlen, int heads, int head_dim) {
  const std::int64_t row = std::int64_t{heads} * head_dim;
  return {data, seqlen * row, row, head_dim};
}

}  // namespace sparkbench
