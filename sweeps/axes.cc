#include "sweeps/axes.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <optional>
#include <stdexcept>
#include <type_traits>

#include "kernels/mask/pattern/pattern_spec.h"
#include "sweeps/lengths.h"
#include "sweeps/list_flag.h"
#include "sweeps/masks.h"
#include "sweeps/names.h"

namespace sparkbench {
namespace {

using Values = std::vector<AxisValue>;

template <class T>
AxisValue to_value(const T& value) {
  return value;
}
template <class T>
AxisValue to_value(const std::optional<T>& value) {
  return value ? AxisValue(*value) : AxisValue();
}

template <class T>
void assign(T& member, const AxisValue& value) {
  member = std::get<T>(value);
}
template <class T>
void assign(std::optional<T>& member, const AxisValue& value) {
  member.reset();
  if (!is_none(value)) member = std::get<T>(value);
}

template <class T>
constexpr bool can_be_none(const T& /*member*/) {
  return false;
}
template <class T>
constexpr bool can_be_none(const std::optional<T>& /*member*/) {
  return true;
}

/// The axis is this member of the problem.
template <auto kMember>
AxisAccess member() {
  return {[](const CaseProblem& problem) { return to_value(problem.*kMember); },
          [](CaseProblem& problem, const AxisValue& value) { assign(problem.*kMember, value); },
          can_be_none(CaseProblem().*kMember)};
}

constexpr AxisAccess kPassAccess = {
    [](const CaseProblem& problem) { return AxisValue(std::string(name_of(problem.pass))); },
    [](CaseProblem& problem, const AxisValue& value) {
      parse_name(std::get<std::string>(value), problem.pass);
    }};

constexpr AxisAccess kElementAccess = {
    [](const CaseProblem& problem) { return AxisValue(std::string(name_of(problem.element))); },
    [](CaseProblem& problem, const AxisValue& value) {
      parse_name(std::get<std::string>(value), problem.element);
    }};

constexpr AxisAccess kLayoutAccess = {
    [](const CaseProblem& problem) { return AxisValue(std::string(name_of(problem.layout))); },
    [](CaseProblem& problem, const AxisValue& value) {
      parse_name(std::get<std::string>(value), problem.layout);
    }};

constexpr AxisAccess kDropoutScaleAccess = {
    [](const CaseProblem& problem) {
      return AxisValue(std::string(name_of(problem.dropout_scale)));
    },
    [](CaseProblem& problem, const AxisValue& value) {
      parse_name(std::get<std::string>(value), problem.dropout_scale);
    }};

constexpr AxisAccess kMaskAccess = {
    [](const CaseProblem& problem) { return AxisValue(mask_name(problem)); },
    [](CaseProblem& problem, const AxisValue& value) {
      set_mask(problem, std::get<std::string>(value));
    }};

std::string divisors_of(int number) {
  std::string divisors;
  for (int divisor = 1; divisor <= number; ++divisor) {
    if (number % divisor != 0) continue;
    divisors += fmt::format("{}{}", divisors.empty() ? "" : ", ", divisor);
  }
  return divisors;
}

/// The axis is a description; the data are drawn, or read, once the rest of the problem is known.
constexpr AxisAccess kLengthsAccess = {
    [](const CaseProblem& problem) { return to_value(problem.lengths_spec); },
    [](CaseProblem& problem, const AxisValue& value) { assign(problem.lengths_spec, value); },
    true};

Values lengths_or_none(std::string_view flag, std::string_view text) {
  const std::vector<std::string> specs = parse_lengths(flag, text);
  if (specs.empty()) return {AxisValue()};
  return {specs.begin(), specs.end()};
}

bool has_lengths(const CaseProblem& problem) { return problem.lengths_spec.has_value(); }

/// The axis of heads must come first.
constexpr AxisAccess kHeadsKAccess = {
    [](const CaseProblem& problem) { return AxisValue(problem.key_heads()); },
    [](CaseProblem& problem, const AxisValue& value) {
      const int heads_k = std::get<int>(value);
      if (heads_k < 1 || problem.heads % heads_k != 0) {
        throw std::invalid_argument(fmt::format("{} does not divide the {} heads; allowed: {}",
                                                heads_k, problem.heads,
                                                divisors_of(problem.heads)));
      }
      problem.heads_k = heads_k;
    }};

template <auto kParse>
Values list_of(std::string_view flag, std::string_view text) {
  const auto parsed = kParse(flag, text);
  Values values;
  for (const auto& value : parsed) values.push_back(to_value(value));
  return values;
}

template <auto kParse>
Values list_or_auto(std::string_view flag, std::string_view text) {
  if (is_auto(flag, text)) return {AxisValue()};
  return list_of<kParse>(flag, text);
}

Values one_extent(std::string_view flag, std::string_view text) {
  return {parse_extent(flag, text)};
}

Values one_extent_or_auto(std::string_view flag, std::string_view text) {
  return {to_value(parse_extent_or_auto(flag, text))};
}

std::vector<std::string> parse_inputs(std::string_view flag, std::string_view text) {
  static const std::array<std::string, 3> names = {"normal", "uniform", "outliers"};
  return select_names(flag, text, names);
}

std::string expand_causal(std::string_view flag, std::string_view text) {
  std::string masks;
  for (const bool is_causal : parse_booleans(flag, text)) {
    if (!masks.empty()) masks += ',';
    masks += name_of(MaskSpec::causal_if(is_causal));
  }
  return masks;
}

/// A lengths file sets the batch to its number of sequences.
void derive_batch(CaseProblem& problem, const GridTotals& totals) {
  const auto& lengths = problem.lengths_spec;
  if (lengths && is_of_file(*lengths)) {
    problem.batch = 0;
  } else {
    problem.batch =
        std::max(1, totals.tokens / (lengths ? mean_length(*lengths) : problem.seqlen_q));
  }
}

std::vector<Axis> make_rows() {
  const char* const extents = "numbers from 1 to 16m";
  return {
      {.name = "kernel",
       .flag = "--kernel",
       .help = "the kernels that compute the cases",
       .allowed = "names, globs, libraries: 'volta-*',./mine.so:fast",
       .initial = "*"},
      {.name = "pass",
       .flag = "--pass",
       .help = "fwd+bwd is a training step's attention",
       .allowed = "fwd, bwd, fwd+bwd",
       .initial = "fwd",
       .parse = list_of<select_names_of<Pass, 3>>,
       .access = kPassAccess,
       .id = {.place = 1},
       .is_in_every_record = true,
       .is_studied = false},
      {.name = "input",
       .flag = "--input",
       .help = "distributions of the inputs",
       .allowed = "normal, uniform, outliers",
       .initial = "normal",
       .parse = list_of<parse_inputs>,
       .access = member<&CaseProblem::input>(),
       .id = {.usual = {"normal", "tensors"}},
       .is_of_tensors = true,
       .is_of_case = true,
       .is_studied = false},
      {.name = "input_scale",
       .flag = "--input-scale",
       .help = "factors of q, k and v; a case is skipped if its inputs then exceed 65504",
       .allowed = extents,
       .initial = "1",
       .parse = list_of<parse_extents>,
       .access = member<&CaseProblem::input_scale>(),
       .id = {.prefix = "x", .usual = {1}},
       .is_of_tensors = true,
       .is_of_case = true,
       .is_studied = false},
      {.name = "head_dim",
       .flag = "--headdim",
       .help = "head dimensions",
       .allowed = extents,
       .initial = "64,128",
       .parse = list_of<parse_extents>,
       .access = member<&Problem::head_dim>(),
       .id = {.place = 6, .prefix = "d"},
       .is_of_tensors = true,
       .is_in_every_record = true,
       .is_studied = false},
      {.name = "lengths",
       .flag = "--lengths",
       .help = "lengths of varlen sequences, instead of --seqlen",
       .allowed = std::string(kLengthsForms),
       .initial = "none",
       .parse = lengths_or_none,
       .access = kLengthsAccess,
       .derive = [](CaseProblem& p, const GridTotals& /*totals*/) { p.lengths_spec.reset(); },
       .id = {.prefix = "lengths-",
              .text = [](const CaseProblem& p) { return p.lengths_hash.value_or("unknown"); }},
       .of = "batch",
       .replaces = {"seqlen_q", "seqlen_k"},
       .is_of_tensors = true},
      {.name = "seqlen_q",
       .flag = "--seqlen",
       .help = "query sequence lengths",
       .allowed = extents,
       .initial = "512,4k",
       .parse = list_of<parse_extents>,
       .access = member<&Problem::seqlen_q>(),
       .id = {.place = 4, .prefix = "sq"},
       .is_implied = has_lengths,
       .is_of_tensors = true,
       .is_in_every_record = true},
      {.name = "seqlen_k",
       .flag = "--seqlen-k",
       .help = "key sequence lengths; auto: the query's own",
       .allowed = fmt::format("{}, or auto", extents),
       .initial = "auto",
       .parse = list_or_auto<parse_extents>,
       .access = member<&Problem::seqlen_k>(),
       .derive = [](CaseProblem& p, const GridTotals& /*totals*/) { p.seqlen_k = p.seqlen_q; },
       .id = {.place = 5, .prefix = "sk"},
       .twin = "seqlen_q",
       .is_implied = has_lengths,
       .is_of_tensors = true,
       .is_in_every_record = true},
      {.name = "mask",
       .flag = "--mask",
       .help = "which keys a row sees",
       .allowed = std::string(pattern_forms()),
       .initial = "full,causal",
       .parse = list_of<parse_masks>,
       .access = kMaskAccess,
       .id = {.place = 7, .text = mask_in_id},
       .shorthand = {.flag = "--causal",
                     .help = "short for --mask causal, full, or full,causal",
                     .allowed = "true, false, both",
                     .expand = expand_causal}},
      {.name = "dropout_p",
       .flag = "--dropout",
       .help = "dropout probabilities",
       .allowed = "numbers p with 0 <= p < 1",
       .initial = "0.1",
       .parse = list_of<parse_probabilities>,
       .access = member<&Problem::dropout_p>(),
       .id = {.place = 8, .prefix = "p"},
       .heading = "dropout",
       .is_in_every_record = true},
      {.name = "dropout_scale",
       .flag = "--dropout-scale",
       .help = "the factor of kept values is 1 / (1 - p), with p as applied in 256ths, or as asked",
       .allowed = "applied, asked",
       .initial = "applied",
       .parse = list_of<select_names_of<DropoutScale, 2>>,
       .access = kDropoutScaleAccess,
       .id = {.prefix = "scale-", .usual = {"applied"}},
       .is_studied = false},
      {.name = "dtype",
       .flag = "--dtype",
       .help = "type of q, k, v and of the outputs; our own kernels compute in fp16 only",
       .allowed = "fp16, bf16",
       .initial = "fp16",
       .parse = list_of<select_names_of<ElementType, 2>>,
       .access = kElementAccess,
       .id = {.usual = {"fp16"}},
       .is_studied = false},
      {.name = "layout",
       .flag = "--layout",
       .help =
           "order of batch, seqlen, heads and head_dim in memory; qkv-packed: slices of one tensor",
       .allowed = "bshd, bhsd, qkv-packed, k-bhsd",
       .initial = "bshd",
       .parse = list_of<select_names_of<TensorLayout, kTensorLayouts.size()>>,
       .access = kLayoutAccess,
       .id = {.usual = {"bshd"}},
       .is_studied = false},
      {.name = "batch",
       .flag = "--batch",
       .help = "sequences; auto: total tokens / their length, or their mean length",
       .allowed = "a number, or auto",
       .initial = "auto",
       .parse = one_extent_or_auto,
       .access = member<&Problem::batch>(),
       .derive = derive_batch,
       .id = {.place = 2, .prefix = "b"},
       .is_implied =
           [](const CaseProblem& p) { return has_lengths(p) && is_of_file(*p.lengths_spec); },
       .is_of_tensors = true,
       .is_in_every_record = true,
       .is_studied = false},
      {.name = "heads",
       .flag = "--heads",
       .help = "heads; auto: hidden / head dimension, rounded down",
       .allowed = "a number, or auto",
       .initial = "auto",
       .parse = one_extent_or_auto,
       .access = member<&Problem::heads>(),
       .derive = [](CaseProblem& p,
                    const GridTotals& t) { p.heads = std::max(1, t.hidden / p.head_dim); },
       .id = {.place = 3, .prefix = "h"},
       .is_of_tensors = true,
       .is_in_every_record = true,
       .is_studied = false},
      {.name = "heads_k",
       .flag = "--heads-k",
       .help = "key heads, each read by a group of query heads; auto: as many as heads",
       .allowed = "numbers that divide the heads, or auto",
       .initial = "auto",
       .parse = list_or_auto<parse_extents>,
       .access = kHeadsKAccess,
       .derive = [](CaseProblem& p, const GridTotals& /*totals*/) { p.heads_k = p.heads; },
       .id = {.prefix = "hk", .is_left_out_like_twin = true},
       .twin = "heads",
       .is_of_tensors = true},
      {.name = "total_tokens",
       .flag = "--total-tokens",
       .help = "total tokens for an automatic batch",
       .allowed = "a number",
       .initial = "16k",
       .parse = one_extent,
       .total = &GridTotals::tokens,
       .of = "batch",
       .is_of_tensors = true},
      {.name = "hidden",
       .flag = "--hidden",
       .help = "hidden size for automatic heads",
       .allowed = "a number",
       .initial = "2048",
       .parse = one_extent,
       .total = &GridTotals::hidden,
       .of = "heads",
       .is_of_tensors = true},
  };
}

}  // namespace

std::span<const Axis> axes() {
  static const std::vector<Axis> rows = make_rows();
  return rows;
}

}  // namespace sparkbench
