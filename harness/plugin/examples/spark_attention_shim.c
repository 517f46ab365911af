/* A libspark_attention.so as kernels of sparkbench_kernel.h: another build of ours beside this one,
 * in one sweep.
 *
 *   SPARK_ATTENTION_LIBRARY=/old/lib/libspark_attention.so.0 \
 *     sparkbench sweep --kernel ./libspark_attention_shim.so,volta-fp32acc
 *
 * The library is loaded by the path in that variable, and its own emulated V100 is the host's
 * backend. It may be older than this header: spark_attention_problem has grown, and the shim asks
 * which of its sizes the library takes. C99.
 */
#include <dlfcn.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/plugin/sparkbench_kernel.h"
#include "kernels/api/spark_attention.h"

/* The library's functions, each by its own type. */
#define FOR_EACH_FUNCTION(DO) \
  DO(supports)                \
  DO(workspace_bytes)         \
  DO(forward_with_workspace)  \
  DO(backward)                \
  DO(varlen_supports)         \
  DO(varlen_workspace_bytes)  \
  DO(varlen_forward)          \
  DO(varlen_backward)         \
  DO(last_error)              \
  DO(version)

#ifdef __GNUC__
#define TYPE_OF(function) __typeof__(&spark_attention_##function)
#else
#error "the shim takes the types of functions from their declarations, as GCC and Clang can"
#endif

#define MEMBER(function) TYPE_OF(function) function;
static struct {
  FOR_EACH_FUNCTION(MEMBER)
  size_t problem_bytes; /* of the struct, as the library knows it */
} library;

static char why[512];      /* the last call failed, or there is no library */
static char version[1024]; /* the library's, and its path */

/* Whether the library takes a struct of this size. */
static int takes(size_t bytes) {
  spark_attention_problem problem = spark_attention_problem_default();
  problem.struct_bytes = bytes;
  problem.backend = SPARK_ATTENTION_EMULATED;
  problem.batch = problem.heads = problem.seqlen_q = problem.seqlen_k = 1;
  problem.head_dim = 64;
  return library.supports(&problem, SPARK_ATTENTION_FORWARD) != SPARK_ATTENTION_INVALID_ARGUMENT;
}

