/* naive-host: attention as three loops, for sparkbench_kernel.h. Written to be read, and copied.
 *
 * It runs on the host, so an emulated device verifies it on any machine:
 *
 *   gcc -O2 -shared -fPIC -I. -o libnaive_host.so harness/plugin/examples/naive_host.c -lm
 *   sparkbench sweep --device emulated-v100 --kernel ./libnaive_host.so --seqlen 65 --causal both
 *
 * Every mask, grouped queries, varlen sequences and bf16 work; dropout is declined. C99.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "harness/plugin/sparkbench_kernel.h"

/* What prepare() keeps for the passes. */
typedef struct naive_plan {
  const sparkbench_problem* problem; /* valid until destroy() */
  float* p;                          /* [seqlen_k]: a row of the softmax */
  float* dk;                         /* [seqlen_k, head_dim]: of one key head, as is dv */
  float* dv;
} naive_plan;

static const char* why = NULL; /* of the last call that failed */

static float half_to_float(uint16_t h) {
  const uint32_t sign = (uint32_t)(h & 0x8000) << 16, magnitude = h & 0x7fff;
  const uint32_t bits = sign | (magnitude < 0x7c00 ? (magnitude << 13) + (112u << 23)
                                                   : (magnitude << 13) | 0x7f800000u);
  float x;
  if (magnitude < 0x0400) return (sign != 0 ? -1.0f : 1.0f) * 0x1p-24f * (float)magnitude;
  memcpy(&x, &bits, sizeof x);
  return x;
}

/* To the nearest, ties to even. */
static uint16_t float_to_half(float x) {
  const uint16_t sign = signbit(x) ? 0x8000 : 0;
  int exponent = 0;
  float scaled;
  if (isnan(x)) return 0x7e00;
  x = fabsf(x);
  if (x >= 65520.0f) return (uint16_t)(sign | 0x7c00);
  if (x < 0x1p-14f) return (uint16_t)(sign | (uint16_t)rintf(ldexpf(x, 24)));
  frexpf(x, &exponent);                     /* x is in [2^(exponent - 1), 2^exponent) */
  scaled = rintf(ldexpf(x, 11 - exponent)); /* 1024 to 2048 */
  return (uint16_t)(sign | (uint16_t)((exponent + 13) * 1024 + (int)scaled));
}

static float to_float(int32_t dtype, uint16_t bits) {
  const uint32_t wide = (uint32_t)bits << 16; /* bf16 is the upper half of a float */
  float x;
  if (dtype == SPARKBENCH_FP16) return half_to_float(bits);
  memcpy(&x, &wide, sizeof x);
  return x;
}

