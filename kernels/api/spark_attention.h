/* Fused attention for tensor cores of the V100, for C and for whatever calls C:
 *
 *   O = dropout(softmax(softmax_scale * Q K^T + mask)) V,   LSE = log(sum(exp(softmax_scale * S)))
 *
 * forward, and the gradients of Q, K and V. On a GPU, or in host memory on an emulated V100 whose
 * results have the bits of the GPU's.
 *
 * A call neither allocates device memory nor waits for the device, but for the first of a pattern
 * (spark_attention_mask_create), and throws nothing. It may be made from any thread. What it
 * launches runs in the order of the stream that it is given; tensors and workspace must live until
 * then. Structs and strings are read only during the call.
 *
 * C99. Fields are only ever added at a struct's end; a library takes the structs of older headers
 * with the same soname.
 */
#ifndef SPARK_ATTENTION_H
#define SPARK_ATTENTION_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

/* NOLINTBEGIN(readability-identifier-naming): names as C has them. */

typedef enum spark_attention_status {
  SPARK_ATTENTION_OK = 0,
  SPARK_ATTENTION_INVALID_ARGUMENT = 1, /* no library could do it: a null, a size, a stride */
  SPARK_ATTENTION_UNSUPPORTED = 2,      /* no kernel here does it: a head_dim, a mask */
  SPARK_ATTENTION_NO_DEVICE_CODE = 3,   /* built without CUDA, or without code for that GPU */
  SPARK_ATTENTION_OUT_OF_MEMORY = 4,
  SPARK_ATTENTION_DEVICE_ERROR = 5, /* what CUDA reports, perhaps of earlier work */
  SPARK_ATTENTION_INTERNAL_ERROR = 6
} spark_attention_status;

/* What computes, and where tensors lie. */
typedef enum spark_attention_backend {
  SPARK_ATTENTION_CUDA = 0,    /* device memory of `device` */
  SPARK_ATTENTION_EMULATED = 1 /* host memory: an emulated V100. Slow: it is for tests. The results
                                  are there when the call returns; there is no stream. */
} spark_attention_backend;

typedef enum spark_attention_dtype { SPARK_ATTENTION_FP16 = 0 } spark_attention_dtype;

/* What matrix products are summed in: forward over all keys, so that the error of sums in FP16
 * grows with their number. FP16 holds up to 65504: where q k^T before the scale, or the sum of
 * exp(s - max s) v over a row's keys, is beyond it, results are infinite or NaN, or zeros with an
 * LSE of -inf. */
typedef enum spark_attention_accumulator {
  SPARK_ATTENTION_ACC_FP32 = 0,
  SPARK_ATTENTION_ACC_FP16 = 1
} spark_attention_accumulator;

/* What kept elements of the softmax are multiplied by. */
typedef enum spark_attention_dropout_scale {
  SPARK_ATTENTION_SCALE_APPLIED = 0, /* 1 / (1 - the p that is applied): sums keep their mean */
  SPARK_ATTENTION_SCALE_ASKED = 1    /* 1 / (1 - dropout_p), as FlashAttention has it */
} spark_attention_dropout_scale;

/* Calls take it as an int32_t, and refuse other numbers. */
typedef enum spark_attention_pass {
  SPARK_ATTENTION_FORWARD = 0,
  SPARK_ATTENTION_BACKWARD = 1
} spark_attention_pass;

/* A mask that many calls share: spark_attention_mask_create(). */
typedef struct spark_attention_mask spark_attention_mask;

/* One problem. Begin with spark_attention_problem_default(); sizes have no default. */
typedef struct spark_attention_problem {
  size_t struct_bytes; /* sizeof(spark_attention_problem) */
  int32_t backend;     /* spark_attention_backend */
  int32_t device;      /* CUDA's number of the GPU; the calling thread's current one stays */
  int32_t dtype;       /* spark_attention_dtype, of all tensors but LSE */
  int32_t batch;       /* sizes are at least 1, and sequences shorter than 2^30 */
  int32_t heads;
  int32_t heads_k; /* of K and V: divides heads; 0: as many. Query head h reads key head
                      h / (heads / heads_k). */
  int32_t seqlen_q;
  int32_t seqlen_k;
  int32_t head_dim;
  int32_t accumulator;   /* spark_attention_accumulator */
  const char* mask;      /* null is "full". The keys of row q, at p = q + seqlen_k - seqlen_q:
                              full       every key
                              causal     the keys up to p
                              window:W   the last W of these, including p; W >= 1
                              band:L:R   from L keys before p to R keys after it
                              prefix:P   the keys up to p, and those below P
                            or a pattern: strided, blocked, documents, ...
                            (kernels/mask/README.md), their union by "+", one per head in turn
                            by "/":
                              window:128+causal-strided:128
                            or any other as where:EXPRESSION of p as q, k and the head h:
                              where:k <= q && (q - k < 128 || k % 64 == 0)
                            See spark_attention_mask_create(). */
  float softmax_scale;   /* above 0, or 0 for 1 / sqrt(head_dim) */
  float dropout_p;       /* of an element of the softmax, in [0, 1); applied in 256ths */
  uint64_t seed;         /* with the position of an element it tells whether that is dropped */
  int32_t deterministic; /* 1: a backward pass has the same bits each time, and is slower */
  int32_t allow_slow;    /* 1: also on GPUs whose tensor cores lack the kernel's instruction, where
                            it takes many times as long: Volta's, on GPUs after Turing. A kernel
                            of the GPU's own comes before it if that has both passes, which
                            are always one kernel's then. */
  int32_t dropout_scale; /* spark_attention_dropout_scale */
  const uint64_t*
      dropout_offset; /* null is 0; else one number in memory of the backend, read as the
                         pass runs, which tells calls of one seed apart: so that each
                         replay of a CUDA graph drops others. Backward as forward. */
  spark_attention_mask* prepared_mask; /* null, or in the place of `mask`, which is null then */
  const char* generation; /* null, or the only kernels to take, by the first word of their
                             names: "volta", "hopper" */
} spark_attention_problem;

