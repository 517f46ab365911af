#include "harness/model/sass/inspection_report.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include "results/render/number_format.h"
#include "results/render/sheet.h"

namespace sparkbench {
namespace {

constexpr const char* kUnknown = "-";

template <class T>
std::string cell(const std::optional<T>& value, auto&& member) {
  return value ? fmt::format("{}", member(*value)) : kUnknown;
}

std::string cap_cell(double value) {
  return std::isfinite(value) ? fmt::format("{:.2f}", value) : kUnknown;
}

/// A column whose cell for each row is text(row).
template <class Row>
TextColumn column(std::string title, std::span<const Row> rows, auto&& text) {
  TextColumn column{std::move(title), {}, true};
  for (const Row& row : rows) column.cells.push_back(text(row));
  return column;
}

using Kernels = std::span<const KernelInspection>;

TextColumn names(Kernels kernels) {
  TextColumn names = column("kernel", kernels, [](const auto& kernel) { return kernel.name; });
  names.right_aligned = false;
  return names;
}

/// "limited_by" of "limited by".
std::string name_of_title(std::string title) {
  std::replace_if(
      title.begin(), title.end(), [](char c) { return c == ' ' || c == '\n'; }, '_');
  return title;
}

Sheet sheet_of(const std::string& title, const std::vector<TextColumn>& columns) {
  Sheet sheet{title, {}};
  for (const TextColumn& column : columns) {
    sheet.columns.push_back({name_of_title(column.title), column});
  }
  return sheet;
}

Sheet resource_table(Kernels kernels) {
  const auto number = [&](std::string title, auto&& value) {
    return column(std::move(title), kernels,
                  [&](const auto& kernel) { return std::to_string(value(kernel)); });
  };
  const auto launch = [&](std::string title, int KernelInstance::*member) {
    return column(std::move(title), kernels, [member](const auto& kernel) {
      return cell(kernel.instance, [member](const auto& value) { return value.*member; });
    });
  };
  const auto occupancy = [&](std::string title, auto Occupancy::*member) {
    return column(std::move(title), kernels, [member](const auto& kernel) {
      return cell(kernel.occupancy, [member](const auto& value) { return value.*member; });
    });
  };
  return sheet_of(
      "Resources (shared memory in bytes; occupancy of one SM)",
      {names(kernels), number("sm", [](const auto& k) { return k.sm; }),
       number("registers", [](const auto& k) { return k.resources.registers; }),
       number("stack B", [](const auto& k) { return k.resources.stack_bytes; }),
       number("local B", [](const auto& k) { return k.resources.local_bytes; }),
       number("LDL+STL", [](const auto& k) { return k.local_accesses; }),
       number("static", [](const auto& k) { return k.resources.shared_bytes; }),
       launch("dynamic", &KernelInstance::dynamic_shared_bytes),
       launch("threads", &KernelInstance::threads), occupancy("blocks", &Occupancy::blocks),
       occupancy("warps", &Occupancy::warps), occupancy("limited by", &Occupancy::limiter),
       number("instructions", [](const auto& k) { return k.instructions; }),
       number("tensor", [](const auto& k) { return k.tensor_instructions; })});
}

Sheet loop_table(Kernels kernels) {
  const auto number = [&](std::string title, auto&& text) {
    return column(std::move(title), kernels, [&](const auto& k) { return text(*k.main_loop()); });
  };
  const auto cap = [&](std::string title, double LoopCaps::*member) {
    return number(std::move(title),
                  [member](const LoopInspection& loop) { return cap_cell(loop.caps.*member); });
  };
  return sheet_of(
      "Main loop (a pass of a warp; caps are shares of the tensor cores' peak)",
      {names(kernels),
       number("code",
              [](const LoopInspection& loop) {
                return fmt::format("{:#x}-{:#x}", loop.first_address, loop.last_address);
              }),
       column("loops", kernels, [](const auto& k) { return std::to_string(k.loops.size()); }),
       number("all paths",
              [](const LoopInspection& loop) { return std::to_string(loop.instructions); }),
       number("pass", [](const auto& loop) { return std::to_string(loop.mix.instructions); }),
       number("mma", [](const auto& loop) { return fmt::format("{:g}", loop.mix.mma); }),
       number("columns",
              [](const auto& loop) {
                return loop.columns ? fmt::format("{:g}", *loop.columns) : kUnknown;
              }),
       number("wavefronts",
              [](const auto& loop) { return std::to_string(loop.mix.lsu_wavefronts); }),
       cap("issue cap", &LoopCaps::issue), cap("lsu cap", &LoopCaps::lsu),
       cap("xu cap", &LoopCaps::xu), cap("fp32 cap", &LoopCaps::fp32),
       cap("alu cap", &LoopCaps::alu), cap("port cap", &LoopCaps::tensor_port)});
}

/// `text` formats a count of the loop.
Sheet mix_table(const std::string& title, Kernels kernels, auto&& text) {
  std::vector<TextColumn> columns = {names(kernels)};
  for (int i = 0; i < kInstructionClasses; ++i) {
    columns.push_back(column(std::string(name_of(static_cast<InstructionClass>(i))), kernels,
                             [&](const auto& kernel) {
                               const LoopMix& mix = kernel.main_loop()->mix;
                               return text(mix.counts[i], mix);
                             }));
  }
  columns.push_back(column("in all", kernels, [&](const auto& kernel) {
    const LoopMix& mix = kernel.main_loop()->mix;
    return text(mix.instructions, mix);
  }));
  return sheet_of(title, columns);
}

std::string verdict(const GateResult& gate) {
  if (!gate.value) return "unknown";
  return (*gate.holds() ? "holds " : "BREAKS ") + significant(*gate.value, 3);
}

Sheet gate_table(Kernels kernels) {
  std::vector<TextColumn> columns = {names(kernels)};
  for (std::size_t i = 0; i < gate_names().size(); ++i) {
    columns.push_back(column(std::string(gate_names()[i]), kernels,
                             [i](const auto& kernel) { return verdict(kernel.gates[i]); }));
  }
  return sheet_of("Gates", columns);
}

/// Why gates are unknown, a line each.
std::string gate_reasons(Kernels kernels) {
  std::set<std::string> reasons;
  for (const KernelInspection& kernel : kernels) {
    for (const GateResult& gate : kernel.gates) {
      if (!gate.value) reasons.insert(fmt::format("unknown {}: {}\n", gate.name, gate.reason));
    }
  }
  std::string text;
  for (const std::string& reason : reasons) text += reason;
  return text;
}

std::vector<Sheet> loop_tables(Kernels with_loop) {
  return {loop_table(with_loop),
          mix_table("Instructions of a pass", with_loop,
                    [](int count, const LoopMix&) { return std::to_string(count); }),
          mix_table(
              "Instructions per m8n8k4", with_loop,
              [](int count, const LoopMix& mix) { return fmt::format("{:.2f}", count / mix.mma); }),
          gate_table(with_loop)};
}

}  // namespace

std::vector<std::string> inspection_column_names() {
  std::vector<Sheet> sheets = loop_tables({});
  sheets.insert(sheets.begin(), resource_table({}));
  return column_names(sheets);
}

std::string format_inspection(std::span<const KernelInspection> kernels, const TableView& view) {
  std::vector<KernelInspection> with_loop;
  for (const KernelInspection& kernel : kernels) {
    if (kernel.main_loop() != nullptr) with_loop.push_back(kernel);
  }
  std::vector<Sheet> sheets = {resource_table(kernels)};
  if (!with_loop.empty()) {
    for (Sheet& sheet : loop_tables(with_loop)) sheets.push_back(std::move(sheet));
  }
  std::string text;
  for (const Sheet& sheet : sheets) {
    const std::string table = format_sheet(sheet, view);
    text += (text.empty() || table.empty() ? "" : "\n") + table;
  }
  return text + wrapped(gate_reasons(with_loop), view);
}

}  // namespace sparkbench
