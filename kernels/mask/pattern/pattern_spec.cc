#include "kernels/mask/pattern/pattern_spec.h"

#include <algorithm>
#include <charconv>
#include <stdexcept>

#include "kernels/base/split_text.h"
#include "kernels/mask/mask_table.h"
#include "kernels/mask/meant_mask.h"
#include "kernels/mask/pattern/pattern_atoms.h"

namespace sparkbench {
namespace {

constexpr std::string_view kCausalPrefix = "causal-",
                           kFileAtom = "zones:", kExpressionAtom = "where:";

/// An atom as it was typed, within all that was typed.
struct Typed {
  std::string_view atom, all;

  [[noreturn]] void refuse(const std::string& why) const {
    std::string message = "'" + std::string(atom) + "' ";
    if (atom != all) message += "of '" + std::string(all) + "' ";
    throw PatternTextError(message + why + "; allowed: " + std::string(pattern_forms()),
                           static_cast<std::size_t>(atom.data() - all.data()));
  }
};

int parse_number(const Typed& typed, std::string_view text, int least) {
  std::int64_t value = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error == std::errc::result_out_of_range) typed.refuse("has a number beyond 2147483647");
  const std::string_view unit(stop, static_cast<std::size_t>(end - stop));
  if (error != std::errc() || (!unit.empty() && unit != "k" && unit != "m")) {
    typed.refuse("has no whole number where one is wanted");
  }
  const std::int64_t factor = unit == "k" ? 1024 : unit == "m" ? 1024 * 1024 : 1;
  if (value > 2147483647 / factor) typed.refuse("has a number beyond 2147483647");
  if (value * factor < least) typed.refuse("has a number below " + std::to_string(least));
  return static_cast<int>(value * factor);
}

std::vector<int> parse_field(const Typed& typed, std::string_view text, const AtomRow& row) {
  std::vector<int> numbers;
  for (const std::string_view part : split_text(text, 'x')) {
    numbers.push_back(parse_number(typed, part, row.least));
  }
  const int most = row.takes_axes ? kMostAxes : 1;
  if (static_cast<int>(numbers.size()) > most) {
    typed.refuse("has " + std::to_string(numbers.size()) + " numbers in a field of at most " +
                 std::to_string(most));
  }
  return numbers;
}

void check_field_count(const Typed& typed, int fields, const AtomRow& row) {
  if (fields >= row.least_fields && fields <= row.most_fields) return;
  std::string wanted = std::to_string(row.least_fields);
  if (row.most_fields > row.least_fields) wanted += " or more";
  typed.refuse("has " + std::to_string(fields) + " numbers, not " + wanted);
}

PatternAtom parse_atom(const Typed& typed);

/// The atom that a misspelled one probably means, if there is one; otherwise the forms of atoms.
std::string meant_atom(std::string_view typed) {
  std::vector<std::string> known;
  for (const AtomRow& row : atom_rows()) {
    known.emplace_back(row.name);
    known.push_back(std::string(kCausalPrefix) + std::string(row.name));
  }
  const MeantMask meant = meant_mask(typed, known);
  if (meant.name.empty()) return "";
  std::string text = meant.name + meant.fields;
  try {
    parse_atom({text, text});
    return text;
  } catch (const PatternTextError&) {
    const bool is_causal = meant.name.starts_with(kCausalPrefix);
    const std::string name = meant.name.substr(is_causal ? kCausalPrefix.size() : 0);
    const std::string_view form = find_atom(name)->form;
    return std::string(is_causal ? kCausalPrefix : "") +
           std::string(form.substr(0, form.find(' ')));
  }
}

/// The normal form of the text after "where".
std::string parse_expression_of(const Typed& typed, std::string_view text) {
  if (text.size() < 2) typed.refuse("has no expression");
  text.remove_prefix(1);
  try {
    return text_of(parse_expression(text));
  } catch (const ExpressionError& error) {
    const auto begin = static_cast<std::size_t>(text.data() - typed.all.data());
    throw PatternTextError(std::string(kExpressionAtom) + " " + error.what(),
                           begin + error.position());
  }
}

PatternAtom parse_atom(const Typed& typed) {
  std::string_view text = typed.atom;
  PatternAtom atom;
  while (text.starts_with(kCausalPrefix)) {
    atom.is_causal = true;
    text.remove_prefix(kCausalPrefix.size());
  }
  std::vector<std::string_view> parts = split_text(text, ':');
  const AtomRow* const row = find_atom(parts[0]);
  if (row == nullptr) typed.refuse("is no mask" + did_you_mean(meant_atom(typed.atom)));
  atom.name = row->name;
  if (row->takes_file) {
    atom.file = text.size() > kFileAtom.size() ? text.substr(kFileAtom.size()) : "";
    if (atom.file.empty()) typed.refuse("names no file");
    return atom;
  }
  if (row->takes_expression) {
    atom.expression = parse_expression_of(typed, text.substr(parts[0].size()));
    return atom;
  }
  check_field_count(typed, static_cast<int>(parts.size()) - 1, *row);
  for (std::size_t i = 1; i < parts.size(); ++i) {
    atom.fields.push_back(parse_field(typed, parts[i], *row));
  }
  if (const std::string why = row->check != nullptr ? row->check(atom) : ""; !why.empty()) {
    typed.refuse(why);
  }
  if (atom.is_causal && row->causal_name != nullptr) {
    atom = {row->causal_name, row->causal_name == row->name ? atom.fields : decltype(atom.fields)(),
            "", false};
  }
  return atom;
}

/// The parts between separators; after "zones:" all is a file's name, after "where:" an expression.
std::vector<std::string_view> split_before_last(std::string_view text, char separator) {
  const std::size_t last = std::min(text.find(kFileAtom), text.find(kExpressionAtom));
  if (last == std::string_view::npos) return split_text(text, separator);
  std::vector<std::string_view> parts = split_text(text.substr(0, last), separator);
  const auto begin = static_cast<std::size_t>(parts.back().data() - text.data());
  parts.back() = text.substr(begin);
  return parts;
}

}  // namespace

