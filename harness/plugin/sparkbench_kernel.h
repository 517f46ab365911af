/* The interface between sparkbench and a kernel that is not part of it. README.md beside this file
 * begins with the smallest kernel.
 *
 * A kernel is a shared library that exports sparkbench_kernel_entry(). sparkbench verifies, times
 * and records it as it does its own:
 *
 *   sparkbench sweep --kernel ./libmine.so             every kernel of the library
 *   sparkbench sweep --kernel ./libmine.so:name        one of them
 *
 * The computation is, with S = softmax_scale * Q K^T + mask,
 *
 *   O = dropout(softmax(S)) V,   LSE = log(sum(exp(S)))
 *
 * and the gradients of sum(O * dO) with respect to Q, K and V. Order of the calls for one problem:
 * supports, workspace_bytes, prepare, then forward and backward any number of times, then destroy.
 * Before the first backward() there is a forward() on the same tensors. A problem may be prepared
 * several times, and several plans may live at once. All calls come from one thread at a time.
 * Strings and structs that prepare() is given are valid until destroy(); those of other calls until
 * the call returns. Strings that a kernel returns are read before its next call.
 *
 * C99. Fields are only ever added at a struct's end, and struct_bytes says how much of it its maker
 * knew; what it did not know reads as 0. Values of enums are only ever added.
 */
#ifndef SPARKBENCH_KERNEL_H
#define SPARKBENCH_KERNEL_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* NOLINTBEGIN(readability-identifier-naming): names as C has them. */

#define SPARKBENCH_KERNEL_ABI 1u

/* What a function returns. After any value but OK, last_error() is asked why. */
typedef enum sparkbench_status {
  SPARKBENCH_OK = 0,
  SPARKBENCH_UNSUPPORTED = 1, /* found only now: the case is skipped, and last_error() says why */
  SPARKBENCH_OUT_OF_MEMORY = 2,
  SPARKBENCH_ERROR = 3 /* the case fails */
} sparkbench_status;

/* Where tensors and workspace lie. */
typedef enum sparkbench_backend {
  SPARKBENCH_CUDA = 0, /* memory of the CUDA device that is current */
  SPARKBENCH_HOST = 1  /* host memory. Without a stream: results are there when a call returns. The
                          kernel is verified, never timed. */
} sparkbench_backend;

typedef enum sparkbench_dtype {
  SPARKBENCH_FP16 = 0,
  SPARKBENCH_BF16 = 1, /* --dtype bf16 */
  SPARKBENCH_FP32 = 2  /* not given yet */
} sparkbench_dtype;

/* Where tensors lie (--layout). A kernel that uses every stride need not ask. LSE is
 * [batch, heads, seqlen_q] in each. */
typedef enum sparkbench_layout {
  SPARKBENCH_BSHD = 0, /* each is a contiguous [batch, seqlen, heads, head_dim] */
  SPARKBENCH_BHSD = 1, /* each is a contiguous [batch, heads, seqlen, head_dim] */
  SPARKBENCH_QKV_PACKED =
      2, /* q, k and v are slices of one [batch, seqlen, heads + 2 heads_k, head_dim], and dq, dk
            and dv of another; if there are other numbers of rows and keys in all, only k and v, and
            dk and dv, share one. o and d_o as in BSHD */
  SPARKBENCH_K_BHSD = 3 /* k and dk as in BHSD, all others as in BSHD */
} sparkbench_layout;

/* What scores are summed in. The allowed error depends on it. */
typedef enum sparkbench_accumulator {
  SPARKBENCH_ACC_FP32 = 0,
  SPARKBENCH_ACC_FP16 = 1
} sparkbench_accumulator;

typedef enum sparkbench_pass {
  SPARKBENCH_FORWARD = 0,
  SPARKBENCH_BACKWARD = 1,
  SPARKBENCH_FORWARD_BACKWARD = 2 /* forward and then backward, as one measurement */
} sparkbench_pass;