/* A tensor of [batch, seqlen, heads, head_dim]: element (b, s, h, d) is
 * data[b * batch_stride + s * seqlen_stride + h * head_stride + d]. Strides are in elements. `data`
 * and the strides of extents above 1 are multiples of 16 bytes and not negative, so that slices of
 * a packed tensor and tensors with heads before rows are read in place. */
typedef struct spark_attention_input {
  const void* data;
  int64_t batch_stride, seqlen_stride, head_stride;
} spark_attention_input;

typedef struct spark_attention_output {
  void* data; /* in memory of its own: rows overlap neither each other nor another tensor */
  int64_t batch_stride, seqlen_stride, head_stride;
} spark_attention_output;

typedef struct spark_attention_forward_tensors {
  spark_attention_input q;    /* [batch, seqlen_q, heads, head_dim] */
  spark_attention_input k, v; /* [batch, seqlen_k, heads_k, head_dim] */
  spark_attention_output o;   /* as q. A row that sees no key gives zeros, and LSE -inf. */
  float* lse;                 /* [batch, heads, seqlen_q], contiguous, natural logarithm */
} spark_attention_forward_tensors;

typedef struct spark_attention_backward_tensors {
  spark_attention_input q, k, v;
  spark_attention_input o;   /* of the forward pass of the same problem, as is lse */
  spark_attention_input d_o; /* gradient with respect to o */
  const float* lse;
  spark_attention_output dq, dk, dv; /* dk and dv: sums over the heads that read a key head */
} spark_attention_backward_tensors;

/* All zero, that is every default, but for struct_bytes. */
static inline spark_attention_problem spark_attention_problem_default(void) {
  spark_attention_problem problem;
  memset(&problem, 0, sizeof problem);
  problem.struct_bytes = sizeof problem;
  return problem;
}

#ifdef __GNUC__
#pragma GCC visibility push(default)
#endif

/* OK where the pass would run; else the status and the error text that it would end with, as far as
 * they do not depend on the tensors. */
spark_attention_status spark_attention_supports(const spark_attention_problem* problem,
                                                int32_t pass);

/* The kernel that the pass runs, "volta-fp32acc". The text lives as long as the library. */
spark_attention_status spark_attention_kernel_name(const spark_attention_problem* problem,
                                                   int32_t pass, const char** name);

/* The workspace of the pass, in bytes, in the same memory as its tensors. */
spark_attention_status spark_attention_workspace_bytes(const spark_attention_problem* problem,
                                                       int32_t pass, size_t* bytes);

/* `stream` is a cudaStream_t of the device: null is its default stream. The emulated backend
 * ignores it. For what needs no workspace forward, which is all but patterns with strides, or with
 * rows that see many times more than others, on a GPU: these are INVALID_ARGUMENT here. */
spark_attention_status spark_attention_forward(const spark_attention_problem* problem,
                                               const spark_attention_forward_tensors* tensors,
                                               void* stream);
/* For all; `workspace` as of spark_attention_backward(). */
spark_attention_status spark_attention_forward_with_workspace(
    const spark_attention_problem* problem, const spark_attention_forward_tensors* tensors,
    void* workspace, size_t workspace_bytes, void* stream);

/* `workspace` is aligned to 256 bytes and has at least as many bytes as
 * spark_attention_workspace_bytes() says; null where that is 0. Its contents do not matter. */
spark_attention_status spark_attention_backward(const spark_attention_problem* problem,
                                                const spark_attention_backward_tensors* tensors,
                                                void* workspace, size_t workspace_bytes,
                                                void* stream);

