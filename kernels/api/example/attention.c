/* One head of causal attention over eight tokens, forward, on the emulated V100: no GPU is needed.
 *
 * Every q and k is 0, so that token i sees tokens 0 to i with equal weight; v of token j is j. So
 * o of token i is the mean of 0 to i, which is i / 2, and LSE is log(i + 1).
 */
#include <math.h>
#include <spark_attention.h>
#include <stdio.h>

#define TOKENS 8
#define HEAD_DIM 64

/* fp16 as bits, of small whole numbers and halves of these: exact. */
static uint16_t fp16_of(float value) {
  int exponent;
  const float fraction = frexpf(value, &exponent); /* value = fraction * 2^exponent, in [1/2, 1) */
  if (value == 0.0f) return 0;
  return (uint16_t)(((exponent + 14) << 10) + (int)((2.0f * fraction - 1.0f) * 1024.0f));
}

int main(void) {
  static uint16_t q[TOKENS * HEAD_DIM], k[TOKENS * HEAD_DIM], v[TOKENS * HEAD_DIM],
      o[TOKENS * HEAD_DIM];
  static float lse[TOKENS];
  for (int i = 0; i < TOKENS * HEAD_DIM; ++i) v[i] = fp16_of((float)(i / HEAD_DIM));

  spark_attention_problem problem = spark_attention_problem_default();
  problem.backend = SPARK_ATTENTION_EMULATED;
  problem.batch = 1;
  problem.heads = 1;
  problem.seqlen_q = TOKENS;
  problem.seqlen_k = TOKENS;
  problem.head_dim = HEAD_DIM;
  problem.mask = "causal";

  /* [batch, seqlen, heads, head_dim] without gaps: one batch entry and one head have no stride. */
  const spark_attention_forward_tensors tensors = {.q = {q, 0, HEAD_DIM, 0},
                                                   .k = {k, 0, HEAD_DIM, 0},
                                                   .v = {v, 0, HEAD_DIM, 0},
                                                   .o = {o, 0, HEAD_DIM, 0},
                                                   .lse = lse};
  if (spark_attention_forward(&problem, &tensors, NULL) != SPARK_ATTENTION_OK) {
    fprintf(stderr, "attention: %s\n", spark_attention_last_error());
    return 1;
  }

  int wrong = 0;
  for (int i = 0; i < TOKENS; ++i) {
    const float expected = logf((float)(i + 1));
    printf("token %d: o %#06x, lse %.4f\n", i, o[i * HEAD_DIM], lse[i]);
    wrong += o[i * HEAD_DIM] != fp16_of(0.5f * (float)i) || !(fabsf(lse[i] - expected) < 1e-5f);
  }
  printf("libspark_attention %s: %s\n", spark_attention_version(), wrong ? "wrong" : "as expected");
  return wrong != 0;
}
