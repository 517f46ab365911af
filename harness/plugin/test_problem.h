// A problem for tests of plug-ins: grouped heads, fewer rows than keys.
#pragma once

#include "kernels/problem/attention.h"

namespace sparkbench {

inline Problem small_problem() {
  Problem problem;
  problem.batch = 2;
  problem.heads = 6;
  problem.heads_k = 2;
  problem.seqlen_q = 5;
  problem.seqlen_k = 9;
  problem.head_dim = 16;
  return problem;
}

}  // namespace sparkbench
