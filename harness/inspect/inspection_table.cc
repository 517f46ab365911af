#include "harness/inspect/inspection_table.h"

#include <fmt/core.h>

#include <cmath>
#include <set>

#include "results/render/number_format.h"
#include "results/render/text_table.h"

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

std::string section(const std::string& title, const std::vector<TextColumn>& columns) {
  return title + "\n\n" + format_columns(columns, {}) + "\n";
}

std::string resource_table(Kernels kernels) {
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
  return section(
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

std::string loop_table(Kernels kernels) {
  const auto number = [&](std::string title, auto&& text) {
    return column(std::move(title), kernels, [&](const auto& k) { return text(*k.main_loop()); });
  };
  const auto cap = [&](std::string title, double LoopCaps::*member) {
    return number(std::move(title),
                  [member](const LoopInspection& loop) { return cap_cell(loop.caps.*member); });
  };
  return section(
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
std::string mix_table(const std::string& title, Kernels kernels, auto&& text) {
  std::vector<TextColumn> columns = {names(kernels)};
  for (int i = 0; i < kInstructionClasses; ++i) {
    columns.push_back(column(std::string(name_of(static_cast<InstructionClass>(i))), kernels,
                             [&](const auto& kernel) {
                               const LoopMix& mix = kernel.main_loop()->mix;
                               return text(mix.counts[i], mix);
                             }));
  }
  columns.push_back(column("all", kernels, [&](const auto& kernel) {
    const LoopMix& mix = kernel.main_loop()->mix;
    return text(mix.instructions, mix);
  }));
  return section(title, columns);
}

std::string verdict(const GateResult& gate) {
  if (!gate.value) return "unknown";
  return (*gate.holds() ? "holds " : "BREAKS ") + significant(*gate.value, 3);
}

std::string gate_table(Kernels kernels) {
  std::vector<TextColumn> columns = {names(kernels)};
  for (std::size_t i = 0; i < gate_names().size(); ++i) {
    columns.push_back(column(std::string(gate_names()[i]), kernels,
                             [i](const auto& kernel) { return verdict(kernel.gates[i]); }));
  }
  std::string text = section("Gates", columns);
  std::set<std::string> reasons;
  for (const KernelInspection& kernel : kernels) {
    for (const GateResult& gate : kernel.gates) {
      if (!gate.value) reasons.insert(fmt::format("unknown {}: {}\n", gate.name, gate.reason));
    }
  }
  for (const std::string& reason : reasons) text += reason;
  return text;
}

}  // namespace

std::string format_inspection(std::span<const KernelInspection> kernels) {
  std::vector<KernelInspection> with_loop;
  for (const KernelInspection& kernel : kernels) {
    if (kernel.main_loop() != nullptr) with_loop.push_back(kernel);
  }
  std::string text = resource_table(kernels);
  if (with_loop.empty()) return text;
  text += loop_table(with_loop);
  text += mix_table("Instructions of a pass", with_loop,
                    [](int count, const LoopMix&) { return std::to_string(count); });
  text += mix_table("Instructions per m8n8k4", with_loop, [](int count, const LoopMix& mix) {
    return fmt::format("{:.2f}", count / mix.mma);
  });
  return text + gate_table(with_loop);
}

}  // namespace sparkbench