static uint16_t from_float(int32_t dtype, float x) {
  uint32_t bits;
  if (dtype == SPARKBENCH_FP16) return float_to_half(x);
  memcpy(&bits, &x, sizeof bits);
  if (isnan(x)) return 0x7fff;
  return (uint16_t)((bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
}

/* Row `s` of sequence `b`, head `h`. With varlen `first` is the sequence's first row. */
static int64_t offset_of(int64_t batch_stride, int64_t seqlen_stride, int64_t head_stride, int b,
                         int s, int h) {
  return b * batch_stride + s * seqlen_stride + h * head_stride;
}
static const uint16_t* in_row(const sparkbench_input* t, int b, int s, int h) {
  return (const uint16_t*)t->data +
         offset_of(t->batch_stride, t->seqlen_stride, t->head_stride, b, s, h);
}
static uint16_t* out_row(const sparkbench_output* t, int b, int s, int h) {
  return (uint16_t*)t->data + offset_of(t->batch_stride, t->seqlen_stride, t->head_stride, b, s, h);
}

static float dot(int32_t dtype, const uint16_t* a, const uint16_t* b, int n) {
  float sum = 0;
  for (int i = 0; i < n; ++i) sum += to_float(dtype, a[i]) * to_float(dtype, b[i]);
  return sum;
}

/* Where a sequence lies: its batch entry and first row and key, and its lengths. */
typedef struct naive_sequence {
  int index, batch, first_q, first_k, seqlen_q, seqlen_k;
} naive_sequence;

static naive_sequence sequence_of(const sparkbench_problem* p, int i) {
  naive_sequence s = {0, 0, 0, 0, 0, 0};
  s.index = i;
  if (p->cu_seqlens_q == NULL) {
    s.batch = i;
    s.seqlen_q = p->seqlen_q;
    s.seqlen_k = p->seqlen_k;
  } else { /* tensors are [total, heads, head_dim]: one batch entry */
    s.first_q = p->cu_seqlens_q[i];
    s.first_k = p->cu_seqlens_k[i];
    s.seqlen_q = p->cu_seqlens_q[i + 1] - s.first_q;
    s.seqlen_k = p->cu_seqlens_k[i + 1] - s.first_k;
  }
  return s;
}

static float* lse_of(const sparkbench_problem* p, const sparkbench_tensors* t,
                     const naive_sequence* s, int h, int q) {
  if (p->cu_seqlens_q != NULL) return t->lse + h * p->total_q + s->first_q + q;
  return t->lse + ((int64_t)s->batch * p->heads + h) * p->seqlen_q + q;
}

/* The scaled scores of a row, -inf where the mask hides a key. Returns the largest. */
static float scores_of(const naive_plan* plan, const sparkbench_tensors* t, const naive_sequence* s,
                       int h, int q) {
  const sparkbench_problem* p = plan->problem;
  const int h_k = h / (p->heads / p->heads_k);
  const uint16_t* q_row = in_row(&t->q, s->batch, s->first_q + q, h);
  float most = -INFINITY;
  for (int k = 0; k < s->seqlen_k; ++k) {
    plan->p[k] = -INFINITY;
    if (!p->sees(p->mask_context, s->index, h, q, k)) continue;
    plan->p[k] = p->softmax_scale *
                 dot(p->dtype, q_row, in_row(&t->k, s->batch, s->first_k + k, h_k), p->head_dim);
    if (plan->p[k] > most) most = plan->p[k];
  }
  return most;
}

static void forward_row(const naive_plan* plan, const sparkbench_tensors* t,
                        const naive_sequence* s, int h, int q) {
  const sparkbench_problem* p = plan->problem;
  const int h_k = h / (p->heads / p->heads_k);
  uint16_t* o_row = out_row(&t->o, s->batch, s->first_q + q, h);
  const float most = scores_of(plan, t, s, h, q);
  float sum = 0;
  for (int k = 0; k < s->seqlen_k; ++k) {
    plan->p[k] = plan->p[k] == -INFINITY ? 0.0f : expf(plan->p[k] - most);
    sum += plan->p[k];
  }
  for (int d = 0; d < p->head_dim; ++d) {
    float o = 0;
    for (int k = 0; k < s->seqlen_k; ++k) {
      if (plan->p[k] == 0) continue; /* hidden: the value may be NaN */
      o += plan->p[k] * to_float(p->dtype, in_row(&t->v, s->batch, s->first_k + k, h_k)[d]);
    }
    o_row[d] = from_float(p->dtype, sum > 0 ? o / sum : 0);
  }
  *lse_of(p, t, s, h, q) = sum > 0 ? most + logf(sum) : -INFINITY;
}

static int32_t naive_forward(void* plan_, const sparkbench_tensors* t, void* stream) {
  const naive_plan* plan = (const naive_plan*)plan_;
  const sparkbench_problem* p = plan->problem;
  (void)stream;
  for (int i = 0; i < p->batch; ++i) {
    const naive_sequence s = sequence_of(p, i);
    for (int h = 0; h < p->heads; ++h) {
      for (int q = 0; q < s.seqlen_q; ++q) forward_row(plan, t, &s, h, q);
    }
  }
  return SPARKBENCH_OK;
}

/* With P = exp(S - LSE) and D = rowsum(dO * O): dS = P * (dO V^T - D). Writes the row of dQ, and
 * adds to dK and dV of the key head. */
static void backward_row(const naive_plan* plan, const sparkbench_tensors* t,
                         const naive_sequence* s, int h, int q) {
  const sparkbench_problem* p = plan->problem;
  const int h_k = h / (p->heads / p->heads_k), d_end = p->head_dim;
  const uint16_t* q_row = in_row(&t->q, s->batch, s->first_q + q, h);
  const uint16_t* d_o = in_row(&t->d_o, s->batch, s->first_q + q, h);
  const float lse = *lse_of(p, t, s, h, q);
  const float delta = dot(p->dtype, d_o, out_row(&t->o, s->batch, s->first_q + q, h), d_end);
  uint16_t* dq_row = out_row(&t->dq, s->batch, s->first_q + q, h);
  scores_of(plan, t, s, h, q);
  for (int k = 0; k < s->seqlen_k; ++k) { /* P becomes dS */
    if (plan->p[k] == -INFINITY) {
      plan->p[k] = 0;
      continue;
    }
    const float prob = expf(plan->p[k] - lse);
    const float dp = dot(p->dtype, d_o, in_row(&t->v, s->batch, s->first_k + k, h_k), d_end);
    plan->p[k] = prob * (dp - delta);
    for (int d = 0; d < d_end; ++d) {
      plan->dv[k * d_end + d] += prob * to_float(p->dtype, d_o[d]);
      plan->dk[k * d_end + d] += p->softmax_scale * plan->p[k] * to_float(p->dtype, q_row[d]);
    }
  }
  for (int d = 0; d < d_end; ++d) {
    float dq = 0;
    for (int k = 0; k < s->seqlen_k; ++k) {
      if (plan->p[k] == 0) continue;
      dq += plan->p[k] * to_float(p->dtype, in_row(&t->k, s->batch, s->first_k + k, h_k)[d]);
    }
    dq_row[d] = from_float(p->dtype, p->softmax_scale * dq);
  }
}

static int32_t naive_backward(void* plan_, const sparkbench_tensors* t, void* stream) {
  const naive_plan* plan = (const naive_plan*)plan_;
  const sparkbench_problem* p = plan->problem;
  const int group = p->heads / p->heads_k;
  (void)stream;
  for (int i = 0; i < p->batch; ++i) {
    const naive_sequence s = sequence_of(p, i);
    for (int h_k = 0; h_k < p->heads_k; ++h_k) {
      const size_t bytes = sizeof(float) * (size_t)s.seqlen_k * (size_t)p->head_dim;
      memset(plan->dk, 0, bytes);
      memset(plan->dv, 0, bytes);
      for (int h = h_k * group; h < (h_k + 1) * group; ++h) {
        for (int q = 0; q < s.seqlen_q; ++q) backward_row(plan, t, &s, h, q);
      }
      for (int k = 0; k < s.seqlen_k; ++k) {
        for (int d = 0; d < p->head_dim; ++d) {
          const int at = k * p->head_dim + d;
          out_row(&t->dk, s.batch, s.first_k + k, h_k)[d] = from_float(p->dtype, plan->dk[at]);
          out_row(&t->dv, s.batch, s.first_k + k, h_k)[d] = from_float(p->dtype, plan->dv[at]);
        }
      }
    }
  }
  return SPARKBENCH_OK;
}

static const char* naive_supports(const sparkbench_problem* p) {
  if (p->dropout_p > 0) return "dropout is not supported";
  return NULL;
}

static void naive_destroy(void* plan_) {
  naive_plan* plan = (naive_plan*)plan_;
  free(plan->p);
  free(plan->dk);
  free(plan->dv);
  free(plan);
}

static int32_t naive_prepare(const sparkbench_problem* p, void* workspace, void* stream,
                             void** plan_) {
  const size_t keys = (size_t)p->seqlen_k + 1; /* malloc(0) may be null */
  naive_plan* plan = (naive_plan*)calloc(1, sizeof *plan);
  (void)workspace;
  (void)stream;
  if (plan != NULL) {
    plan->problem = p;
    plan->p = (float*)malloc(sizeof(float) * keys);
    plan->dk = (float*)malloc(sizeof(float) * keys * (size_t)p->head_dim);
    plan->dv = (float*)malloc(sizeof(float) * keys * (size_t)p->head_dim);
    if (plan->p != NULL && plan->dk != NULL && plan->dv != NULL) {
      *plan_ = plan;
      return SPARKBENCH_OK;
    }
    naive_destroy(plan);
  }
  why = "malloc failed";
  return SPARKBENCH_OUT_OF_MEMORY;
}

static const char* naive_last_error(void) { return why; }

static const sparkbench_kernel kernel = {
    .struct_bytes = sizeof(sparkbench_kernel),
    .name = "naive-host",
    .summary = "attention as three loops, on the host",
    .version = "1.0",
    .backend = SPARKBENCH_HOST,
    .accumulator = SPARKBENCH_ACC_FP32,
    .supports = naive_supports,
    .prepare = naive_prepare,
    .forward = naive_forward,
    .backward = naive_backward,
    .destroy = naive_destroy,
    .last_error = naive_last_error,
    .dtypes = SPARKBENCH_TAKES(SPARKBENCH_FP16) | SPARKBENCH_TAKES(SPARKBENCH_BF16),
};

const sparkbench_kernel* sparkbench_kernel_entry(uint32_t abi, uint32_t index) {
  return abi == SPARKBENCH_KERNEL_ABI && index == 0 ? &kernel : NULL;
}
