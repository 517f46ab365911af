// What tests of masks through the C interface share: masks that free themselves, and a problem.
#pragma once

#include <gtest/gtest.h>

#include <memory>

#include "kernels/api/test_api.h"

namespace sparkbench {

struct DestroyMask {
  void operator()(spark_attention_mask* mask) const { spark_attention_mask_destroy(mask); }
};
using MaskHandle = std::unique_ptr<spark_attention_mask, DestroyMask>;

inline MaskHandle prepared(const char* text, int seqlen_q, int seqlen_k) {
  spark_attention_mask* mask = nullptr;
  EXPECT_EQ(spark_attention_mask_create(text, seqlen_q, seqlen_k, &mask), SPARK_ATTENTION_OK)
      << spark_attention_last_error();
  return MaskHandle(mask);
}

inline spark_attention_problem with_mask(const char* mask, int head_dim = 64) {
  spark_attention_problem given = emulated_problem(head_dim);
  given.mask = mask;
  given.deterministic = 1;
  return given;
}

}  // namespace sparkbench