/* Null, or why there is no library. */
static const char* load(void) {
  static int is_tried = 0;
  static char failure[512];
  const size_t sizes[] = {sizeof(spark_attention_problem),
                          offsetof(spark_attention_problem, generation),
                          offsetof(spark_attention_problem, prepared_mask)};
  const char* const path = getenv("SPARK_ATTENTION_LIBRARY");
  void* opened;
  if (is_tried) return failure[0] != '\0' ? failure : NULL;
  is_tried = 1;
  if (path == NULL || *path == '\0') {
    snprintf(failure, sizeof failure,
             "SPARK_ATTENTION_LIBRARY is not set; it must be a libspark_attention.so's path");
    return failure;
  }
  opened = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (opened == NULL) {
    snprintf(failure, sizeof failure, "SPARK_ATTENTION_LIBRARY: %s", dlerror());
    return failure;
  }
#define LOAD(function)                                                                    \
  *(void**)&library.function = dlsym(opened, "spark_attention_" #function);               \
  if (library.function == NULL) {                                                         \
    snprintf(failure, sizeof failure,                                                     \
             "SPARK_ATTENTION_LIBRARY: %s has no spark_attention_" #function "()", path); \
    return failure;                                                                       \
  }
  FOR_EACH_FUNCTION(LOAD)
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; ++i) {
    if (library.problem_bytes == 0 && takes(sizes[i])) library.problem_bytes = sizes[i];
  }
  if (library.problem_bytes == 0) {
    snprintf(failure, sizeof failure, "SPARK_ATTENTION_LIBRARY: %s takes other problems: %s", path,
             library.last_error());
    return failure;
  }
  snprintf(version, sizeof version, "%s of %s", library.version(), path);
  return NULL;
}

static spark_attention_problem translate(const sparkbench_problem* p, int32_t accumulator) {
  spark_attention_problem problem = spark_attention_problem_default();
  const int is_varlen = p->cu_seqlens_q != NULL;
  problem.struct_bytes = library.problem_bytes;
  problem.backend = p->backend == SPARKBENCH_HOST ? SPARK_ATTENTION_EMULATED : SPARK_ATTENTION_CUDA;
  problem.device = p->backend == SPARKBENCH_HOST ? 0 : p->device;
  problem.batch = p->batch;
  problem.heads = p->heads;
  problem.heads_k = p->heads_k;
  problem.seqlen_q = is_varlen ? (int32_t)p->total_q : p->seqlen_q;
  problem.seqlen_k = is_varlen ? (int32_t)p->total_k : p->seqlen_k;
  problem.head_dim = p->head_dim;
  problem.accumulator = accumulator;
  problem.mask = p->mask;
  problem.softmax_scale = p->softmax_scale;
  problem.dropout_p = p->dropout_p;
  problem.seed = p->seed;
  problem.deterministic = p->deterministic;
  problem.allow_slow = 1;
  problem.dropout_scale = SPARK_ATTENTION_SCALE_APPLIED;
  return problem;
}

static int32_t status_of(spark_attention_status status) {
  if (status == SPARK_ATTENTION_OK) return SPARKBENCH_OK;
  snprintf(why, sizeof why, "%s", library.last_error());
  if (status == SPARK_ATTENTION_OUT_OF_MEMORY) return SPARKBENCH_OUT_OF_MEMORY;
  return status == SPARK_ATTENTION_UNSUPPORTED || status == SPARK_ATTENTION_NO_DEVICE_CODE
             ? SPARKBENCH_UNSUPPORTED
             : SPARKBENCH_ERROR;
}

/* The passes of the library that a problem runs: [first, last]. */
static int last_pass(const sparkbench_problem* p) {
  return p->pass == SPARKBENCH_FORWARD ? SPARK_ATTENTION_FORWARD : SPARK_ATTENTION_BACKWARD;
}

static const char* supports(const sparkbench_problem* p, int32_t accumulator) {
  const char* const failure = load();
  spark_attention_problem problem;
  if (failure != NULL) return failure;
  if (p->dtype != SPARKBENCH_FP16) return "only fp16 is supported";
  if (p->dropout_offset != 0) return "a dropout offset is not supported";
  problem = translate(p, accumulator);
  for (int pass = SPARK_ATTENTION_FORWARD; pass <= last_pass(p); ++pass) {
    const spark_attention_status status = p->cu_seqlens_q != NULL
                                              ? library.varlen_supports(&problem, pass)
                                              : library.supports(&problem, pass);
    if (status_of(status) != SPARKBENCH_OK) return why;
  }
  return NULL;
}

/* Both passes share it. 0 where the library fails; its passes then say why. */
static size_t workspace_of(const sparkbench_problem* p, int32_t accumulator) {
  const spark_attention_problem problem = translate(p, accumulator);
  size_t most = 0;
  for (int pass = SPARK_ATTENTION_FORWARD; pass <= last_pass(p); ++pass) {
    size_t bytes = 0;
    if (p->cu_seqlens_q != NULL) {
      library.varlen_workspace_bytes(&problem, pass, &bytes);
    } else {
      library.workspace_bytes(&problem, pass, &bytes);
    }
    if (bytes > most) most = bytes;
  }
  return most;
}

typedef struct shim_plan {
  spark_attention_problem problem;
  int is_varlen;
  void* workspace;
  size_t workspace_bytes;
} shim_plan;

static int32_t prepare(const sparkbench_problem* p, void* workspace, void** plan_,
                       int32_t accumulator) {
  shim_plan* const plan = (shim_plan*)malloc(sizeof *plan);
  if (plan == NULL) return SPARKBENCH_OUT_OF_MEMORY;
  plan->problem = translate(p, accumulator);
  plan->is_varlen = p->cu_seqlens_q != NULL;
  plan->workspace = workspace;
  plan->workspace_bytes = workspace_of(p, accumulator);
  *plan_ = plan;
  return SPARKBENCH_OK;
}

static spark_attention_input input(sparkbench_input t) {
  spark_attention_input made = {t.data, t.batch_stride, t.seqlen_stride, t.head_stride};
  return made;
}
static spark_attention_output output(sparkbench_output t) {
  spark_attention_output made = {t.data, t.batch_stride, t.seqlen_stride, t.head_stride};
  return made;
}
static spark_attention_input as_input(sparkbench_output t) {
  spark_attention_input made = {t.data, t.batch_stride, t.seqlen_stride, t.head_stride};
  return made;
}

static int32_t forward(void* plan_, const sparkbench_tensors* t, void* stream) {
  const shim_plan* const plan = (const shim_plan*)plan_;
  const spark_attention_forward_tensors tensors = {input(t->q), input(t->k), input(t->v),
                                                   output(t->o), t->lse};
  if (plan->is_varlen) {
    return status_of(library.varlen_forward(&plan->problem, t->cu_seqlens_q, t->cu_seqlens_k,
                                            &tensors, plan->workspace, plan->workspace_bytes,
                                            stream));
  }
  return status_of(library.forward_with_workspace(&plan->problem, &tensors, plan->workspace,
                                                  plan->workspace_bytes, stream));
}

static int32_t backward(void* plan_, const sparkbench_tensors* t, void* stream) {
  const shim_plan* const plan = (const shim_plan*)plan_;
  const spark_attention_backward_tensors tensors = {input(t->q),    input(t->k),   input(t->v),
                                                    as_input(t->o), input(t->d_o), t->lse,
                                                    output(t->dq),  output(t->dk), output(t->dv)};
  if (plan->is_varlen) {
    return status_of(library.varlen_backward(&plan->problem, t->cu_seqlens_q, t->cu_seqlens_k,
                                             &tensors, plan->workspace, plan->workspace_bytes,
                                             stream));
  }
  return status_of(
      library.backward(&plan->problem, &tensors, plan->workspace, plan->workspace_bytes, stream));
}

static const char* last_error(void) { return why; }

/* The calls that begin a problem know the accumulator by their function. */
#define BEGIN(suffix, accumulator)                                                            \
  static const char* supports_##suffix(const sparkbench_problem* p) {                         \
    return supports(p, accumulator);                                                          \
  }                                                                                           \
  static size_t workspace_##suffix(const sparkbench_problem* p) {                             \
    return workspace_of(p, accumulator);                                                      \
  }                                                                                           \
  static int32_t prepare_##suffix(const sparkbench_problem* p, void* workspace, void* stream, \
                                  void** plan) {                                              \
    (void)stream;                                                                             \
    return prepare(p, workspace, plan, accumulator);                                          \
  }
