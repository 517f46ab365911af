#include "harness/inspect/child_process.h"

#include <gtest/gtest.h>

#include <system_error>

#include "results/store/test_folder.h"

namespace sparkbench {
namespace {

TEST(ChildProcess, GivesBothOutputsAndTheExitStatus) {
  const ChildOutput child = run_child("/bin/sh", {"-c", "echo result; echo complaint >&2; exit 3"});
  EXPECT_EQ(child.out, "result\n");
  EXPECT_EQ(child.err, "complaint\n");
  EXPECT_EQ(child.exit_status, 3);
}

TEST(ChildProcess, TakesMoreThanAPipeHolds) {
  const ChildOutput child = run_child("/bin/sh", {"-c", "head -c 1000000 /dev/zero"});
  EXPECT_EQ(child.out.size(), 1000000u);
  EXPECT_EQ(child.exit_status, 0);
}

TEST(ChildProcess, ThatIsKilledSaysBySignal) {
  EXPECT_EQ(run_child("/bin/sh", {"-c", "kill -9 $$"}).exit_status, 128 + 9);
}

TEST(ChildProcess, ThatDoesNotExistThrows) {
  EXPECT_THROW(run_child("/nowhere/tool", {}), std::system_error);
}

TEST(ChildProcess, FindsToolsThatLieBesideIt) {
  const TemporaryFolder folder;
  const auto make = [&folder](const std::string& name, const std::string& text) {
    std::ofstream(folder.path() / name) << "#!/bin/sh\n" << text << '\n';
    std::filesystem::permissions(folder.path() / name, std::filesystem::perms::owner_all);
  };
  make("helper", "echo found");
  make("tool", "helper");
  EXPECT_EQ(run_child(folder.path() / "tool", {}).out, "found\n");
}

TEST(FindOnPath, FindsTheShellAndNothingElse) {
  EXPECT_EQ(find_on_path("sh").filename(), "sh");
  EXPECT_TRUE(find_on_path("no-such-tool-anywhere").empty());
}

}  // namespace
}  // namespace sparkbench
