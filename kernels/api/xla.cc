// Attention as custom calls of XLA: the targets of spark_attention.jax (kernels/python). Each
// platform has one handler per pass:
//   forward   (q, k, v [, seed])                  -> (o, lse)
//   backward  (d_o, q, k, v, o, lse [, seed])     -> (dq, dk, dv)
// Tensors are fp16, [..., batch, seqlen, heads, head_dim], lse fp32, [..., batch, heads, seqlen_q],
// and seed uint32, [..., 2], the lower half first: dropout's offset, under the problem's seed 0, in
// the memory of the tensors. Dimensions before the batch come from jax.vmap: with a seed each of
// their entries is a problem of its own; without one they make a larger batch, unless no kernel
// serves such a large one.
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>

#include "kernels/api/gpu.h"
#include "kernels/api/spark_attention.h"
#include "kernels/api/status.h"
#include "kernels/api/xla_frame.h"

namespace sparkbench::xla {
namespace {

constexpr std::int64_t kRank = 4, kMostSize = 0x7fffffff;
constexpr std::int64_t kSeedWords = 2;

/// [before, batch, seqlen, heads, head_dim], contiguous.
struct Tensor {
  std::byte* data;
  std::int64_t before, batch, seqlen, heads, head_dim;

  std::int64_t entry_bytes() const {
    return batch * seqlen * heads * head_dim * std::int64_t{sizeof(std::uint16_t)};
  }
  /// A view of entry `entry` of the dimensions before the batch, or of all of them as one batch.
  template <class View>
  View view(std::int64_t entry) const {
    return {data + entry * entry_bytes(), seqlen * heads * head_dim, heads * head_dim, head_dim};
  }
};

Tensor tensor_of(const Array& array, const char* name) {
  const auto rank = static_cast<std::int64_t>(array.dims.size());
  if (rank < kRank) {
    throw std::invalid_argument(std::string(name) + " has " + std::to_string(rank) +
                                " dimensions; allowed: 4, [batch, seqlen, heads, head_dim]");
  }
  std::int64_t before = 1;
  for (std::int64_t i = 0; i < rank - kRank; ++i) before *= array.dims[static_cast<std::size_t>(i)];
  const auto last = array.dims.last(kRank);
  return {static_cast<std::byte*>(array.data), before, last[0], last[1], last[2], last[3]};
}

void expect_shape(const char* name, const Tensor& got, const Tensor& want) {
  if (got.before == want.before && got.batch == want.batch && got.seqlen == want.seqlen &&
      got.heads == want.heads && got.head_dim == want.head_dim) {
    return;
  }
  throw std::invalid_argument(std::string(name) + " is of another shape than it has to be");
}

std::int32_t narrowed(std::int64_t size, const char* name) {
  if (size <= kMostSize) return static_cast<std::int32_t>(size);
  throw std::invalid_argument(std::string(name) + " is " + std::to_string(size) +
                              "; allowed: up to " + std::to_string(kMostSize));
}

/// Q, K and V of a call, and the problems that it comes to.
class Call {
 public:
  /// `first`: the argument that q is.
  Call(const CallFrame& given, spark_attention_backend backend, int first)
      : frame_(given),
        q_(tensor_of(frame_.argument(first, kF16), "q")),
        k_(tensor_of(frame_.argument(first + 1, kF16), "k")),
        v_(tensor_of(frame_.argument(first + 2, kF16), "v")),
        mask_(frame_.text("mask")),
        generation_(frame_.text_if_any("generation")) {
    if (mask_.find('\0') != std::string::npos) {  // where C's texts end
      throw std::invalid_argument("mask has a zero byte; allowed: a mask's text");
    }
    expect_shape("v", v_, k_);
    if (k_.before != q_.before || k_.batch != q_.batch || k_.head_dim != q_.head_dim) {
      throw std::invalid_argument("k is of another batch or head_dim than q");
    }
    if (k_.heads < 1) {  // which would mean as many as q has
      throw std::invalid_argument("k has no heads; allowed: 1 to as many as q, dividing them");
    }
    problem_.backend = backend;
    problem_.heads = narrowed(q_.heads, "heads");
    problem_.heads_k = narrowed(k_.heads, "heads_k");
    problem_.seqlen_q = narrowed(q_.seqlen, "seqlen_q");
    problem_.seqlen_k = narrowed(k_.seqlen, "seqlen_k");
    problem_.head_dim = narrowed(q_.head_dim, "head_dim");
    problem_.mask = mask_.c_str();
    problem_.accumulator = frame_.number("accumulator");
    problem_.deterministic = frame_.number("deterministic");
    problem_.allow_slow = frame_.number("allow_slow");
    problem_.dropout_scale = frame_.number("dropout_scale");
    problem_.generation = generation_.c_str();
    problem_.dropout_p = frame_.real("dropout_p");
    problem_.softmax_scale = frame_.real("softmax_scale");
    problem_.batch = narrowed(q_.batch, "batch");
    if (backend == SPARK_ATTENTION_CUDA) {
      stream_ = frame_.stream();
      problem_.device = gpu_of_memory(q_.data);
    }
  }

