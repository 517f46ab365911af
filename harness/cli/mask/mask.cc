// sparkbench mask: draws a mask and counts what it shows.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <memory>
#include <ostream>
#include <stdexcept>

#include "harness/cli/commands.h"
#include "harness/cli/mask/mask_figures.h"
#include "harness/cli/mask/mask_picture.h"
#include "harness/cli/mask/mask_report.h"
#include "harness/cli/options/table_options.h"
#include "kernels/split_text.h"
#include "results/store/output_file.h"
#include "sweeps/list_flag.h"
#include "sweeps/usage_error.h"

namespace sparkbench {
namespace {

/// Within these limits a drawing and all counts take seconds.
constexpr int kLongestDrawn = 1 << 18;
constexpr int kMostMaskHeads = 4096;
/// Each of them is drawn and counted separately.
constexpr int kMostNamedHeads = 64;

struct MaskOptions {
  std::string mask, seqlen, seqlen_k, heads, tile = "64x64";
  std::vector<std::string> outputs;
  bool is_json = false;
  TableOptions table;
};

int number_up_to(const char* flag, const std::string& text, int most) {
  const int number = parse_extent(flag, text);
  if (number <= most) return number;
  throw UsageError(fmt::format("{}: {} is too many; allowed: 1 to {}", flag, text, most));
}

PatternSpec mask_of(const MaskOptions& options) {
  try {
    return parse_pattern_spec(options.mask);
  } catch (const std::invalid_argument& error) {
    throw UsageError(fmt::format("MASK: {}", error.what()));
  }
}

MaskQuestion question_of(const MaskOptions& options) {
  MaskQuestion question;
  question.spec = mask_of(options);
  question.seqlen_q = number_up_to("--seqlen", options.seqlen, kLongestDrawn);
  question.seqlen_k = options.seqlen_k.empty()
                          ? question.seqlen_q
                          : number_up_to("--seqlen-k", options.seqlen_k, kLongestDrawn);
  const int turns = static_cast<int>(question.spec.unions.size());
  if (names_heads(question.spec) && options.heads.empty()) {
    throw UsageError(
        fmt::format("--heads: required, because the mask depends on the query head h; "
                    "allowed: 1 to {}",
                    kMostNamedHeads));
  }
  const int most_heads = names_heads(question.spec) ? kMostNamedHeads : kMostMaskHeads;
  question.heads =
      options.heads.empty() ? turns : number_up_to("--heads", options.heads, most_heads);
  if (question.heads < turns) {
    throw UsageError(
        fmt::format("--heads: {} heads cannot cycle through {} masks; allowed: {} to {}",
                    question.heads, turns, turns, most_heads));
  }
  const std::vector<std::string_view> sides = split_text(options.tile, 'x');
  if (sides.size() != 2) {
    throw UsageError(
        fmt::format("--tile: '{}' is not a tile; allowed: ROWSxKEYS, such as 64x64", options.tile));
  }
  question.tile_rows = number_up_to("--tile", std::string(sides[0]), kLongestDrawn);
  question.tile_keys = number_up_to("--tile", std::string(sides[1]), kLongestDrawn);
  return question;
}

/// The contents for a file of this name.
std::string content_for(const std::filesystem::path& path, const MaskQuestion& question,
                        const MaskAnswer& found) {
  if (path.extension() == ".svg") return draw_svg(found.pattern, question.spec);
  return format_mask(question, found);
}

void check_mask_outputs(const std::vector<std::string>& outputs) {
  for (const std::string& output : outputs) {
    const std::string end = std::filesystem::path(output).extension().string();
    if (end != ".svg" && end != ".txt") {
      throw UsageError(
          fmt::format("--output: '{}' has an unknown ending; allowed: .svg, .txt", output));
    }
    check_writable("--output", output);
  }
}

ExitCode run_mask_command(const MaskOptions& options, const Streams& streams) {
  const MaskQuestion question = question_of(options);
  check_mask_outputs(options.outputs);
  MaskAnswer found;
  try {
    found = answer(question);
  } catch (const std::invalid_argument& error) {
    throw UsageError(fmt::format("MASK: {}", error.what()));
  }
  for (const std::string& output : options.outputs) {
    write_file(output, content_for(output, question, found));
  }
  streams.out << (options.is_json
                      ? mask_to_json(question, found)
                      : format_mask(question, found, table_view(options.table, streams.out)));
  return ExitCode::kOk;
}

}  // namespace

void add_mask_command(CLI::App& program, const Invocation& invocation, Action& action) {
  CLI::App* command = program.add_subcommand("mask");
  const auto options = std::make_shared<MaskOptions>();
  command
      ->add_option("mask", options->mask,
                   "a mask, such as window:128, or unions and per-head masks: "
                   "sink:4+window:1k/full; or where:EXPRESSION of q and k")
      ->required()
      ->type_name("MASK");
  command->add_option("--seqlen", options->seqlen, "rows, 1 to 256k")->required()->type_name("N");
  command->add_option("--seqlen-k", options->seqlen_k, "keys; default: as many as rows")
      ->type_name("N");
  command
      ->add_option("--heads", options->heads,
                   "heads over which work is balanced; default: one per mask")
      ->type_name("N");
  command->add_option("--tile", options->tile, "rows and keys of a tile; default: 64x64")
      ->type_name("NxN");
  command
      ->add_option("--output", options->outputs,
                   "files to draw to: .svg, or .txt for the printed text")
      ->type_name("FILE");
  command->add_flag("--json", options->is_json, "one JSON document instead of text");
  add_width_flag(*command, options->table);
  command->callback([options, &invocation, &action] {
    action = [options, &invocation] { return run_mask_command(*options, invocation.streams); };
  });
}

}  // namespace sparkbench
