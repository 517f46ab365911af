/* That the header is C99, and that a C program gets results and errors through it. */
#include <stdio.h>
#include <string.h>

#include "spark_attention.h"

#define ROWS 3
#define HEAD_DIM 64

static int failures = 0;

static void expect(int holds, const char* what) {
  if (holds) return;
  fprintf(stderr, "does not hold: %s\n", what);
  ++failures;
}

static spark_attention_problem small_problem(void) {
  spark_attention_problem problem = spark_attention_problem_default();
  problem.backend = SPARK_ATTENTION_EMULATED;
  problem.batch = 1;
  problem.heads = 1;
  problem.seqlen_q = ROWS;
  problem.seqlen_k = ROWS;
  problem.head_dim = HEAD_DIM;
  return problem;
}

int main(void) {
  static uint16_t zeros[ROWS * HEAD_DIM], ones[ROWS * HEAD_DIM], o[ROWS * HEAD_DIM];
  static float lse[ROWS];
  spark_attention_problem problem = small_problem();
  spark_attention_forward_tensors tensors = {{zeros, 0, HEAD_DIM, 0},
                                             {zeros, 0, HEAD_DIM, 0},
                                             {ones, 0, HEAD_DIM, 0},
                                             {o, 0, HEAD_DIM, 0},
                                             lse};
  spark_attention_mask* mask = NULL;
  int i;
  for (i = 0; i < ROWS * HEAD_DIM; ++i) ones[i] = 0x3c00;

  expect(strcmp(spark_attention_last_error(), "") == 0, "no error before the first");
  expect(spark_attention_supports(&problem, SPARK_ATTENTION_BACKWARD) == SPARK_ATTENTION_OK,
         "a backward pass is supported");
  expect(spark_attention_forward(&problem, &tensors, NULL) == SPARK_ATTENTION_OK, "it runs");
  for (i = 0; i < ROWS * HEAD_DIM; ++i) expect(o[i] == 0x3c00, "a mean of ones is one");
  for (i = 0; i < ROWS; ++i) expect(lse[i] > 1.0985f && lse[i] < 1.0987f, "lse is log(3)");

  expect(spark_attention_mask_create("sink:1+window:1", ROWS, ROWS, &mask) == SPARK_ATTENTION_OK,
         "a pattern is prepared");
  problem.prepared_mask = mask;
  expect(spark_attention_forward(&problem, &tensors, NULL) == SPARK_ATTENTION_OK, "it runs");
  expect(lse[0] == 0.0f, "the first row sees a key");
  for (i = 1; i < ROWS; ++i) expect(lse[i] > 0.693f && lse[i] < 0.694f, "others two: log(2)");
  problem.prepared_mask = NULL;
  spark_attention_mask_destroy(mask);

  problem.head_dim = 63;
  expect(spark_attention_forward(&problem, &tensors, NULL) == SPARK_ATTENTION_UNSUPPORTED,
         "head_dim 63 is refused");
  expect(strstr(spark_attention_last_error(), "head_dim 63") != NULL, "by name");
  expect(strcmp(spark_attention_status_name(SPARK_ATTENTION_UNSUPPORTED), "UNSUPPORTED") == 0,
         "statuses have names");
  return failures != 0;
}
