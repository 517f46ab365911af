// The tensors of a request, from C structs.
#include <cstdint>
#include <stdexcept>
#include <string>

#include "kernels/api/request.h"

namespace sparkbench {
namespace {

[[noreturn]] void throw_null(const char* name) {
  throw std::invalid_argument(std::string(name) + " is null; allowed: a pointer");
}

/// A null is of an empty tensor alone.
void check_data(const void* data, int seqlen, const char* name) {
  if (seqlen > 0 && data == nullptr) throw_null(name);
}

TensorView<const Half> input_of(const spark_attention_input& given, int seqlen, const char* name) {
  check_data(given.data, seqlen, name);
  return {static_cast<const Half*>(given.data), given.batch_stride, given.seqlen_stride,
          given.head_stride};
}

TensorView<Half> output_of(const spark_attention_output& given, int seqlen, const char* name) {
  check_data(given.data, seqlen, name);
  return {static_cast<Half*>(given.data), given.batch_stride, given.seqlen_stride,
          given.head_stride};
}

template <class T>
T* statistics_of(T* lse, int seqlen_q) {
  check_data(lse, seqlen_q, "lse");
  if (reinterpret_cast<std::uintptr_t>(lse) % sizeof(float) != 0) {
    throw std::invalid_argument("tensor lse is not aligned to 4 bytes");
  }
  return lse;
}

}  // namespace

ForwardTensors tensors_of(const Problem& problem, const DropoutOffset* offset,
                          const spark_attention_forward_tensors* given) {
  if (given == nullptr) throw_null("tensors");
  const int rows = problem.seqlen_q, keys = problem.seqlen_k;
  return {input_of(given->q, rows, "q.data"), input_of(given->k, keys, "k.data"),
          input_of(given->v, keys, "v.data"), output_of(given->o, rows, "o.data"),
          statistics_of(given->lse, rows),    offset};
}

BackwardTensors tensors_of(const Problem& problem, const DropoutOffset* offset,
                           const spark_attention_backward_tensors* given) {
  if (given == nullptr) throw_null("tensors");
  const int rows = problem.seqlen_q, keys = problem.seqlen_k;
  return {input_of(given->q, rows, "q.data"),     input_of(given->k, keys, "k.data"),
          input_of(given->v, keys, "v.data"),     input_of(given->o, rows, "o.data"),
          input_of(given->d_o, rows, "d_o.data"), statistics_of(given->lse, rows),
          output_of(given->dq, rows, "dq.data"),  output_of(given->dk, keys, "dk.data"),
          output_of(given->dv, keys, "dv.data"),  offset};
}

}  // namespace sparkbench
