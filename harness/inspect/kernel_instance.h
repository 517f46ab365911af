// Which of the program's kernels a function of machine code is.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "kernels/attention.h"

namespace sparkbench {

/// An instance of a Volta kernel, named as the registry names its kernel.
struct KernelInstance {
  std::string kernel;       // "volta-fp32acc"
  std::string pass;         // "fwd"; "bwd"; "bwd-dq": the deterministic backward pass's dQ
  Accumulator accumulator;  // of the scores
  // Of a "fwd": P V, and O over the key loop. Others have no choice.
  Accumulator pv_accumulator = Accumulator::kFp32, output = Accumulator::kFp32;
  int head_dim;
  bool has_dropout;
  bool adds_dq;         // a "bwd" that computes dQ as well, by adding to it
  std::string variant;  // template arguments that the name does not say otherwise, "/4"
  int products;         // matrix products over all scores, of equal work

  /// "volta-fp32acc/fwd/d64", "volta-fp16acc/bwd/d128/dropout/deterministic"
  std::string name() const;
};

/// `function` is demangled: "void ns::attention_forward_kernel<ns::ForwardConfig<
/// (ns::Accumulator)1, 64, false, 4, (ns::Accumulator)1, (ns::Accumulator)1>
/// >(ns::ForwardParams)". The arguments are the accumulator, the head_dim, dropout, then for the
/// forward kernel the warps of a block, the accumulator of P V and what O runs in, for the backward
/// kernel whether it adds to dQ. Nothing for a function that is no attention kernel.
std::optional<KernelInstance> parse_kernel_instance(std::string_view function);

/// `symbol` as C++ spells it; itself when it is no mangled name.
std::string demangled(const std::string& symbol);

/// `function` without its return type, namespaces and parameters, for tables.
std::string short_name(std::string_view function);

}  // namespace sparkbench