BEGIN(fp32, SPARK_ATTENTION_ACC_FP32)
BEGIN(fp16, SPARK_ATTENTION_ACC_FP16)

#define KERNEL(kernel_name, kernel_backend, suffix, kernel_accumulator)                          \
  {                                                                                              \
    .struct_bytes = sizeof(sparkbench_kernel), .name = kernel_name,                              \
    .summary = "the library of SPARK_ATTENTION_LIBRARY", .version = version,                     \
    .backend = kernel_backend, .accumulator = kernel_accumulator, .supports = supports_##suffix, \
    .workspace_bytes = workspace_##suffix, .prepare = prepare_##suffix, .forward = forward,      \
    .backward = backward, .destroy = free, .last_error = last_error                              \
  }

static const sparkbench_kernel kernels[] = {
    KERNEL("other-fp32acc", SPARKBENCH_CUDA, fp32, SPARKBENCH_ACC_FP32),
    KERNEL("other-fp16acc", SPARKBENCH_CUDA, fp16, SPARKBENCH_ACC_FP16),
    KERNEL("other-emulated-fp32acc", SPARKBENCH_HOST, fp32, SPARKBENCH_ACC_FP32),
    KERNEL("other-emulated-fp16acc", SPARKBENCH_HOST, fp16, SPARKBENCH_ACC_FP16),
};

const sparkbench_kernel* sparkbench_kernel_entry(uint32_t abi, uint32_t index) {
  const int is_served = abi == SPARKBENCH_KERNEL_ABI && index < sizeof kernels / sizeof *kernels;
  if (load() != NULL) snprintf(version, sizeof version, "not loaded");
  return is_served ? &kernels[index] : NULL;
}
