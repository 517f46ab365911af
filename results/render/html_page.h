// A run as one page for a browser: a table with sorting and filters, and figures, in a single file.
#pragma once

#include <string>
#include <string_view>

#include "results/record/run_record.h"

namespace sparkbench {

/// page.html with the run as JSON. Text from outside is inert. The page stores its sorting and
/// filters after the `#` of its address.
std::string format_html_page(const RunRecord& run);

/// Escaped as the text of an element.
std::string html_text(std::string_view text);

}  // namespace sparkbench
