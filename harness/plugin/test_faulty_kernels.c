/* For tests: naive-host with one fault each, and kernels that fail in every way the interface has.
 * C99. */
#include <signal.h>

#define sparkbench_kernel_entry naive_host_entry
#include "harness/plugin/examples/naive_host.c"
#undef sparkbench_kernel_entry

/* A plan of naive-host over a problem that differs from the one that was asked for. */
typedef struct faulty_plan {
  sparkbench_problem changed;
  const sparkbench_problem* asked;
  void* naive;
} faulty_plan;

static int32_t prepare_changed(const sparkbench_problem* p, void (*change)(sparkbench_problem*),
                               const void* mask_context, void** plan_) {
  faulty_plan* const plan = (faulty_plan*)malloc(sizeof *plan);
  plan->changed = *p;
  plan->asked = p;
  if (change != NULL) change(&plan->changed);
  if (mask_context != NULL) plan->changed.mask_context = p;
  *plan_ = plan;
  return naive_prepare(&plan->changed, NULL, NULL, &plan->naive);
}

static void destroy(void* plan_) {
  faulty_plan* const plan = (faulty_plan*)plan_;
  naive_destroy(plan->naive);
  free(plan);
}

static int32_t prepare(const sparkbench_problem* p, void* workspace, void* stream, void** plan) {
  (void)workspace, (void)stream;
  return prepare_changed(p, NULL, NULL, plan);
}
static int32_t forward(void* plan, const sparkbench_tensors* t, void* stream) {
  return naive_forward(((faulty_plan*)plan)->naive, t, stream);
}
static int32_t backward(void* plan, const sparkbench_tensors* t, void* stream) {
  return naive_backward(((faulty_plan*)plan)->naive, t, stream);
}

/* The scale is 10 % too large. */
static void enlarge_scale(sparkbench_problem* p) { p->softmax_scale *= 1.1f; }
static int32_t prepare_scale(const sparkbench_problem* p, void* workspace, void* stream,
                             void** plan) {
  (void)workspace, (void)stream;
  return prepare_changed(p, enlarge_scale, NULL, plan);
}

/* Each row sees one key too many. Its mask's context is the problem that was asked for. */
static int32_t sees_one_more(const void* asked, int32_t sequence, int32_t head, int32_t q,
                             int32_t k) {
  const sparkbench_problem* p = (const sparkbench_problem*)asked;
  return p->sees(p->mask_context, sequence, head, q, k) ||
         (k > 0 && p->sees(p->mask_context, sequence, head, q, k - 1));
}
static void see_one_more(sparkbench_problem* p) { p->sees = sees_one_more; }
static int32_t prepare_mask(const sparkbench_problem* p, void* workspace, void* stream,
                            void** plan) {
  (void)workspace, (void)stream;
  return prepare_changed(p, see_one_more, p, plan);
}

/* Every query head reads key head 0. */
static int32_t forward_gqa(void* plan, const sparkbench_tensors* t, void* stream) {
  sparkbench_tensors changed = *t;
  changed.k.head_stride = changed.v.head_stride = 0;
  return forward(plan, &changed, stream);
}

/* dK and dV miss the last query head. */
static int32_t sees_but_last_head(const void* asked, int32_t sequence, int32_t head, int32_t q,
                                  int32_t k) {
  const sparkbench_problem* p = (const sparkbench_problem*)asked;
  return head + 1 < p->heads && p->sees(p->mask_context, sequence, head, q, k);
}
static int32_t backward_dk(void* plan_, const sparkbench_tensors* t, void* stream) {
  faulty_plan* const plan = (faulty_plan*)plan_;
  const sparkbench_problem* const p = plan->asked;
  const size_t count = (size_t)p->total_q * (size_t)p->heads * (size_t)p->head_dim;
  sparkbench_tensors changed = *t;
  int32_t status = backward(plan_, t, stream);
  changed.dq.data = malloc(count * sizeof(uint16_t));
  plan->changed.sees = sees_but_last_head;
  plan->changed.mask_context = p;
  if (status == SPARKBENCH_OK) status = backward(plan_, &changed, stream);
  plan->changed = *p;
  free(changed.dq.data);
  return status;
}

/* LSE as a logarithm to the base 2. */
static int32_t forward_lse(void* plan, const sparkbench_tensors* t, void* stream) {
  const sparkbench_problem* p = ((faulty_plan*)plan)->asked;
  const int32_t status = forward(plan, t, stream);
  for (int64_t i = 0; i < p->total_q * p->heads; ++i) t->lse[i] *= 1.442695f;
  return status;
}

/* No LSE at all. */
static int32_t forward_without_lse(void* plan, const sparkbench_tensors* t, void* stream) {
  const sparkbench_problem* p = ((faulty_plan*)plan)->asked;
  sparkbench_tensors changed = *t;
  int32_t status;
  changed.lse = (float*)malloc(sizeof(float) * (size_t)(p->total_q * p->heads));
  status = forward(plan, &changed, stream);
  free(changed.lse);
  return status;
}