  /// A mapped axis without entries.
  bool is_empty() const { return q_.before == 0; }

  /// The argument that is the seed, if it is given: each entry then has one. Otherwise all are one
  /// batch.
  void take_seed(int argument) {
    if (!frame_.has_argument(argument)) {
      if (problem_.dropout_p > 0.0f) {
        throw std::invalid_argument("dropout_p is above 0, and there is no argument " +
                                    std::to_string(argument) + ", the seed");
      }
      join_batches();
      return;
    }
    const Array array = frame_.argument(argument, kU32);
    std::int64_t words = 1;
    for (const std::int64_t size : array.dims) words *= size;
    if (words != kSeedWords * q_.before) {
      throw std::invalid_argument("seed has " + std::to_string(words) + " words; allowed: " +
                                  std::to_string(kSeedWords * q_.before) + ", two for each call");
    }
    seeds_ = static_cast<const std::uint64_t*>(array.data);
  }

  std::int64_t entries() const { return is_one_batch_ ? 1 : q_.before; }
  spark_attention_problem problem(std::int64_t entry) const {
    spark_attention_problem of = problem_;
    if (seeds_ != nullptr) of.dropout_offset = seeds_ + entry;
    return of;
  }
  /// [before, batch, heads, seqlen_q]
  float* lse(const Array& array, std::int64_t entry) const {
    std::int64_t elements = 1;
    for (const std::int64_t size : array.dims) elements *= size;
    const std::int64_t of_entry = q_.batch * q_.heads * q_.seqlen;
    if (elements != q_.before * of_entry) {
      throw std::invalid_argument("lse is of another shape than it has to be");
    }
    return static_cast<float*>(array.data) + entry * of_entry;
  }
  /// An argument, or a result, of the shape of another.
  Tensor argument(int index, const char* name, const Tensor& like) const {
    return shaped(frame_.argument(index, kF16), name, like);
  }
  Tensor result(int index, const char* name, const Tensor& like) const {
    return shaped(frame_.result(index, kF16), name, like);
  }

  const Frame& frame() const { return frame_; }
  const Tensor& q() const { return q_; }
  const Tensor& k() const { return k_; }
  const Tensor& v() const { return v_; }
  void* stream() const { return stream_; }

 private:
  /// Makes all entries one batch where a kernel serves it.
  void join_batches() {
    std::int64_t batch = 0;
    if (__builtin_mul_overflow(q_.before, q_.batch, &batch) || batch > kMostSize) return;
    spark_attention_problem whole = problem_;
    whole.batch = static_cast<std::int32_t>(batch);
    const auto is_served = [](const spark_attention_problem& of) {
      return spark_attention_supports(&of, SPARK_ATTENTION_FORWARD) == SPARK_ATTENTION_OK;
    };
    is_one_batch_ = q_.before == 1 || is_served(whole) || !is_served(problem_);
    if (is_one_batch_) problem_ = whole;
  }

  static Tensor shaped(const Array& array, const char* name, const Tensor& like) {
    const Tensor made = tensor_of(array, name);
    expect_shape(name, made, like);
    return made;
  }