/* Row q of a sequence stands at p = q + seqlen_k - seqlen_q: the last row sees the last key. */
typedef enum sparkbench_mask_kind {
  SPARKBENCH_MASK_FULL = 0,
  SPARKBENCH_MASK_BAND = 1,   /* keys p - mask_left to p + mask_right; causal: right 0, left -1 */
  SPARKBENCH_MASK_PREFIX = 2, /* keys up to p, and those below mask_prefix */
  SPARKBENCH_MASK_PATTERN = 3 /* what `sees` says; it may differ from head to head */
} sparkbench_mask_kind;

typedef enum sparkbench_activation {
  SPARKBENCH_GELU_TANH = 0,
  SPARKBENCH_GELU_ERF = 1,
  SPARKBENCH_RELU = 2
} sparkbench_activation;

/* An encoder layer around the attention (reference/encoder/layer_shape.h defines it). LayerNorm
 * adds 1e-12 to the variance. Dropout is after the softmax and before both residuals. */
typedef struct sparkbench_layer {
  size_t struct_bytes;
  int32_t hidden, ffn;
  int32_t activation;    /* sparkbench_activation */
  int32_t is_pre_norm;   /* 1: pre-LN; 0: post-LN */
  int32_t has_bias;      /* 0: the four products have no bias */
  int32_t rest_is_fused; /* how --rest wants everything but the attention: 1: operations in few
                            kernels; 0: an operation a kernel */
} sparkbench_layer;

typedef struct sparkbench_problem {
  size_t struct_bytes;
  int32_t backend; /* sparkbench_backend */
  int32_t sm;      /* compute capability: 10 * major + minor; of the host: 0 */
  int32_t device;  /* CUDA's number of the current device; of the host: -1 */
  int32_t dtype;   /* sparkbench_dtype: of all tensors but LSE, which is fp32 */
  int32_t pass;    /* sparkbench_pass */
  int32_t batch;   /* sequences */
  int32_t heads;
  int32_t
      heads_k; /* of K and V: divides heads. Query head h reads key head h / (heads / heads_k) */
  int32_t seqlen_q; /* with cu_seqlens: of the longest sequence */
  int32_t seqlen_k;
  int32_t head_dim;
  float softmax_scale;
  int32_t
      deterministic;  /* 1: backward passes must give the same bits each time, or are incorrect */
  int32_t mask_kind;  /* sparkbench_mask_kind */
  int32_t mask_left;  /* -1: no bound */
  int32_t mask_right; /* -1: no bound */
  int32_t mask_prefix;
  const char* mask; /* the mask as --mask has it, in its normal form: "causal", "window:128" */
  /* 1 if row q of query head `head` sees key k in sequence `sequence` of the batch, for every kind
   * of mask; rows and keys count from the sequence's first. Call it on the host, from any thread,
   * as sees(mask_context, sequence, head, q, k), while the problem is valid. */
  int32_t (*sees)(const void* mask_context, int32_t sequence, int32_t head, int32_t q, int32_t k);
  const void* mask_context;
  /* Dropout. Element (b, head, q, k) of the softmax is dropped with probability dropout_p, a whole
   * number of 256ths, and a kept one is multiplied by dropout_scale. A kernel that draws these
   * elements (kernels/problem/dropout.h defines which) is verified with them, and is not asked for
   * dropout in masks whose strided parts draw others; one with draws_own_dropout is verified
   * without dropout. */
  float dropout_p;
  float dropout_scale;
  uint64_t seed;
  uint64_t dropout_offset;
  /* Varlen: sequence i has rows cu_seqlens_q[i] to below cu_seqlens_q[i + 1] of tensors
   * [total_q, heads, head_dim], and such keys; LSE is [heads, total_q]. Null: all sequences are
   * alike. The arrays of batch + 1 numbers are in the host's memory here, and in the backend's in
   * sparkbench_tensors. */
  const int32_t* cu_seqlens_q;
  const int32_t* cu_seqlens_k;
  int64_t total_q, total_k; /* rows and keys of all sequences */
  /* What `sees` says of all keys of a row at once: writes one byte for each key of the sequence, 1
   * or 0. */
  void (*sees_keys)(const void* mask_context, int32_t sequence, int32_t head, int32_t q,
                    uint8_t* seen);
  int32_t mask_per_head;         /* 1: heads see different keys */
  const sparkbench_layer* layer; /* null: the problem is attention alone */
  int32_t layout;                /* sparkbench_layout */
} sparkbench_problem;