/* The last row of O is not written. */
static int32_t forward_tail(void* plan_, const sparkbench_tensors* t, void* stream) {
  faulty_plan* const plan = (faulty_plan*)plan_;
  int32_t status;
  plan->changed.seqlen_q -= 1;
  status = forward(plan_, t, stream);
  plan->changed.seqlen_q += 1;
  return status;
}

/* An input is overwritten. */
static int32_t forward_input(void* plan, const sparkbench_tensors* t, void* stream) {
  const int32_t status = forward(plan, t, stream);
  memset((void*)t->q.data, 0, sizeof(uint16_t));
  return status;
}

static int calls = 0;

/* Other bits each time, all of them right. */
static int32_t forward_unsteady(void* plan, const sparkbench_tensors* t, void* stream) {
  const int32_t status = forward(plan, t, stream);
  *(uint16_t*)t->o.data ^= (uint16_t)(++calls & 1);
  return status;
}

static const char* own_dropout_supports(const sparkbench_problem* p) {
  (void)p;
  return NULL;
}

static int32_t prepare_unsupported(const sparkbench_problem* p, void* workspace, void* stream,
                                   void** plan) {
  (void)p, (void)workspace, (void)stream, (void)plan;
  why = "no tile of it fits";
  return SPARKBENCH_UNSUPPORTED;
}
static int32_t prepare_exhausted(const sparkbench_problem* p, void* workspace, void* stream,
                                 void** plan) {
  (void)p, (void)workspace, (void)stream, (void)plan;
  why = "4 GiB of tables";
  return SPARKBENCH_OUT_OF_MEMORY;
}
static int32_t forward_error(void* plan, const sparkbench_tensors* t, void* stream) {
  (void)plan, (void)t, (void)stream;
  why = "launch\nfailed \x01\xff";
  return SPARKBENCH_ERROR;
}
static int32_t forward_status(void* plan, const sparkbench_tensors* t, void* stream) {
  (void)plan, (void)t, (void)stream;
  why = NULL;
  return 17;
}

/* One length breaks it. */
static int32_t forward_abort(void* plan, const sparkbench_tensors* t, void* stream) {
  if (((faulty_plan*)plan)->asked->seqlen_q == 33) abort();
  return forward(plan, t, stream);
}
static int32_t forward_segfault(void* plan, const sparkbench_tensors* t, void* stream) {
  if (((faulty_plan*)plan)->asked->seqlen_q == 33) raise(SIGSEGV);
  return forward(plan, t, stream);
}

#define COMMON                                                                                   \
  .struct_bytes = sizeof(sparkbench_kernel), .summary = "for tests", .backend = SPARKBENCH_HOST, \
  .destroy = destroy, .last_error = naive_last_error
#define FAULTY(kernel_name, kernel_prepare, kernel_forward, kernel_backward)            \
  {                                                                                     \
    COMMON, .name = kernel_name, .supports = naive_supports, .prepare = kernel_prepare, \
            .forward = kernel_forward, .backward = kernel_backward                      \
  }

static const sparkbench_kernel faulty_kernels[] = {
    FAULTY("right", prepare, forward, backward),
    FAULTY("scale", prepare_scale, forward, backward),
    FAULTY("mask", prepare_mask, forward, backward),
    FAULTY("gqa", prepare, forward_gqa, backward),
    FAULTY("dk", prepare, forward, backward_dk),
    FAULTY("lse", prepare, forward_lse, NULL),
    FAULTY("tail", prepare, forward_tail, NULL),
    FAULTY("input", prepare, forward_input, NULL),
    FAULTY("unsteady", prepare, forward_unsteady, NULL),
    {COMMON, .name = "no-lse", .has_no_lse = 1, .supports = naive_supports, .prepare = prepare,
     .forward = forward_without_lse},
    {COMMON, .name = "own-dropout", .draws_own_dropout = 1, .supports = own_dropout_supports,
     .prepare = prepare, .forward = forward, .backward = backward},
    FAULTY("unsupported", prepare_unsupported, forward, backward),
    FAULTY("exhausted", prepare_exhausted, forward, backward),
    FAULTY("error", prepare, forward_error, NULL),
    FAULTY("status", prepare, forward_status, NULL),
    FAULTY("abort", prepare, forward_abort, NULL),
    FAULTY("segfault", prepare, forward_segfault, NULL),
};

#pragma GCC visibility push(default)
const sparkbench_kernel* sparkbench_kernel_entry(uint32_t abi, uint32_t index);
#pragma GCC visibility pop

const sparkbench_kernel* sparkbench_kernel_entry(uint32_t abi, uint32_t index) {
  const uint32_t count = sizeof faulty_kernels / sizeof *faulty_kernels;
  return abi == SPARKBENCH_KERNEL_ABI && index < count ? &faulty_kernels[index] : NULL;
}
