#include "kernels/api/request.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <iterator>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/api/calls.h"
#include "kernels/api/gpu.h"
#include "kernels/api/status.h"
#include "kernels/registry.h"
#include "kernels/strided/kernel_passes.h"

namespace sparkbench {
namespace {

constexpr std::int32_t kSeqlenLimit = std::int32_t{1} << 30;  // of KeyMask

/// A kernel's name is its instruction's generation, and one of these. In the order of
/// spark_attention_accumulator.
constexpr std::string_view kSuffixes[] = {"-fp32acc", "-fp16acc"};

[[noreturn]] void refuse(const std::string& field, const std::string& given,
                         const std::string& allowed) {
  throw std::invalid_argument(field + " is " + given + "; allowed: " + allowed);
}

void check_pointer(const void* pointer, const char* name) {
  if (pointer == nullptr) refuse(name, "null", "a pointer");
}

void check_range(const char* field, std::int32_t value, std::int32_t least, std::int32_t limit) {
  if (value >= least && value < limit) return;
  refuse(field, std::to_string(value), std::to_string(least) + " to " + std::to_string(limit - 1));
}

/// `least`: of what counts sequences, or their rows.
void check_sizes(const spark_attention_problem& given, std::int32_t least) {
  constexpr std::int32_t kNoLimit = 0x7fffffff;
  check_range("batch", given.batch, least, kNoLimit);
  check_range("heads", given.heads, 1, kNoLimit);
  check_range("heads_k", given.heads_k, 0, kNoLimit);
  check_range("seqlen_q", given.seqlen_q, least, kSeqlenLimit);
  check_range("seqlen_k", given.seqlen_k, least, kSeqlenLimit);
  check_range("head_dim", given.head_dim, 1, kNoLimit);
  if (given.heads_k != 0 && given.heads % given.heads_k != 0) {
    refuse("heads_k", std::to_string(given.heads_k),
           "a divisor of heads, which is " + std::to_string(given.heads));
  }
}

void check_choices(const spark_attention_problem& given) {
  check_range("backend", given.backend, SPARK_ATTENTION_CUDA, SPARK_ATTENTION_EMULATED + 1);
  check_range("device", given.device, 0, 0x7fffffff);
  if (given.dtype != SPARK_ATTENTION_FP16) {
    refuse("dtype", std::to_string(given.dtype), "0 (fp16)");
  }
  check_range("accumulator", given.accumulator, 0, static_cast<std::int32_t>(std::size(kSuffixes)));
  check_range("deterministic", given.deterministic, 0, 2);
  check_range("allow_slow", given.allow_slow, 0, 2);
  check_range("dropout_scale", given.dropout_scale, SPARK_ATTENTION_SCALE_APPLIED,
              SPARK_ATTENTION_SCALE_ASKED + 1);
  if (!(given.softmax_scale >= 0.0f) || std::isinf(given.softmax_scale)) {
    refuse("softmax_scale", std::to_string(given.softmax_scale),
           "above 0, or 0 for 1 / sqrt(head_dim)");
  }
  if (!(given.dropout_p >= 0.0f && given.dropout_p < 1.0f)) {
    refuse("dropout_p", std::to_string(given.dropout_p), "at least 0 and below 1");
  }
}

constexpr KernelDevice kEmulatedV100{70, kEmulatedSharedBytes, true};

KernelDevice gpu_of(int device) {
  const GpuTraits traits = describe_gpu(device);
  return {traits.sm, traits.shared_bytes_per_block};
}

std::string_view generation_of(const AttentionKernel& kernel) {
  return kernel.name.substr(0, kernel.name.find('-'));
}

/// Throws std::invalid_argument unless kernels are of it.
void check_generation(std::string_view generation) {
  std::vector<std::string_view> known;
  for (const AttentionKernel& kernel : attention_kernels()) {
    const std::string_view word = generation_of(kernel);
    if (word == generation) return;
    const bool is_new = std::find(known.begin(), known.end(), word) == known.end();
    if (is_new && !kernel.is_baseline) known.push_back(word);
  }
  std::string allowed;
  for (const std::string_view word : known) allowed.append(word).append(", ");
  refuse("generation", std::string("'").append(generation).append("'"),
         allowed.append("or null for any"));
}

/// Why the kernel does not serve the pass; empty where it does.
std::string why_not(const AttentionKernel& kernel, const Problem& problem, Pass pass,
                    const KernelDevice& device, const KernelWish& wish) {
  if (const Support support = kernel.supports(problem, device, wish.is_packed); !support) {
    return " does not support " + support.why_not;
  }
  if (pass != Pass::kForward && !kernel.has_backward()) return " has no backward pass";
  if (!wish.allow_slow && !is_native(kernel.instruction, device.sm)) {
    return " is slow on compute capability " + std::to_string(device.sm / 10) + "." +
           std::to_string(device.sm % 10) + ", whose tensor cores have no " +
           std::string(traits_of(kernel.instruction).name) +
           ": take that GPU's own kernels, or allow_slow to run it all the same";
  }
  return "";
}

}  // namespace

void check_lengths(std::int32_t seqlen_q, std::int32_t seqlen_k) {
  check_range("seqlen_q", seqlen_q, 1, kSeqlenLimit);
  check_range("seqlen_k", seqlen_k, 1, kSeqlenLimit);
}

const AttentionKernel& kernel_for(const Problem& problem, Pass pass, const KernelDevice& device,
                                  const KernelWish& wish) {
  if (!wish.generation.empty()) check_generation(wish.generation);
  const std::string_view suffix = kSuffixes[wish.accumulator];
  const AttentionKernel* first = nullptr;
  std::string first_reason;
  for (const AttentionKernel& kernel : attention_kernels()) {
    const std::string_view generation = generation_of(kernel);
    if (kernel.name.substr(generation.size()) != suffix) continue;
    if (!wish.generation.empty() && generation != wish.generation) continue;
    const std::string reason = why_not(kernel, problem, pass, device, wish);
    if (!reason.empty()) {
      if (first_reason.empty()) first_reason = std::string(kernel.name) + reason;
      continue;
    }
    if (kernel.has_backward() && is_native(kernel.instruction, device.sm)) return kernel;
    if (first == nullptr) first = &kernel;
  }
  if (first != nullptr) return *first;
  if (first_reason.empty()) {
    first_reason = wish.generation.empty() ? "no kernel's name ends in " : "no kernel's name is ";
    first_reason.append(wish.generation).append(suffix);
  }
  throw ApiError(SPARK_ATTENTION_UNSUPPORTED, first_reason);
}

std::uint64_t Request::workspace_bytes(Pass pass) const {
  if (is_emulated) return 0;
  if (mask == nullptr) return sparkbench::workspace_bytes(*kernel, problem, pass, is_deterministic);
  Problem seen = problem;
  std::uint64_t bytes = 0;
  on_gpu(device, [&] {
    seen.sparse = mask->seen_by(device, problem.sparse);
    bytes = sparkbench::workspace_bytes(*kernel, seen, pass, is_deterministic);
  });
  return bytes;
}

std::uint64_t PackedRequest::workspace_bytes(Pass pass) const {
  if (is_emulated) return 0;
  return packed_workspace_bytes(*kernel, problem, sequences, pass, is_deterministic);
}

namespace {

/// Struct sizes of older headers, which end before these fields.
constexpr std::size_t kOlderStructBytes[] = {offsetof(spark_attention_problem, prepared_mask),
                                             offsetof(spark_attention_problem, generation)};

/// This header's struct, from whichever version was given.
spark_attention_problem whole_struct(const spark_attention_problem* given) {
  check_pointer(given, "problem");
  const std::size_t bytes = given->struct_bytes;
  const bool is_older = std::find(std::begin(kOlderStructBytes), std::end(kOlderStructBytes),
                                  bytes) != std::end(kOlderStructBytes);
  if (bytes != sizeof *given && !is_older) {
    refuse("struct_bytes", std::to_string(bytes),
           std::to_string(sizeof *given) + ", which spark_attention_problem_default() sets, or " +
               std::to_string(kOlderStructBytes[0]) + " or " +
               std::to_string(kOlderStructBytes[1]) + " of older headers");
  }
  spark_attention_problem whole = spark_attention_problem_default();
  std::memcpy(&whole, given, bytes);
  return whole;
}

/// The mask of a text, unless it is a pattern.
std::optional<MaskSpec> mask_without_pattern(const char* text) {
  if (text == nullptr || text == std::string_view("full")) return MaskSpec::full();
  if (text == std::string_view("causal")) return MaskSpec::causal();
  return mask_spec_of(spec_of_mask(text));
}

/// But for its mask.
Problem checked_problem(const spark_attention_problem& given, std::int32_t least) {
  check_choices(given);
  if (reinterpret_cast<std::uintptr_t>(given.dropout_offset) % alignof(DropoutOffset) != 0) {
    throw std::invalid_argument("dropout_offset is not aligned to 8 bytes");
  }
  check_sizes(given, least);
  if (given.prepared_mask != nullptr && given.mask != nullptr) {
    throw std::invalid_argument("mask is '" + std::string(given.mask) +
                                "' beside a prepared_mask; allowed: one of them");
  }
  return {.batch = given.batch,
          .heads = given.heads,
          .seqlen_q = given.seqlen_q,
          .seqlen_k = given.seqlen_k,
          .head_dim = given.head_dim,
          .dropout_p = given.dropout_p,
          .softmax_scale = given.softmax_scale,
          .seed = given.seed,
          .heads_k = given.heads_k,
          .dropout_scale = given.dropout_scale == SPARK_ATTENTION_SCALE_ASKED
                               ? DropoutScale::kAsked
                               : DropoutScale::kApplied};
}

/// Gives the problem its mask, and tells the pattern's if it is one.
std::shared_ptr<PreparedMask> mask_of(const spark_attention_problem& given, Problem& problem) {
  std::shared_ptr<PreparedMask> mask;
  if (given.prepared_mask != nullptr) {
    mask = given.prepared_mask->mask;
  } else if (const std::optional<MaskSpec> dense = mask_without_pattern(given.mask)) {
    problem.mask = *dense;
    return nullptr;
  } else {
    mask = mask_of_text(given.mask, problem.seqlen_q, problem.seqlen_k);
  }
  mask->give_to(problem);
  return problem.sparse != nullptr ? mask : nullptr;
}

MaskSpec mask_of_packed(const spark_attention_problem& given) {
  if (given.prepared_mask != nullptr) {
    throw ApiError(SPARK_ATTENTION_UNSUPPORTED,
                   "sequences of any lengths have no prepared_mask, which is of one length; "
                   "allowed: a mask by its text");
  }
  if (const std::optional<MaskSpec> mask = mask_without_pattern(given.mask)) return *mask;
  throw ApiError(SPARK_ATTENTION_UNSUPPORTED,
                 "mask '" + std::string(given.mask) +
                     "' is a pattern over one length, which sequences of any lengths do not have; "
                     "allowed: " +
                     std::string(mask_forms()));
}

Request request_for(const spark_attention_problem& given, const Problem& problem, std::int32_t pass,
                    bool is_packed) {
  check_range("pass", pass, SPARK_ATTENTION_FORWARD, SPARK_ATTENTION_BACKWARD + 1);
  const bool is_emulated = given.backend == SPARK_ATTENTION_EMULATED;
  const KernelDevice device = is_emulated ? kEmulatedV100 : gpu_of(given.device);
  const KernelWish wish{static_cast<spark_attention_accumulator>(given.accumulator),
                        given.allow_slow != 0, is_packed,
                        given.generation == nullptr ? "" : given.generation};
  const AttentionKernel& kernel = kernel_for(
      problem, pass == SPARK_ATTENTION_FORWARD ? Pass::kForward : Pass::kBackward, device, wish);
  return {problem, is_emulated, given.device, given.deterministic != 0, &kernel, nullptr, false};
}

}  // namespace

Problem problem_of(const spark_attention_problem* given) {
  const spark_attention_problem whole = whole_struct(given);
  Problem problem = checked_problem(whole, 1);
  mask_of(whole, problem);
  return problem;
}

Request request_of(const spark_attention_problem* given, std::int32_t pass) {
  const spark_attention_problem whole = whole_struct(given);
  Problem problem = checked_problem(whole, 1);
  const std::shared_ptr<PreparedMask> mask = mask_of(whole, problem);
  Request request = request_for(whole, problem, pass, false);
  request.mask = mask;
  request.has_text = whole.prepared_mask == nullptr;
  return request;
}

PackedRequest packed_request_of(const spark_attention_problem* given, std::int32_t pass) {
  const spark_attention_problem whole = whole_struct(given);
  Problem problem = checked_problem(whole, 0);
  problem.mask = mask_of_packed(whole);
  problem.batch = 1;
  return {request_for(whole, problem, pass, true), whole.batch};
}

}  // namespace sparkbench
