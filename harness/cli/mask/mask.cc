// sparkbench mask: draws a mask and counts what it shows.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <ostream>
#include <stdexcept>
#include <string>

#include "harness/cli/commands.h"
#include "harness/cli/mask/mask_figures.h"
#include "harness/cli/mask/mask_picture.h"
#include "harness/cli/options/table_options.h"
#include "kernels/base/split_text.h"
#include "results/render/number_format.h"
#include "results/render/text_table.h"
#include "results/store/output_file.h"
#include "sweeps/list_flag.h"
#include "sweeps/usage_error.h"

namespace sparkbench {
namespace {

constexpr int kMostTextCells = 40, kCellCharacters = 2;

std::string ratio_text(double ratio) {
  return std::isfinite(ratio) ? fmt::format("{:.3f}", ratio) : "nothing is visible";
}

std::vector<Fact> facts_of(const MaskQuestion& question, const MaskFigures& figures) {
  const std::string tile = fmt::format("{} x {}", question.tile_rows, question.tile_keys);
  const std::string warp = fmt::format("{} x {}", kWarpRows, kWarpKeys);
  std::vector<Fact> facts = {
      {"density", fmt::format("{} %: {} pairs of a head", significant(100.0 * figures.density, 4),
                              figures.visible_pairs)},
      {"spans", fmt::format("{}, at most {} a tile of rows: {} full tiles, {} cut", figures.spans,
                            figures.most_spans, figures.full_tiles, figures.cut_tiles)},
      {"executed / useful",
       fmt::format("{} in tiles of {}, {} where warps skip {}",
                   ratio_text(figures.ratio(figures.executed_pairs)), tile,
                   ratio_text(figures.ratio(figures.warp_executed_pairs)), warp)}};
  if (figures.has_other_orders()) {
    const MaskPasses& passes = figures.passes;
    facts.push_back(
        {"  in passes", fmt::format("{} and {}, keys in steps of {}",
                                    ratio_text(figures.ratio(passes.executed_pairs)),
                                    ratio_text(figures.ratio(passes.warp_executed_pairs)),
                                    fmt::join(passes.strides, " and of "))});
  }
  facts.push_back({"metadata", format_memory(figures.metadata_bytes)});
  facts.push_back(
      {"analysis", fmt::format("{} us, the least of {} on this machine",
                               significant(figures.analysis_us, 3), figures.repetitions)});
  return facts;
}

using Json = nlohmann::ordered_json;

Json number_or_null(double value) { return std::isfinite(value) ? Json(value) : Json(); }

Json figures_json(const MaskFigures& figures) {
  const auto executed = [&](std::uint64_t tile_pairs, std::uint64_t warp_pairs) {
    return Json{{"pairs_executed", tile_pairs},
                {"executed_over_useful", number_or_null(figures.ratio(tile_pairs))},
                {"warp_pairs_executed", warp_pairs},
                {"warp_executed_over_useful", number_or_null(figures.ratio(warp_pairs))}};
  };
  Json json = {{"mask", figures.name},
               {"pairs_visible", figures.visible_pairs},
               {"density", figures.density},
               {"spans", figures.spans},
               {"most_spans", figures.most_spans},
               {"full_tiles", figures.full_tiles},
               {"cut_tiles", figures.cut_tiles}};
  json.update(executed(figures.executed_pairs, figures.warp_executed_pairs));
  json["passes"] = {{"strides", figures.passes.strides}};
  json["passes"].update(
      executed(figures.passes.executed_pairs, figures.passes.warp_executed_pairs));
  json["order"] = nullptr;  // once a grid's token order; keys of this format are never removed
  json["metadata_bytes"] = figures.metadata_bytes;
  json["analysis_us"] = figures.analysis_us;
  json["repetitions"] = figures.repetitions;
  return json;
}

Json balance_json(const MaskAnswer& found) {
  return {{"slots", kVoltaSlots},
          {"most_item_tiles", found.longest_item},
          {"items", found.items},
          {"makespan_over_mean", found.split.ratio()},
          {"makespan_over_mean_unsplit", found.whole.ratio()}};
}

/// Lines, with a character drawing of each per-head pattern.
std::string format_mask(const MaskQuestion& question, const MaskAnswer& found,
                        const TableView& view = {}) {
  std::string text =
      wrapped(fmt::format("{}, seqlen_q {}, seqlen_k {}, heads {}\n", name_of(question.spec),
                          question.seqlen_q, question.seqlen_k, question.heads),
              view);
  const std::size_t turns = found.unions.size();
  const int cells = std::min(kMostTextCells, (view.width.value_or(120) - 2) / kCellCharacters);
  const Fact makespan = {
      "makespan / mean",
      fmt::format("{:.3f} of all heads on {} slots, {} items of at most {} tiles; {:.3f} unless "
                  "split",
                  found.split.ratio(), kVoltaSlots, found.items, found.longest_item,
                  found.whole.ratio())};
  for (std::size_t i = 0; i < turns; ++i) {
    const MaskFigures& figures = found.unions[i];
    if (turns > 1) {
      text += wrapped(fmt::format("\nheads {}, {}, ...: {}\n", i, i + turns, figures.name), view);
    }
    text += '\n' + draw_text(found.pattern, static_cast<int>(i), cells) + '\n';
    std::vector<Fact> facts = facts_of(question, figures);
    if (i + 1 == turns) facts.push_back(makespan);
    text += format_facts(facts, view);
  }
  return text;
}

/// One document. A minor version may add keys, and never renames or removes one.
std::string mask_to_json(const MaskQuestion& question, const MaskAnswer& found) {
  Json unions = Json::array();
  for (const MaskFigures& figures : found.unions) unions.push_back(figures_json(figures));
  const std::optional<MaskSpec> of_kernels = mask_spec_of(question.spec);
  const Json document = {{"schema", {{"name", "sparkbench.mask"}, {"version", "1.0.0"}}},
                         {"mask", name_of(question.spec)},
                         {"is_taken_by_kernels", of_kernels.has_value()},
                         {"seqlen_q", question.seqlen_q},
                         {"seqlen_k", question.seqlen_k},
                         {"heads", question.heads},
                         {"tile", {{"rows", question.tile_rows}, {"keys", question.tile_keys}}},
                         {"warp_tile", {{"rows", kWarpRows}, {"keys", kWarpKeys}}},
                         {"unions", unions},
                         {"balance", balance_json(found)}};
  return document.dump(2) + '\n';
}

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