PatternSpec parse_pattern_spec(std::string_view text) {
  PatternSpec spec;
  for (const std::string_view of_heads : split_before_last(text, '/')) {
    std::vector<PatternAtom> atoms;
    for (const std::string_view part : split_before_last(of_heads, '+')) {
      PatternAtom atom = parse_atom({part, text});
      if (std::find(atoms.begin(), atoms.end(), atom) == atoms.end()) {
        atoms.push_back(std::move(atom));
      }
    }
    spec.unions.push_back(std::move(atoms));
  }
  return spec;
}

std::string name_of(const PatternSpec& spec) {
  std::string name;
  for (const std::vector<PatternAtom>& atoms : spec.unions) {
    const char* separator = name.empty() ? "" : "/";
    for (const PatternAtom& atom : atoms) {
      name.append(separator).append(atom.is_causal ? kCausalPrefix : "").append(atom.name);
      separator = "+";
      if (!atom.file.empty()) name.append(":").append(atom.file);
      if (!atom.expression.empty()) name.append(":").append(atom.expression);
      for (const std::vector<int>& field : atom.fields) {
        const char* before = ":";
        for (const int number : field) {
          name.append(before).append(std::to_string(number));
          before = "x";
        }
      }
    }
  }
  return name;
}

bool names_heads(const PatternSpec& spec) {
  const auto names_head = [](const PatternAtom& atom) {
    return !atom.expression.empty() && parse_expression(atom.expression).names(ExpressionOp::kHead);
  };
  return std::any_of(spec.unions.begin(), spec.unions.end(), [&](const auto& atoms) {
    return std::any_of(atoms.begin(), atoms.end(), names_head);
  });
}

Pattern make_pattern(const PatternSpec& spec, int seqlen_q, int seqlen_k, int heads) {
  Pattern pattern = empty_pattern(seqlen_q, seqlen_k);
  const Pattern lengths = pattern;
  std::size_t unions = spec.unions.size();
  if (names_heads(spec)) {
    if (heads < 1) {
      throw std::invalid_argument(
          "the expression names h, a query head, and how many there are is not known; allowed: q, "
          "k, seqlen_q, seqlen_k, or patterns by turns of heads with '/'");
    }
    if (heads > kMostHeadUnions) {
      throw std::invalid_argument("the expression names h, a query head, and there are " +
                                  std::to_string(heads) + "; allowed: at most " +
                                  std::to_string(kMostHeadUnions));
    }
    unions = static_cast<std::size_t>(heads);
  }
  pattern.unions.clear();
  for (std::size_t head = 0; head < unions; ++head) {
    std::vector<Term> terms;
    for (const PatternAtom& atom : spec.unions[head % spec.unions.size()]) {
      for (Term& term : find_atom(atom.name)->terms(atom, lengths)) {
        if (term.where != nullptr) term.where = of_head(*term.where, static_cast<int>(head));
        if (atom.is_causal) term.flat.d1 = std::min(term.flat.d1, 1);
        terms.push_back(std::move(term));
      }
    }
    pattern.unions.push_back(std::move(terms));
  }
  return pattern;
}

std::optional<MaskSpec> mask_spec_of(const PatternSpec& spec) {
  if (spec.unions.size() != 1 || spec.unions[0].size() != 1) return std::nullopt;
  const PatternAtom& atom = spec.unions[0][0];
  if (atom.is_causal) return std::nullopt;
  for (const MaskRow& row : mask_rows()) {
    if (row.name != atom.name) continue;
    MaskSpec mask{row.kind, 0, 0};
    if (row.parameters > 0) mask.first = atom.number(0);
    if (row.parameters > 1) mask.second = atom.number(1);
    return mask;
  }
  return std::nullopt;
}

std::string_view pattern_forms() {
  static const std::string forms = [] {
    std::string all;
    for (const AtomRow& row : atom_rows()) all.append(row.form).append(", ");
    return all + "causal-MASK, united by '+', by turns of heads with '/'";
  }();
  return forms;
}

}  // namespace sparkbench
