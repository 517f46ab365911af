#include "harness/run/problems/own_tensors.h"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "harness/run/problems/input_warnings.h"
#include "harness/run/problems/tensor_file.h"
#include "results/render/number_format.h"
#include "sweeps/usage_error.h"

namespace sparkbench {
namespace {

template <class... Values>
[[noreturn]] void reject(fmt::format_string<Values...> format, Values&&... values) {
  throw std::invalid_argument(fmt::format(format, std::forward<Values>(values)...));
}

std::string text_of(const TensorShape& shape) {
  return fmt::format("[{}, {}, {}, {}]", shape.batch, shape.seqlen, shape.heads, shape.head_dim);
}

void require_like(const char* name, const TensorShape& shape, const char* other_name,
                  const TensorShape& other) {
  if (shape == other) return;
  reject("tensor '{}' is {}, '{}' is {}; their shapes must be equal", name, text_of(shape),
         other_name, text_of(other));
}

/// Checks the tensors' shapes and makes a problem of them.
Problem extents_of(const TensorFile& file) {
  const TensorShape q = file.shape_of("q"), k = file.shape_of("k");
  if (q.heads % k.heads != 0) {
    const bool looks_transposed = q.seqlen == k.seqlen && q.seqlen < std::min(q.heads, k.heads);
    reject("tensor 'k' has {} heads, 'q' has {}; those of k must divide those of q{}", k.heads,
           q.heads,
           looks_transposed
               ? ": are these [batch, heads, seqlen, head_dim]? Then save x.transpose(1, 2)"
               : "");
  }
  if (k.batch != q.batch || k.head_dim != q.head_dim) {
    reject("tensor 'k' is {}, 'q' is {}; they may differ in length and heads alone", text_of(k),
           text_of(q));
  }
  require_like("v", file.shape_of("v"), "k", k);
  if (file.has("d_o")) require_like("d_o", file.shape_of("d_o"), "q", q);
  Problem problem;
  problem.batch = q.batch;
  problem.heads = q.heads;
  problem.heads_k = k.heads;
  problem.seqlen_q = q.seqlen;
  problem.seqlen_k = k.seqlen;
  problem.head_dim = q.head_dim;
  return problem;
}

std::vector<Warning> warnings_of(const OwnTensors& tensors, const TensorFile& file) {
  const OwnedInputs& inputs = tensors.inputs;
  std::vector<SmallValues> small;
  for (const auto& [name, values] :
       {std::pair{"q", &inputs.q}, {"k", &inputs.k}, {"v", &inputs.v}, {"d_o", &tensors.d_o}}) {
    if (!values->empty()) small.push_back(count_small_values(name, *values, file.vanished(name)));
  }
  std::vector<Warning> warnings = warn_of_small_values(small);
  if (auto transposed = warn_of_transposed(tensors.shape)) {
    warnings.insert(warnings.begin(), std::move(*transposed));
  }
  return warnings;
}

/// Throws std::invalid_argument if reading the tensors would need more memory than there is. They
/// stay in memory as fp16; while one is read, so do its bytes and its fp32 values.
void require_memory(const TensorFile& file, std::uint64_t there_is) {
  std::uint64_t kept = 0, passing = 0;
  for (const char* const name : {"q", "k", "v", "d_o"}) {
    if (!file.has(name)) continue;
    const TensorShape shape = file.shape_of(name);
    std::uint64_t elements = 1;
    for (const int extent : {shape.batch, shape.seqlen, shape.heads, shape.head_dim}) {
      elements *= static_cast<std::uint64_t>(extent);
    }
    kept += elements * sizeof(Half);
    passing = std::max(passing, file.stored_bytes(name) + elements * sizeof(float));
  }
  if (kept + passing <= there_is) return;
  reject("reading its tensors takes {} of memory, there is {}; give fewer heads, batches or rows",
         format_memory(kept + passing), format_memory(there_is));
}

}  // namespace

AxisFlags OwnTensors::extents() const {
  AxisFlags flags;
  const CaseProblem problem(Pass::kForward, shape);
  for (const Axis* axis : problem_axes()) {
    const AxisValue value = axis->access.get(problem);
    if (axis->is_of_tensors && !is_none(value)) flags[axis->flag] = text_of_value(value);
  }
  return flags;
}

OwnTensors read_own_tensors(const std::string& path, std::uint64_t most_memory_bytes) {
  try {
    TensorFile file(path);
    OwnTensors tensors;
    tensors.path = path;
    tensors.shape = extents_of(file);
    require_memory(file, most_memory_bytes);
    tensors.inputs = {file.read("q"), file.read("k"), file.read("v")};
    if (file.has("d_o")) tensors.d_o = file.read("d_o");
    tensors.hash = file.hash();
    tensors.warnings = warnings_of(tensors, file);
    return tensors;
  } catch (const std::invalid_argument& error) {
    throw UsageError(fmt::format("--tensors: '{}': {}", path, error.what()));
  }
}

}  // namespace sparkbench
