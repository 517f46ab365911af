// Invalid input is rejected in one line that says what, why and what is allowed, before anything is
// written.
#include <gtest/gtest.h>

#include <ostream>

#include "harness/e2e/test_program.h"

namespace sparkbench {
namespace {

struct Refusal {
  const char* name;
  const char* arguments;
  int exit_code;
  const char* says;  // and
  const char* hints;
};

void PrintTo(const Refusal& refusal, std::ostream* out) { *out << refusal.arguments; }

class BadInput : public testing::TestWithParam<Refusal> {};

TEST_P(BadInput, IsRefusedInOneLine) {
  const ProgramResult result = run_sparkbench(GetParam().arguments);
  expect_refused(result, GetParam().exit_code, GetParam().says);
  expect_refused(result, GetParam().exit_code, GetParam().hints);
}

std::string name_of_refusal(const testing::TestParamInfo<Refusal>& info) { return info.param.name; }

INSTANTIATE_TEST_SUITE_P(
    Names, BadInput,
    testing::Values(
        Refusal{"Command", "swep", 2, "unknown 'swep'", "did you mean 'sweep'"},
        Refusal{"NoCommand", "", 2, "subcommand", "--help"},
        Refusal{"AxisFlag", "sweep --sequlen 64", 2, "unknown '--sequlen'",
                "did you mean '--seqlen'"},
        Refusal{"StrayArgument", "sweep 64", 2, "unknown '64': a value stands after its flag",
                "; see sparkbench sweep --help"},
        Refusal{"FlagBeforeCommand", "--seqlen 64 sweep", 2, "unknown '--seqlen'",
                "see sparkbench --help"},
        Refusal{"SecondCommand", "sweep list", 2, "list", "see sparkbench sweep --help"},
        Refusal{"Kernel", "sweep --device emulated-v100 --kernel volta-fp32ac", 2,
                "--kernel: unknown 'volta-fp32ac'", "did you mean 'volta-fp32acc'"},
        Refusal{"GlobWithoutKernel", "sweep --device emulated-v100 --kernel flash-*", 2,
                "--kernel: unknown 'flash-*'", "allowed: unfused-fp16, volta-"},
        Refusal{"Preset", "sweep --preset quik", 2, "--preset: unknown 'quik'",
                "did you mean 'quick'"},
        Refusal{"Device", "sweep --device emulated-v10", 2, "--device: unknown 'emulated-v10'",
                "did you mean 'emulated-v100'"},
        Refusal{"Mask", "sweep --mask windw:128", 2, "--mask: 'windw:128' is no mask",
                "did you mean 'window:128'"},
        Refusal{"MaskInAUnion", "sweep --mask sink:4+causal-stided:4/full", 2,
                "'causal-stided:4' of 'sink:4+causal-stided:4/full' is no mask",
                "did you mean 'causal-strided:4'"},
        Refusal{"MaskOfAHead", "mask --seqlen 64 window:8/ful", 2,
                "MASK: 'ful' of 'window:8/ful' is no mask", "did you mean 'full'"},
        Refusal{"Boolean", "sweep --causal ture", 2, "--causal: unknown 'ture'",
                "did you mean 'true'"},
        Refusal{"Auto", "sweep --seqlen-k atuo", 2, "--seqlen-k: 'atuo' is not a whole number",
                "did you mean 'auto'"},
        Refusal{"Lengths", "sweep --lengths unifrom:1:2k", 2, "'unifrom:1:2k' says no lengths",
                "did you mean 'uniform:1:2k'"},
        Refusal{"Activation", "encoder --activation gelu-tahn", 2,
                "--activation: unknown 'gelu-tahn'", "did you mean 'gelu-tanh'"},
        Refusal{"Norm", "encoder --norm pots", 2, "--norm: unknown 'pots'", "did you mean 'post'"},
        Refusal{"LayerPreset", "encoder --preset quick-encodr", 2,
                "--preset: unknown 'quick-encodr'", "did you mean 'quick-encoder'"},
        Refusal{"Column", "sweep --columns kernel,tme_ms", 2, "--columns: unknown 'tme_ms'",
                "did you mean 'time_ms'"},
        Refusal{"AxisOfWhere", "sweep --where maskk=full", 2, "--where: unknown 'maskk'",
                "did you mean 'mask'"},
        Refusal{"AxisOfBy", "sweep --by seqln", 2, "--by: unknown 'seqln'",
                "did you mean 'seqlen'"},
        Refusal{"CacheSlip", "sweep --cache clod", 2, "--cache: unknown 'clod'",
                "did you mean 'cold'"},
        Refusal{"DeviceOfInfo", "info --device emulated-h10", 2, "--device: unknown 'emulated-h10'",
                "did you mean 'emulated-h100'"},
        Refusal{"AbsentGpu", "sweep --device cuda:77", 3, "no cuda:77", "; this "},
        Refusal{"GpuWithoutNumber", "info --device cuda:first", 3, "no cuda:first", "; this "},
        Refusal{"Input", "sweep --input gaussian", 2, "--input: unknown 'gaussian'",
                "allowed: normal, uniform, outliers"},
        Refusal{"Cache", "sweep --cache warm", 2, "--cache", "cold"},
        Refusal{"Pass", "sweep --pass forward", 2, "--pass: unknown 'forward'", "allowed: fwd"}),
    name_of_refusal);

/// Habits from other programs, and half-typed names.
INSTANTIATE_TEST_SUITE_P(
    Habits, BadInput,
    testing::Values(
        Refusal{"Kernels", "sweep --device emulated-v100 --kernel volta", 2, "unknown 'volta'",
                "did you mean 'volta-fp16acc' or 'volta-fp32acc'?"},
        Refusal{"Accumulator", "sweep --device emulated-v100 --kernel fp16acc", 2,
                "unknown 'fp16acc'", "did you mean 'volta-fp16acc'"},
        Refusal{"Card", "sweep --device v100", 2, "unknown 'v100'",
                "did you mean 'emulated-v100'?"},
        Refusal{"Emulated", "sweep --device emulated", 2, "unknown 'emulated'",
                "did you mean 'emulated-v100' or "},
        Refusal{"Paper", "sweep --preset paper", 2, "unknown 'paper'",
                "did you mean 'paper-forward' or 'paper-backward'?"},
        Refusal{"Backward", "sweep --pass backward", 2, "unknown 'backward'",
                "did you mean 'bwd'?"},
        Refusal{"Sliding", "sweep --mask sliding:128", 2, "'sliding:128' is no mask",
                "did you mean 'window:128'?"},
        Refusal{"Type", "encoder --dtype bf16", 2,
                "unknown '--dtype': sweep, run, judge and accuracy have --dtype",
                "; see sparkbench encoder --help"},
        Refusal{"Tensors", "sweep --tensors x", 2, "unknown '--tensors'",
                "; encoder, accuracy, advise and run take it; see sparkbench sweep --help"},
        Refusal{"KernelOfReport", "report run --kernel volta-*", 2, "report: unknown '--kernel'",
                "did you mean '--where kernel=VALUE'?"},
        Refusal{"HeaddimOfReport", "report run --headdim 64", 2, "report: unknown '--headdim'",
                "did you mean '--where headdim=VALUE'?"},
        Refusal{"HeadsOfEncoder", "encoder --heads 4", 2, "encoder: unknown '--heads'",
                "did you mean '--hidden'?"},
        Refusal{"HeadSize", "sweep --head-size 64", 2, "unknown '--head-size'",
                "did you mean '--headdim'?"},
        Refusal{"NoRun", "report", 2, "report: RUN is missing", "; see sparkbench report --help"},
        Refusal{"NoValue", "sweep --headdim", 2, "--headdim: 1 required LIST missing",
                "; see sparkbench sweep --help"}),
    name_of_refusal);

INSTANTIATE_TEST_SUITE_P(
    Lists, BadInput,
    testing::Values(
        Refusal{"EmptyItem", "sweep --seqlen 64,,128", 2, "--seqlen: '64,,128' has an empty item",
                "separated by single commas"},
        Refusal{"Word", "sweep --seqlen long", 2, "--seqlen: 'long' is not a whole number",
                "allowed"},
        Refusal{"UnknownSuffix", "sweep --seqlen 64g", 2, "'64g' is not a whole number",
                "suffix k = 1024"},
        Refusal{"Fraction", "sweep --headdim 64.5", 2, "--headdim: '64.5' is not a whole number",
                "allowed"},
        Refusal{"RangeWithoutStep", "sweep --seqlen 64:512", 2,
                "'64:512' is a range without a step", "first:last:*factor"},
        Refusal{"RangeBackwards", "sweep --seqlen 512:64:*2", 2,
                "'512:64:*2' runs from the larger to the smaller", "allowed"},
        Refusal{"RangeWithoutEnd", "sweep --seqlen 64:512:*1", 2, "would never end", "allowed"},
        Refusal{"RangeByDivision", "sweep --seqlen 64:512:/2", 2, "neither * nor +", "allowed"},
        Refusal{"Boolean", "sweep --causal maybe", 2, "--causal: unknown 'maybe'",
                "true, false, both"},
        Refusal{"ListOfBatches", "sweep --batch 1,2", 2, "--batch: '1,2' is a list",
                "one whole number"}),
    name_of_refusal);

INSTANTIATE_TEST_SUITE_P(
    Values, BadInput,
    testing::Values(
        Refusal{"SeqlenZero", "sweep --seqlen 0", 2, "--seqlen: '0' is below 1", "from 1 to 16m"},
        Refusal{"SeqlenNegative", "sweep --seqlen -5", 2, "--seqlen: '-5' is below 1", "allowed"},
        Refusal{"SeqlenAbsurd", "sweep --seqlen 99999999999999999999", 2, "is too large",
                "from 1 to 16m"},
        Refusal{"SeqlenAboveTheMost", "sweep --seqlen-k 17m", 2, "--seqlen-k: '17m' is too large",
                "from 1 to 16m"},
        Refusal{"HeadsZero", "sweep --heads 0", 2, "--heads: '0' is below 1", "allowed"},
        Refusal{"DropoutOne", "sweep --dropout 1", 2, "--dropout: '1' is outside [0, 1)",
                "0 <= p < 1"},
        Refusal{"DropoutNegative", "sweep --dropout -0.1", 2, "'-0.1' is outside [0, 1)",
                "0 <= p < 1"},
        Refusal{"DropoutNan", "sweep --dropout nan", 2, "'nan' is outside [0, 1)", "0 <= p < 1"},
        Refusal{"DropoutInfinite", "sweep --dropout inf", 2, "'inf' is outside [0, 1)",
                "0 <= p < 1"},
        Refusal{"DropoutWord", "sweep --dropout half", 2, "'half' is not a number", "0 <= p < 1"},
        Refusal{"SeedNegative", "sweep --seed -1", 2, "--seed", "'-1' is not a whole number"},
        Refusal{"SeedTooLarge", "sweep --seed 18446744073709551616", 2, "--seed",
                "from 0 to 18446744073709551615"},
        Refusal{"SeedWithLeadingZero", "sweep --seed 010", 2, "--seed", "in decimal digits"},
        Refusal{"SeedHexadecimal", "sweep --seed 0x10", 2, "--seed", "in decimal digits"},
        Refusal{"SamplesOctal", "sweep --min-samples 010", 2, "--min-samples", "decimal digits"},
        Refusal{"TooManyCases",
                "sweep --device emulated-v100 --seqlen 1:1024:+1 --seqlen-k "
                "1:1024:+1",
                2, "1024 --seqlen, 1024 --seqlen-k", "allowed: at most 32768"},
        Refusal{"Worker", "sweep --worker emulated-v100", 2, "--worker", "starts its workers"},
        Refusal{"SalvageOfNothing", "sweep --salvage", 2, "--salvage", "needs --resume"},
        Refusal{"TagInDryRun", "sweep --dry-run --tag night", 2, "--tag: 'night'", "KEY=VALUE"},
        Refusal{"OneSample", "sweep --min-samples 1", 2, "--min-samples", "2"},
        Refusal{"NoiseNan", "sweep --max-noise nan", 2, "--max-noise", "nan"},
        Refusal{"DutyCycleZero", "sweep --duty-cycle 0", 2, "--duty-cycle", "0.01"},
        Refusal{"ToleranceNan", "sweep --tolerance-ratio nan", 2, "--tolerance-ratio", "nan"},
        Refusal{"Tag", "sweep --tag night", 2, "--tag: 'night'", "KEY=VALUE"},
        Refusal{"AccuracyTimed", "accuracy --min-samples 30", 2, "--min-samples",
                "accuracy does not time"},
        Refusal{"AccuracyProfiled", "accuracy --profile", 2, "--profile", "verify"},
        Refusal{"AccuracyUnverified", "accuracy --no-verify", 2, "--no-verify", "verify"},
        Refusal{"RunOfManyProblems", "run --device emulated-v100 --seqlen 64,128 --causal both", 2,
                "this command takes one problem, the flags describe 4",
                "--seqlen (64, 128), --mask (full, causal)"}),
    name_of_refusal);

INSTANTIATE_TEST_SUITE_P(
    Vectors, BadInput,
    testing::Values(
        Refusal{"Profile", "check-arithmetic --profile volt --vectors v.csv", 2,
                "--profile: unknown 'volt'", "did you mean 'volta'"},
        Refusal{"NoProfile", "check-arithmetic --vectors v.csv", 2, "--profile: needed",
                "--device"},
        Refusal{"NoVectors", "check-arithmetic --profile volta", 2, "--vectors", "required"},
        Refusal{"MissingFile", "check-arithmetic --profile volta --vectors /nowhere/v.csv", 2,
                "/nowhere/v.csv cannot be read", "No such file or directory"},
        Refusal{"DeviceFile", "check-arithmetic --profile volta --vectors /dev/zero", 2,
                "/dev/zero is no regular file", "allowed: CSV files"},
        Refusal{"Directory", "check-arithmetic --profile volta --vectors /", 2, "/ is a folder",
                "allowed: CSV files"},
        Refusal{"EmulatedDevice", "check-arithmetic --device emulated-v100 --vectors v.csv", 2,
                "'emulated-v100' is not a GPU", "allowed: cuda:N"}),
    name_of_refusal);

TEST(BadVectors, AreRefusedWithFileLineAndColumn) {
  const TemporaryFolder folder;
  std::ofstream(folder.path() / "v.csv")
      << "a0,a1,a2,a3,b0,b1,b2,b3,c_f32,d_f32,c_f16,d_f16\n1,2,oops\n";
  expect_refused(
      run_sparkbench("check-arithmetic --profile volta --vectors " + path_in(folder, "v.csv")), 2,
      path_in(folder, "v.csv") + ": line 2, column a3");
}

ProgramResult run_words(const std::vector<std::string>& argv) {
  std::ostringstream out, err;
  const int exit_code = run_program(argv, out, err);
  return {exit_code, out.str(), err.str()};
}

/// A long input is not repeated in full, and the allowed values come at the end.
TEST(LongInput, IsNotEchoedWhole) {
  const TemporaryFolder folder;
  const std::string path = path_in(folder, "file"), text(100'000, 'x');
  std::ofstream(path) << text << " = 1\n";
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{"sparkbench", "sweep", "--mask", "window:" + text},
        {"sparkbench", "sweep", "--mask", "where:k<=" + text},
        {"sparkbench", "sweep", "--lengths", text},
        {"sparkbench", "sweep", "--lengths", "file:" + path},
        {"sparkbench", "sweep", "--config", path},
        {"sparkbench", "sweep", "--" + text},
        {"sparkbench", "sweep", "--min-samples", text},
        {"sparkbench", "sweep", "--seqlen", "9", "--mask", "zones:" + path}}) {
    const ProgramResult result = run_words(words);
    expect_refused(result, 2, " bytes left out) ... ");
    EXPECT_LT(result.err.size(), 2300u);
  }
}

TEST(EmptyValue, IsRefusedForEveryFlag) {
  for (const std::string flag : {"--out", "--json", "--csv", "--md", "--save-outputs", "--tensors",
                                 "--seqlen", "--tag", "--config", "--resume", "--device"}) {
    const std::string says = flag + ": '' is empty; give a value, or leave it out";
    expect_refused(run_words({"sparkbench", "run", flag, ""}), 2, says);
    expect_refused(run_words({"sparkbench", "run", flag + "=", "-q"}), 2, says);
  }
  expect_refused(run_words({"sparkbench", "report", ""}), 2, "an argument: '' is empty");
}

TEST(Arguments, ThatNoRecordCanHoldAreRefused) {
  expect_refused(run_words({"sparkbench", "sweep", "--json", "n\xff.json"}), 2, "is not UTF-8");
  expect_refused(run_words({"sparkbench", "sweep", "--tag", "a=\xff"}), 2, "is not UTF-8");
}

}  // namespace
}  // namespace sparkbench
