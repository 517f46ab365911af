#include "harness/cli/options/table_options.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <sstream>

#include "harness/e2e/test_program.h"
#include "sweeps/usage_error.h"

namespace sparkbench {
namespace {

/// Restores COLUMNS after the test.
class Columns {
 public:
  explicit Columns(const char* value) {
    if (const char* const before = std::getenv("COLUMNS")) before_ = before;
    value == nullptr ? ::unsetenv("COLUMNS") : ::setenv("COLUMNS", value, 1);
  }
  ~Columns() { before_ ? ::setenv("COLUMNS", before_->c_str(), 1) : ::unsetenv("COLUMNS"); }
  Columns(const Columns&) = delete;
  Columns& operator=(const Columns&) = delete;

 private:
  std::optional<std::string> before_;
};

TEST(TableView, IsOfAPipesWidthAndWithoutColour) {
  const Columns unset(nullptr);
  const std::ostringstream pipe;
  const TableView view = table_view({}, pipe);
  EXPECT_EQ(view.width, 120);
  EXPECT_FALSE(view.wraps_text);
  EXPECT_FALSE(view.has_color);
}

TEST(TableView, IsAsWideAsSomebodySays) {
  const Columns set("72");
  const std::ostringstream pipe;
  EXPECT_EQ(table_view({}, pipe).width, 72);
  EXPECT_TRUE(table_view({}, pipe).wraps_text);
  EXPECT_EQ(table_view({.width = 99}, pipe).width, 99);
}

TEST(TableView, DoesNotHearWhatIsNoWidth) {
  const std::ostringstream pipe;
  for (const char* const value : {"", "0", "-80", "eighty", "80x", "99999999999"}) {
    const Columns set(value);
    EXPECT_EQ(table_view({}, pipe).width, 120) << value;
  }
}

TEST(TableFlags, AreRefusedBeforeAnythingRuns) {
  const std::string sweep = "sweep --device emulated-v100 ";
  expect_refused(
      run_sparkbench(sweep + "--columns kernel,tme_ms"), 2,
      "--columns: unknown 'tme_ms', did you mean 'time_ms'?; allowed: kernel, model, pass,");
  expect_refused(run_sparkbench(sweep + "--by maskk"), 2,
                 "--by: unknown 'maskk', did you mean 'mask'?; allowed: kernel, pass,");
  expect_refused(run_sparkbench(sweep + "--where causal"), 2,
                 "--where: 'causal' is not AXIS=VALUE; allowed axes: kernel, pass,");
  for (const std::string width : {"8", "wide", "80.5", "-80", "100000"}) {
    expect_refused(run_sparkbench(sweep + "--width=" + width), 2,
                   "--width: '" + width + "' is not a whole number from 20 to 10000");
  }
  expect_refused(run_sparkbench("accuracy --columns kernel"), 2, "'--columns'");
  expect_refused(run_sparkbench("run --by mask"), 2, "'--by'");
}

TEST(TableFlags, NameEveryColumnAndAxisInHelp) {
  const std::string help = run_sparkbench("report --help").out;
  for (const std::string name : {"time_ms", "error_over_unfused", "head_dim", "all", "status"}) {
    EXPECT_TRUE(contains(help, name)) << name << help;
  }
}

}  // namespace
}  // namespace sparkbench