/* Varlen: sequences of any lengths, packed. In the problem, batch is their number, and seqlen_q and
 * seqlen_k are the totals of rows and keys; each may be 0. Tensors are [seqlen_q, heads, head_dim]
 * and [seqlen_k, heads_k, head_dim], with the strides of a tensor of batch 1; lse is
 * [heads, seqlen_q]. An empty tensor may be null.
 *
 * Sequence i has rows cu_seqlens_q[i] to below cu_seqlens_q[i + 1], and such keys: two arrays of
 * batch + 1 in the memory of the tensors, so that no host waits for lengths. They begin at 0, never
 * fall, and end at seqlen_q and seqlen_k. Else results are not defined, though no call reads or
 * writes outside its tensors; the emulated backend refuses them. Masks and dropout count rows and
 * keys from those of the sequence; it is dropout's batch entry i. A sequence may be empty on either
 * side: rows without keys give zeros, LSE -inf and zero gradients, keys without rows zero
 * gradients.
 *
 * Both passes take a workspace, as spark_attention_backward() does. */
spark_attention_status spark_attention_varlen_supports(const spark_attention_problem* problem,
                                                       int32_t pass);
spark_attention_status spark_attention_varlen_workspace_bytes(
    const spark_attention_problem* problem, int32_t pass, size_t* bytes);
spark_attention_status spark_attention_varlen_forward(
    const spark_attention_problem* problem, const int32_t* cu_seqlens_q,
    const int32_t* cu_seqlens_k, const spark_attention_forward_tensors* tensors, void* workspace,
    size_t workspace_bytes, void* stream);
spark_attention_status spark_attention_varlen_backward(
    const spark_attention_problem* problem, const int32_t* cu_seqlens_q,
    const int32_t* cu_seqlens_k, const spark_attention_backward_tensors* tensors, void* workspace,
    size_t workspace_bytes, void* stream);

/* A mask by its text, as a problem's, over these lengths. It is read here, with the zones file that
 * it may name, and laid over the lengths: any number of problems of these lengths share it, on any
 * device and from any threads at once.
 *
 * On a GPU a pattern's passes read lists of tiles. They depend on the accumulator, head_dim, the
 * pass, whether there is dropout, and backward on `deterministic`. The first call that needs some
 * makes them, copies them to that GPU, and waits for that, also while streams are captured; so
 * spark_attention_prepare() may do it ahead, and calls then neither allocate nor wait. The emulated
 * backend makes them each time.
 *
 * A CUDA graph reads the lists whenever it is replayed, so the mask outlives it. A problem whose
 * `mask` is a pattern finds them in the library's cache of the last 64 such texts: a stream that is
 * being captured is refused then.
 *
 * Refused are a text or lengths that make no mask, which says where and what is allowed. */
spark_attention_status spark_attention_mask_create(const char* text, int32_t seqlen_q,
                                                   int32_t seqlen_k, spark_attention_mask** mask);

/* Makes the lists that a pass of the problem reads of its prepared_mask, on its device. Does
 * nothing for masks that are no patterns, and on the emulated backend. */
spark_attention_status spark_attention_prepare(const spark_attention_problem* problem,
                                               int32_t pass);

/* Frees it and its lists, on GPUs when they are done with what was launched before. No call and no
 * CUDA graph may use it any more. Ignores null. */
void spark_attention_mask_destroy(spark_attention_mask* mask);

/* The dropout of a problem, in memory of its backend (and `stream`): keep[((b * heads + h) *
 * seqlen_q + q) * seqlen_k + k] is 1 where element (q, k) is kept and 0 where it is dropped,
 * whether or not the mask hides it. Where a pattern strides, the elements that it shows have
 * another dropout than without it. *keep_scale, in host memory, is what kept elements are
 * multiplied by. Either pointer may be null. For tests: kernels make the same bits as they go. */
spark_attention_status spark_attention_dropout_mask(const spark_attention_problem* problem,
                                                    uint8_t* keep, float* keep_scale, void* stream);

/* Why this thread's last call that failed did so, in a line; "" before the first. It lives until
 * the thread's next call. */
const char* spark_attention_last_error(void);

/* "INVALID_ARGUMENT" */
const char* spark_attention_status_name(int32_t status);

/* "0.1.0" */
const char* spark_attention_version(void);

/* Compute capabilities that the library was built for, "70,75,80": later GPUs run the last of these
 * by their driver's translation, but for the kernels of an instruction that they lack, which
 * spark_attention_build_info() names. "" where it was built without CUDA. */
const char* spark_attention_architectures(void);

/* How the library was built, as JSON on a line: "cuda" is nvcc's version, or "" without CUDA;
 * "architectures" as above; "volta" and "hopper" those of them that Volta's and Hopper's kernels
 * are compiled for, which run on these GPUs and on later ones of the same generation (70 on 75)
 * alone; "why" whose GPUs these are, or why there are none.
 * {"cuda": "12.9.86", "architectures": [70], "volta": [70], "hopper": [], "why": "..."} */
const char* spark_attention_build_info(void);

/* NOLINTEND(readability-identifier-naming) */

#ifdef __cplusplus
}
#endif

#endif /* SPARK_ATTENTION_H */