/* Element (b, s, h, d) is data[b * batch_stride + s * seqlen_stride + h * head_stride + d]. Strides
 * are in elements. Rows are aligned to 16 bytes. With cu_seqlens batch_stride has no meaning. */
typedef struct sparkbench_input {
  const void* data;
  int64_t batch_stride, seqlen_stride, head_stride;
} sparkbench_input;

typedef struct sparkbench_output {
  void* data;
  int64_t batch_stride, seqlen_stride, head_stride;
} sparkbench_output;

/* A layer's weights. Matrices are [out, in]; w_qkv has those of Q, K and V below each other. */
typedef enum sparkbench_weight {
  SPARKBENCH_W_QKV = 0,   /* [3 hidden, hidden] */
  SPARKBENCH_W_O = 1,     /* [hidden, hidden] */
  SPARKBENCH_W_1 = 2,     /* [ffn, hidden] */
  SPARKBENCH_W_2 = 3,     /* [hidden, ffn] */
  SPARKBENCH_B_QKV = 4,   /* [3 hidden] */
  SPARKBENCH_B_O = 5,     /* [hidden] */
  SPARKBENCH_B_1 = 6,     /* [ffn] */
  SPARKBENCH_B_2 = 7,     /* [hidden] */
  SPARKBENCH_GAMMA_1 = 8, /* [hidden], like the others */
  SPARKBENCH_BETA_1 = 9,
  SPARKBENCH_GAMMA_2 = 10,
  SPARKBENCH_BETA_2 = 11,
  SPARKBENCH_WEIGHTS = 12
} sparkbench_weight;

/* Contiguous. Rows of x, y and their gradients are tokens: [batch * seqlen_q, hidden], or
 * [total_q, hidden] with cu_seqlens. */
typedef struct sparkbench_layer_tensors {
  size_t struct_bytes;
  const void* x;
  const void* weights[SPARKBENCH_WEIGHTS]; /* null: a layer without bias has none */
  void* y;
  /* Null without a backward pass. */
  const void* d_y;
  void* dx;
  void* d_weights[SPARKBENCH_WEIGHTS]; /* null where the weight is */
} sparkbench_layer_tensors;

typedef struct sparkbench_tensors {
  size_t struct_bytes;
  sparkbench_input q;    /* [batch, seqlen_q, heads, head_dim] */
  sparkbench_input k, v; /* [batch, seqlen_k, heads_k, head_dim] */
  /* Written by forward(), read by backward(). A row that sees no key has O = 0 and LSE = -inf. */
  sparkbench_output o; /* [batch, seqlen_q, heads, head_dim] */
  float* lse;          /* [batch, heads, seqlen_q], contiguous, natural logarithm */
  /* Null without a backward pass. */
  sparkbench_input d_o;        /* as o */
  sparkbench_output dq;        /* as q */
  sparkbench_output dk, dv;    /* as k: sums over the query heads that read a key head */
  const int32_t* cu_seqlens_q; /* [batch + 1], or null */
  const int32_t* cu_seqlens_k;
  /* For a kernel with computes_layers: its tensors, and all those above are null. Else null. */
  sparkbench_layer_tensors* layer;
} sparkbench_tensors;

#define SPARKBENCH_TAKES(dtype) (1u << (dtype))

