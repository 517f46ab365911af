#include "harness/model/sass/child_process.h"

#include <gtest/gtest.h>

#include <cstdlib>

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

TEST(FindOnPath, TakesNoProgramOfTheCurrentFolderUnasked) {
  const TemporaryFolder folder;
  std::ofstream(folder.path() / "planted") << "#!/bin/sh\n";
  std::filesystem::permissions(folder.path() / "planted", std::filesystem::perms::owner_all);
  const std::string path = std::getenv("PATH");
  const auto old_folder = std::filesystem::current_path();
  std::filesystem::current_path(folder.path());
  setenv("PATH", (":" + path).c_str(), 1);
  EXPECT_TRUE(find_on_path("planted").empty());
  setenv("PATH", (folder.path().string() + ":" + path).c_str(), 1);
  EXPECT_FALSE(find_on_path("planted").empty());
  setenv("PATH", path.c_str(), 1);
  std::filesystem::current_path(old_folder);
}

}  // namespace
}  // namespace sparkbench
