#include "harness/cli/mask/mask_report.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "harness/cli/mask/mask_picture.h"
#include "results/render/fact_lines.h"
#include "results/render/number_format.h"

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
  if (figures.order) {
    const MaskOrder& order = *figures.order;
    facts.push_back({"  in order", fmt::format("{} and {}, {} tokens a tile of {}",
                                               ratio_text(figures.ratio(order.executed_pairs)),
                                               ratio_text(figures.ratio(order.warp_executed_pairs)),
                                               fmt::join(order.tile, " x "), kOrderTile)});
    facts.push_back(
        {"  its spans", fmt::format("{}, at most {} a tile of rows: {} full tiles, {} "
                                    "cut; {}",
                                    order.spans, order.most_spans, order.full_tiles,
                                    order.cut_tiles, format_memory(order.metadata_bytes))});
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
  json["order"] = nullptr;
  if (figures.order) {
    const MaskOrder& order = *figures.order;
    json["order"] = {{"tile", order.tile},
                     {"positions", order.positions},
                     {"spans", order.spans},
                     {"most_spans", order.most_spans},
                     {"full_tiles", order.full_tiles},
                     {"cut_tiles", order.cut_tiles}};
    json["order"].update(executed(order.executed_pairs, order.warp_executed_pairs));
    json["order"]["metadata_bytes"] = order.metadata_bytes;
  }
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

}  // namespace

std::string format_mask(const MaskQuestion& question, const MaskAnswer& found,
                        const TableView& view) {
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

}  // namespace sparkbench
