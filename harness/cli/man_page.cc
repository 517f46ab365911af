// The manual page: command_docs() and the flags as --help has them, in troff.
#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include "harness/build_info.h"
#include "harness/cli/command_docs.h"
#include "harness/cli/help_format.h"

namespace sparkbench {
namespace {

/// Text as troff prints it: no word of it is a request or an escape.
std::string troff(const std::string& text) {
  std::string escaped;
  for (const char character : text) {
    if (character == '\\') {
      escaped += "\\e";
    } else if (character == '-') {
      escaped += "\\-";
    } else if (character == '\'') {
      escaped += "\\(aq";
    } else if (character == '`') {
      escaped += "\\(ga";
    } else {
      escaped += character;
    }
    if (character == '\n') escaped += "\\&";  // a dot or a quote may follow
  }
  return "\\&" + escaped;
}

std::string flags_section(const CLI::App& command) {
  std::string text;
  for (const CLI::Option* option : command.get_options()) {
    if (option->get_group().empty()) continue;
    const std::string type = option->get_items_expected_max() == 0 ? "" : shown_type(*option);
    const std::string initial = option->get_default_str();
    text += fmt::format(".TP\n.B {} {}\n{}{}\n", troff(option->get_name(false, true)), troff(type),
                        troff(option->get_description()),
                        initial.empty() ? "" : troff(" [" + initial + "]"));
  }
  return text;
}

std::string command_section(const CommandDoc& doc, const CLI::App& command) {
  std::string text = fmt::format(".SS sparkbench {}\n{}\n{}.PP\nExamples:\n.nf\n", troff(doc.name),
                                 troff(doc.summary), flags_section(command));
  for (const char* const example : doc.examples) text += troff(example) + "\n";
  return text + ".fi\n";
}

}  // namespace

std::string format_man_page(const CLI::App& program) {
  std::string text = fmt::format(
      ".TH SPARKBENCH 1 \"\" \"sparkbench {}\"\n.SH NAME\nsparkbench \\- {}\n.SH SYNOPSIS\n.B "
      "sparkbench\n.I COMMAND\n[\\fIflags\\fR]\n.SH COMMANDS\n",
      kVersion, troff(program.get_description()));
  for (const CommandDoc& doc : command_docs()) {
    text += command_section(doc, *program.get_subcommand(doc.name));
  }
  return text +
         ".SH EXIT STATUS\n"
         "0: everything ran and was correct. 1: a result is incorrect, or a gate is broken. 2: "
         "usage, or nothing ran of what was named. 3: no such device, or no code for it. 4: a case "
         "failed to run. 5: an output could not be written. 130: interrupted.\n";
}

}  // namespace sparkbench
