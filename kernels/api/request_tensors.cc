// The tensors of a request, from C structs.
#include <cstdint>
#include <stdexcept>
#include <string>

#include "kernels/api/output_overlaps.h"
#include "kernels/api/request.h"

namespace sparkbench {
namespace {

[[noreturn]] void throw_null(const char* name) {
  throw std::invalid_argument(std::string(name) + " is null; allowed: a pointer");
}

/// Only an empty tensor may be null.
void check_data(const void* data, int seqlen, const char* name) {
  if (seqlen > 0 && data == nullptr) throw_null(name);
}

TensorView<const Bits16> input_of(const spark_attention_input& given, int seqlen,
                                  const char* name) {
  check_data(given.data, seqlen, name);
  return {static_cast<const Bits16*>(given.data), given.batch_stride, given.seqlen_stride,
          given.head_stride};
}

TensorView<Bits16> output_of(const spark_attention_output& given, int seqlen, const char* name) {
  check_data(given.data, seqlen, name);
  return {static_cast<Bits16*>(given.data), given.batch_stride, given.seqlen_stride,
          given.head_stride};
}

template <class View>
RowsInMemory rows_of(const Problem& problem, const View& view, int seqlen, int heads,
                     const char* name) {
  constexpr std::int64_t kBytes = sizeof(Bits16);
  return {name,
          view.data,
          {problem.batch, seqlen, heads},
          {view.batch_stride * kBytes, view.seqlen_stride * kBytes, view.head_stride * kBytes},
          problem.head_dim * kBytes};
}

template <class View>
RowsInMemory queries_of(const Problem& problem, const View& view, const char* name) {
  return rows_of(problem, view, problem.seqlen_q, problem.heads, name);
}

template <class View>
RowsInMemory keys_of(const Problem& problem, const View& view, const char* name) {
  return rows_of(problem, view, problem.seqlen_k, problem.key_heads(), name);
}

RowsInMemory lse_rows_of(const Problem& problem, const float* lse) {
  const std::int64_t elements = std::int64_t{problem.batch} * problem.heads * problem.seqlen_q;
  return {"lse", lse, {1, 1, 1}, {0, 0, 0}, elements * std::int64_t{sizeof(float)}};
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
  const ForwardTensors tensors = {
      input_of(given->q, rows, "q.data"), input_of(given->k, keys, "k.data"),
      input_of(given->v, keys, "v.data"), output_of(given->o, rows, "o.data"),
      statistics_of(given->lse, rows),    offset};
  const RowsInMemory all[] = {queries_of(problem, tensors.o, "o"),
                              lse_rows_of(problem, tensors.lse),
                              queries_of(problem, tensors.q, "q"), keys_of(problem, tensors.k, "k"),
                              keys_of(problem, tensors.v, "v")};
  check_outputs(all, 2);
  return tensors;
}

BackwardTensors tensors_of(const Problem& problem, const DropoutOffset* offset,
                           const spark_attention_backward_tensors* given) {
  if (given == nullptr) throw_null("tensors");
  const int rows = problem.seqlen_q, keys = problem.seqlen_k;
  const BackwardTensors tensors = {
      input_of(given->q, rows, "q.data"),     input_of(given->k, keys, "k.data"),
      input_of(given->v, keys, "v.data"),     input_of(given->o, rows, "o.data"),
      input_of(given->d_o, rows, "d_o.data"), statistics_of(given->lse, rows),
      output_of(given->dq, rows, "dq.data"),  output_of(given->dk, keys, "dk.data"),
      output_of(given->dv, keys, "dv.data"),  offset};
  const RowsInMemory all[] = {
      queries_of(problem, tensors.dq, "dq"), keys_of(problem, tensors.dk, "dk"),
      keys_of(problem, tensors.dv, "dv"),    queries_of(problem, tensors.q, "q"),
      keys_of(problem, tensors.k, "k"),      keys_of(problem, tensors.v, "v"),
      queries_of(problem, tensors.o, "o"),   queries_of(problem, tensors.d_o, "d_o"),
      lse_rows_of(problem, tensors.lse)};
  check_outputs(all, 3);
  return tensors;
}

}  // namespace sparkbench
