// --config: flags from a file; and lists of devices.
#include <gtest/gtest.h>

#include <fstream>

#include "harness/e2e/test_program.h"

namespace sparkbench {
namespace {

void write(const TemporaryFolder& folder, const std::string& text) {
  std::ofstream(folder.path() / "sweep.toml") << text;
}

ProgramResult dry_run(const TemporaryFolder& folder, const std::string& flags = "") {
  return run_sparkbench("sweep --config " + path_in(folder, "sweep.toml") + " --dry-run " + flags);
}

const std::string kConfig =
    "# a sweep\n"
    "device = \"emulated-v100\"\n"
    "kernel = \"volta-fp32acc\"\n"
    "heads = 1\n"
    "batch = 1\n"
    "dropout = 0\n"
    "\n"
    "[sweep]\n"
    "seqlen = [33, 65]\n"
    "causal = true\n"
    "headdim = 64\n"
    "\n"
    "[accuracy]\n"
    "seqlen = 7\n";

TEST(Config, GivesFlagsAtTopAndInCommandsTables) {
  const TemporaryFolder folder;
  write(folder, kConfig);
  const ProgramResult result = dry_run(folder);
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_TRUE(contains(result.out, "volta-fp32acc/fwd/b1/h1/*/*/d64/causal/p0")) << result.out;
  EXPECT_TRUE(contains(result.out, "sq33/sk33")) << result.out;
  EXPECT_TRUE(contains(result.out, "2 cases")) << result.out;
  const ProgramResult accuracy = run_sparkbench(
      "accuracy --dry-run --headdim 64 --causal true --config=" + path_in(folder, "sweep.toml"));
  EXPECT_TRUE(contains(accuracy.out, "/sq7/")) << accuracy.out << accuracy.err;
}

TEST(Config, GivesWayToTheCommandLine) {
  const TemporaryFolder folder;
  write(folder, kConfig);
  const ProgramResult result = dry_run(folder, "--seqlen 129 --causal false");
  EXPECT_TRUE(contains(result.out, "/sq129/sk129/d64/full/")) << result.out;
  EXPECT_TRUE(contains(result.out, "1 cases")) << result.out;
}

TEST(Config, SetsFlagsWithoutValuesAndRepeatedOnes) {
  const TemporaryFolder folder;
  write(folder, "quiet = true\ntag = [\"night=1\", \"node=a\"]\njson = \"-\"\nmax-noise = 0.25\n" +
                    kConfig);
  const ProgramResult result =
      run_sparkbench("sweep --seqlen 9 --config " + path_in(folder, "sweep.toml"));
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(result.err, "");
  EXPECT_TRUE(contains(result.out, "\"node\": \"a\"")) << result.out;
  EXPECT_TRUE(contains(result.out, "\"night\": \"1\""));
  for (const std::string flag : {"--seqlen=33,65", "--max-noise=0.25"}) {
    EXPECT_TRUE(contains(result.out, flag)) << "argv tells what the file said";
  }
}

TEST(Config, NamesTheKeyThatIsNoFlag) {
  const TemporaryFolder folder;
  for (const std::string wrong : {"seqlne = 5\n", "worker = \"x\"\n", "[sweep]\nseq_len = 5\n"}) {
    write(folder, wrong);
    const ProgramResult result = dry_run(folder);
    const bool is_in_table = wrong.starts_with('[');
    const std::string line = wrong.substr(is_in_table ? 8 : 0);
    expect_refused(result, 2,
                   std::string("sweep.toml, line ") + (is_in_table ? "2" : "1") +
                       ": key: unknown '" + line.substr(0, line.find(' ')) + "'");
  }
  write(folder, "seqlne = 5\n");
  expect_refused(dry_run(folder), 2, "did you mean 'seqlen'");
}

TEST(Config, NamesTheTableOfNoCommand) {
  const TemporaryFolder folder;
  write(folder, "[swep]\nseqlen = 5\n");
  expect_refused(dry_run(folder), 2,
                 "sweep.toml, line 1: table: unknown 'swep', did you mean 'sweep'");
}

TEST(Config, NamesTheFileThatCannotBeRead) {
  const TemporaryFolder folder;
  expect_refused(dry_run(folder), 2, "sweep.toml' cannot be read (No such file");
}

TEST(DeviceList, RefusesOneDeviceTwice) {
  expect_refused(run_sparkbench("sweep --device cuda:0,cuda:0"), 2, "cuda:0 is named twice");
  expect_refused(run_sparkbench("sweep --device auto,cuda:0"), 2, "auto is one device");
  expect_refused(run_sparkbench("sweep --device ,"), 2, "--device");
}

TEST(Config, IsCheckedAsTheCommandLineIs) {
  const TemporaryFolder folder;
  write(folder, "seqlen = \"long\"\ndevice = \"emulated-v100\"\n");
  expect_refused(dry_run(folder), 2, "--seqlen: 'long' is not a whole number");
}

TEST(Config, SaysNothingOfWhatToResume) {
  const TemporaryFolder folder;
  write(folder, "resume = \"run\"\n");
  expect_refused(dry_run(folder), 2, "key: 'resume' is a flag of the command line alone");
}

TEST(Config, IsAFileAndNotEndless) {
  const TemporaryFolder folder;
  expect_refused(run_sparkbench("sweep --dry-run --config " + folder.path().string()), 2,
                 "is a folder");
  expect_refused(run_sparkbench("sweep --dry-run --config /dev/zero"), 2, "is no regular file");
}

TEST(Config, IsTomlAndHasAKeyOnce) {
  const TemporaryFolder folder;
  for (const auto& [text, says] : std::vector<std::pair<std::string, std::string>>{
           {"seqlen = 5\nseqlen = 6\n", "cannot redefine existing integer 'seqlen'"},
           {"seqlen = 5\n\"seq\\u006cen\" = 6\n", "line 2: is not TOML: "},
           {kConfig + "[sweep]\nquiet = true\n", "cannot redefine existing table 'sweep'"},
           {"seqlen = [5, 6\n", "sweep.toml, line 1: is not TOML: "},
           {"pass = fwd\n", "sweep.toml, line 1: is not TOML: "}}) {
    write(folder, text);
    expect_refused(dry_run(folder), 2, says);
  }
}

TEST(Config, RefusesValuesThatNoFlagTakes) {
  const TemporaryFolder folder;
  for (const std::string value : {"1979-05-27", "{x = 1}", "[[5]]"}) {
    write(folder, "heads = 1\n[sweep]\nseqlen = " + value + "\n");
    expect_refused(dry_run(folder), 2,
                   "sweep.toml, line 3: key 'seqlen' has a value that no flag takes; allowed: a "
                   "string, a number, true, false, or a list of these");
  }
}

TEST(Config, GivesNoEmptyValue) {
  const TemporaryFolder folder;
  write(folder, "out = \"\"\n");
  expect_refused(dry_run(folder), 2, "--out: '' is empty");
}

}  // namespace
}  // namespace sparkbench