typedef struct sparkbench_kernel {
  size_t struct_bytes; /* sizeof(sparkbench_kernel) */
  const char* name;    /* 1 to 64 lower-case letters, digits, "-", "_" and "."; it begins with a
                          letter, and none of sparkbench's kernels has it */
  const char* summary; /* one line. Null: none */
  const char* version; /* of what computes: recorded. Null: unknown */
  int32_t backend;     /* sparkbench_backend that it runs on */
  int32_t accumulator; /* sparkbench_accumulator */
  int32_t draws_own_dropout; /* 1: its dropped elements differ from kernels/problem/dropout.h */
  int32_t has_no_lse;        /* 1: forward() leaves LSE alone; it is not verified then */

  /* Returns null, or why the kernel does not compute this problem. Never asked for another backend,
   * nor for a backward pass without backward(). Null: it computes every problem. */
  const char* (*supports)(const sparkbench_problem* problem);
  /* Bytes of workspace. Null: none. */
  size_t (*workspace_bytes)(const sparkbench_problem* problem);
  /* Everything that is done once for a problem: compile, tune, allocate, list tiles. Not timed. It
   * may enqueue work on `stream` (a cudaStream_t). `workspace` is aligned to 256 bytes, or null
   * where there is none, and belongs to the plan until destroy(). *plan, which is null before, is
   * handed to the calls below. After any status but OK there is no plan. */
  int32_t (*prepare)(const sparkbench_problem* problem, void* workspace, void* stream, void** plan);
  /* Enqueues the pass on `stream`, and does not wait for it. Timed. Every call may have other
   * tensors of the same shapes and strides. Work on another stream must be joined to `stream`
   * before the call returns. */
  int32_t (*forward)(void* plan, const sparkbench_tensors* tensors, void* stream);
  int32_t (*backward)(void* plan, const sparkbench_tensors* tensors, void* stream); /* null: none */
  /* The device memory beyond tensors and workspace that the passes used at their peak; asked after
   * them. Null: the device's free memory is read before and after. */
  size_t (*peak_bytes)(void* plan);
  void (*destroy)(void* plan); /* null: nothing to free */
  /* Why the last call on this thread did not return OK. Null: unknown. */
  const char* (*last_error)(void);
  /* Null: the passes write to the outputs that they are given. Else they allocate their own, as a
   * framework does, and are given null pointers for them. outputs() then fills in o, lse, dq, dk
   * and dv, with their strides, as the last forward() and backward() of this plan left them; an
   * output that was not computed has null, and a null lse is not verified. o and lse stay valid
   * until the next forward() begins, the gradients until the next backward(). Called directly
   * behind each pass, as part of what is timed; it enqueues nothing. The outputs are copied from
   * there, untimed, and overwritten with NaN before the next call, which finds a kernel that
   * returns an earlier result. */
  int32_t (*outputs)(void* plan, sparkbench_tensors* tensors, void* stream);
  /* Which types of tensors it computes with: SPARKBENCH_TAKES(SPARKBENCH_FP16) |
   * SPARKBENCH_TAKES(SPARKBENCH_BF16). 0: fp16 only. It is not asked for others. */
  uint32_t dtypes;
  /* 1: it computes whole encoder layers, for `sparkbench encoder`: the problem has `layer`, and so
   * do the tensors, also those of outputs(), which fills in y, dx and d_weights. 0: attention. */
  int32_t computes_layers;
} sparkbench_kernel;

#ifdef __GNUC__
#pragma GCC visibility push(default)
#endif

/* Exported by a kernel's library. The kernel of this index, from 0, or null after the last one. It
 * lives as long as the library is loaded. `abi` is the caller's SPARKBENCH_KERNEL_ABI; null for all
 * indices if the library cannot serve it. */
const sparkbench_kernel* sparkbench_kernel_entry(uint32_t abi, uint32_t index);

#ifdef __GNUC__
#pragma GCC visibility pop
#endif

/* NOLINTEND(readability-identifier-naming) */

#ifdef __cplusplus
}
#endif

#endif
