// A judgement as a page for a browser.
#include <fmt/format.h>

#include "results/record/safe_text.h"
#include "results/render/html_page.h"
#include "results/render/judgement.h"
#include "results/render/number_format.h"

namespace sparkbench {
namespace {

constexpr std::string_view kHead = R"(<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<meta name="viewport" content="width=device-width">
<title>{title}</title>
<style>
body {{ font: 15px/1.4 system-ui, sans-serif; margin: 1.5em; color: #111; background: #fff; }}
h1, h2 {{ font-size: 1.3em; overflow-wrap: anywhere; }}
h2 span {{ padding: 0.1em 0.4em; color: #fff; background: #555; }}
h2 .right {{ background: #176b2c; }}
h2 .wrong {{ background: #a3161a; }}
dl {{ display: grid; grid-template-columns: max-content 1fr; gap: 0.3em 1em; }}
dt {{ font-weight: bold; }}
dd {{ margin: 0; overflow-wrap: anywhere; }}
code {{ font: 13px monospace; background: #f3f3f3; }}
.wide {{ overflow-x: auto; }}
table {{ border-collapse: collapse; font-variant-numeric: tabular-nums; }}
th, td {{ padding: 0.2em 0.5em; text-align: right; white-space: nowrap; }}
th {{ border-bottom: 2px solid #111; }}
th.text, td.text {{ text-align: left; }}
tbody tr:nth-child(even) {{ background: #f3f3f3; }}
</style>
</head>
<body>
<h1>{title}</h1>
<p>{device}, {date}, sparkbench {version}</p>
)";

std::string shown(std::string_view text) { return html_text(printable(one_line(text))); }

std::string facts_list(const Judgement& judgement) {
  std::string list = "<dl>\n";
  for (const auto& [name, text] : facts_of(judgement)) {
    const bool is_command = name == "repeat";
    list += fmt::format("<dt>{}</dt><dd>{}{}{}</dd>\n", shown(name), is_command ? "<code>" : "",
                        shown(text), is_command ? "</code>" : "");
  }
  return list + "</dl>\n";
}

/// Each rival with its time, and the kernel's over it.
std::string beside_text(const Judgement::Speed& speed) {
  std::string text;
  for (const auto& [kernel, time_ms] : speed.beside) {
    text += fmt::format("{}{} {} ({}x)", text.empty() ? "" : ", ", shown(kernel),
                        significant(time_ms, 3), significant(speed.time_ms / time_ms, 3));
  }
  return text;
}

std::string speed_rows(const Judgement& judgement) {
  if (judgement.speeds.empty()) return "";
  std::string table =
      "<div class=\"wide\"><table>\n<thead><tr><th class=\"text\">pass</th><th "
      "class=\"text\">dtype</th><th class=\"text\">layout</th>"
      "<th>head_dim</th>"
      "<th>seqlen</th><th class=\"text\">mask</th><th>ms</th><th>TFLOP/s</th><th>memory</th>"
      "<th class=\"text\">beside, ms (and how many times as long this one "
      "takes)</th></tr></thead>\n"
      "<tbody>\n";
  for (const Judgement::Speed& speed : judgement.speeds) {
    table += fmt::format(
        "<tr><td class=\"text\">{}</td><td class=\"text\">{}</td><td class=\"text\">{}</td>"
        "<td>{}</td><td>{}</td>"
        "<td class=\"text\">{}</td><td>{}</td>"
        "<td>{}</td><td>{}</td><td class=\"text\">{}</td></tr>\n",
        speed.pass, speed.dtype, speed.layout, speed.head_dim, speed.seqlen, shown(speed.mask),
        significant(speed.time_ms, 3), speed.tflops ? significant(*speed.tflops, 3) : "-",
        format_memory(speed.memory_bytes), beside_text(speed));
  }
  return table + "</tbody></table></div>\n";
}

std::string_view class_of(const Judgement& judgement) {
  const std::string verdict = judgement.verdict();
  if (verdict == "right") return "right";
  return verdict == "wrong" ? "wrong" : "";
}

}  // namespace

std::string judgement_page(const RunRecord& run, const std::vector<std::string>& kernels) {
  const DeviceInfo& device = run.environment.device;
  const bool is_emulated = device.kind == DeviceKind::kEmulated;
  std::string page =
      fmt::format(fmt::runtime(kHead),
                  fmt::arg("title", shown(fmt::format("{}", fmt::join(run.run.argv, " ")))),
                  fmt::arg("device", shown(device.name) + (is_emulated ? " (emulated)" : "")),
                  fmt::arg("date", shown(run.run.started_at.substr(0, 10))),
                  fmt::arg("version", shown(run.build.version)));
  for (const std::string& kernel : kernels) {
    const Judgement judgement = judgement_of(run, kernel);
    page += fmt::format("<h2>{}: <span class=\"{}\">{}</span></h2>\n", shown(kernel),
                        class_of(judgement), shown(verdict_text(judgement)));
    page += facts_list(judgement) + speed_rows(judgement);
  }
  return page + "</body>\n</html>\n";
}

}  // namespace sparkbench