  Frame frame_;
  Tensor q_, k_, v_;
  std::string mask_, generation_;
  spark_attention_problem problem_ = spark_attention_problem_default();
  void* stream_ = nullptr;
  const std::uint64_t* seeds_ = nullptr;
  bool is_one_batch_ = false;
};

/// A failed call's status, whose text is the thread's last error.
void check(spark_attention_status status) {
  if (status != SPARK_ATTENTION_OK) throw ApiError(status, spark_attention_last_error());
}

void forward(const CallFrame& given, spark_attention_backend backend) {
  Call call(given, backend, 0);
  if (call.is_empty()) return;
  call.take_seed(3);
  const Tensor o = call.result(0, "o", call.q());
  const Array lse = call.frame().result(1, kF32);
  const spark_attention_problem first = call.problem(0);
  std::size_t bytes = 0;
  check(spark_attention_workspace_bytes(&first, SPARK_ATTENTION_FORWARD, &bytes));
  const Scratch workspace(given, bytes);
  for (std::int64_t entry = 0; entry < call.entries(); ++entry) {
    const spark_attention_problem problem = call.problem(entry);
    const spark_attention_forward_tensors tensors = {
        call.q().view<spark_attention_input>(entry), call.k().view<spark_attention_input>(entry),
        call.v().view<spark_attention_input>(entry), o.view<spark_attention_output>(entry),
        call.lse(lse, entry)};
    check(spark_attention_forward_with_workspace(&problem, &tensors, workspace.data(), bytes,
                                                 call.stream()));
  }
}

void backward(const CallFrame& given, spark_attention_backend backend) {
  Call call(given, backend, 1);
  if (call.is_empty()) return;
  call.take_seed(6);
  const Tensor d_o = call.argument(0, "d_o", call.q()), o = call.argument(4, "o", call.q());
  const Array lse = call.frame().argument(5, kF32);
  const Tensor dq = call.result(0, "dq", call.q()), dk = call.result(1, "dk", call.k()),
               dv = call.result(2, "dv", call.k());
  const spark_attention_problem first = call.problem(0);
  std::size_t bytes = 0;
  check(spark_attention_workspace_bytes(&first, SPARK_ATTENTION_BACKWARD, &bytes));
  const Scratch workspace(given, bytes);
  for (std::int64_t entry = 0; entry < call.entries(); ++entry) {
    const spark_attention_problem problem = call.problem(entry);
    const spark_attention_backward_tensors tensors = {
        call.q().view<spark_attention_input>(entry), call.k().view<spark_attention_input>(entry),
        call.v().view<spark_attention_input>(entry), o.view<spark_attention_input>(entry),
        d_o.view<spark_attention_input>(entry),      call.lse(lse, entry),
        dq.view<spark_attention_output>(entry),      dk.view<spark_attention_output>(entry),
        dv.view<spark_attention_output>(entry)};
    check(spark_attention_backward(&problem, &tensors, workspace.data(), bytes, call.stream()));
  }
}

ErrorCode code_of(spark_attention_status status) {
  switch (status) {
    case SPARK_ATTENTION_INVALID_ARGUMENT:
      return kInvalidArgument;
    case SPARK_ATTENTION_UNSUPPORTED:
      return kUnimplemented;
    case SPARK_ATTENTION_NO_DEVICE_CODE:
      return kFailedPrecondition;
    case SPARK_ATTENTION_OUT_OF_MEMORY:
      return kResourceExhausted;
    default:
      return kInternal;
  }
}

/// XLA's question for the version, or a call.
Error* handle(const CallFrame* given, void (*pass)(const CallFrame&, spark_attention_backend),
              spark_attention_backend backend) noexcept {
  const spark_attention_status status = status_of([&] {
    if (!answers_metadata(*given)) pass(*given, backend);
  });
  if (status == SPARK_ATTENTION_OK) return nullptr;
  return make_error(*given, code_of(status), last_error());
}

}  // namespace
}  // namespace sparkbench::xla

extern "C" {

__attribute__((visibility("default"))) sparkbench::xla::Error* spark_attention_xla_cpu_forward(
    sparkbench::xla::CallFrame* frame) {
  return sparkbench::xla::handle(frame, sparkbench::xla::forward, SPARK_ATTENTION_EMULATED);
}

__attribute__((visibility("default"))) sparkbench::xla::Error* spark_attention_xla_cpu_backward(
    sparkbench::xla::CallFrame* frame) {
  return sparkbench::xla::handle(frame, sparkbench::xla::backward, SPARK_ATTENTION_EMULATED);
}

__attribute__((visibility("default"))) sparkbench::xla::Error* spark_attention_xla_cuda_forward(
    sparkbench::xla::CallFrame* frame) {
  return sparkbench::xla::handle(frame, sparkbench::xla::forward, SPARK_ATTENTION_CUDA);
}

__attribute__((visibility("default"))) sparkbench::xla::Error* spark_attention_xla_cuda_backward(
    sparkbench::xla::CallFrame* frame) {
  return sparkbench::xla::handle(frame, sparkbench::xla::backward, SPARK_ATTENTION_CUDA);
}

}  // extern "C"
