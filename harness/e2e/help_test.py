#!/usr/bin/env python3
"""Help and completion: both from one table, completion really run by bash.

    help_test.py SPARKBENCH [SPARKBENCH_MODEL]
"""

import os
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = ""
MODEL = ""  # sparkbench-model, where it is built


def run(*words, **settings):
    return subprocess.run(words, capture_output=True, text=True, check=True, **settings).stdout


def plain(markdown):
    return re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", markdown).replace("`", "")


def documented():
    """{command: its summary in harness/README.md}"""
    text = (ROOT / "harness/README.md").read_text()
    table = text[text.index("| command | does |") :]
    rows = re.findall(r"^\| `([\w-]+)` \| (.*) \|$", table[: table.index("\n\n")], re.M)
    return {name: plain(summary) for name, summary in rows}


class Help(unittest.TestCase):
    def test_the_readmes_table_is_the_programs(self):
        text = run(PROGRAM, "--help")
        commands = re.split(r"\n(?:Subcommands|SUBCOMMANDS):\n", text)[1].split("\n\n")[0]
        listed = re.findall(r"^  (\S+)\s+(.*(?:\n {10,}.*)*)", commands, re.M)
        listed = {name: re.sub(r"\s+", " ", summary) for name, summary in listed}
        self.assertEqual(listed, documented())

    def check_examples(self, program, name, command):
        text = run(program, command, "--help")
        examples = text[text.index("Examples:") :].splitlines()[1:]
        self.assertTrue(examples, command)
        for line in examples:
            self.assertIn(f"{name} {command}", line)
            for flag in re.findall(r"(--[\w-]+)", line):
                self.assertRegex(text, rf"(?m)^  (-\w,)?{flag}\b", f"{command} has no {flag}")

    def test_every_command_has_examples_that_name_its_flags(self):
        for command in documented():
            self.check_examples(PROGRAM, "sparkbench", command)

    def test_the_models_commands_have_help(self):
        if not MODEL:
            self.skipTest("built without SPARKBENCH_MODEL")
        self.assertIn("`sparkbench-model COMMAND --help`", run(MODEL, "--help"))
        for command, columns, meant in (
            ("inspect", "registrs", "registers"),
            ("predict", "full_tle", "full_tile"),
        ):
            self.check_examples(MODEL, "sparkbench-model", command)
            result = subprocess.run(
                [MODEL, command, "--columns", columns], capture_output=True, text=True
            )
            self.assertEqual(result.returncode, 2)
            self.assertIn(f"did you mean '{meant}'?", result.stderr)

    def test_every_axis_has_its_default(self):
        text = run(PROGRAM, "sweep", "--help")
        for flag, initial in (("--headdim", "64,128"), ("--pass", "fwd"), ("--mask", "full,causal")):
            line = re.search(rf"  {flag} .*(?:\n {{10,}}.*)*", text).group(0)
            self.assertIn(f"[{initial}]", line)

    def test_one_problem_has_the_first_of_a_default(self):
        for command in ("run", "advise"):
            line = re.search(r"  --headdim .*(?:\n {10,}.*)*", run(PROGRAM, command, "--help")).group(0)
            self.assertIn("[64]", line)

    def test_it_fits_the_terminal(self):
        for command in documented():
            text = run(PROGRAM, command, "--help", env=dict(os.environ, COLUMNS="80"))
            for line in text[: text.index("Examples:")].splitlines():
                is_one_word = " " not in line.strip()
                if not is_one_word and not re.match(r"Usage|  -|  \S+ [A-Z]", line):
                    self.assertLessEqual(len(line), 80, line)

    def test_a_name_that_is_almost_right_is_asked_after(self):
        for words, meant in (
            (["swep"], "sweep"),
            (["sweep", "--sequlen", "64"], "--seqlen"),
            (["sweep", "--cache", "cod"], "cold"),
            (["sweep", "--preset", "quik"], "quick"),
            (["sweep", "--kernel", "volta-fp32ac"], "volta-fp32acc"),
            (["sweep", "--device", "emulated-v10"], "emulated-v100"),
            (["sweep", "--pass", "bwdd"], "bwd"),
            (["diff", "a", "b", "--fail-on", "sloow"], "slow"),
            (["merge", "a", "--allow", "buld"], "build"),
            (["report", "a", "--columns", "tme_ms"], "time_ms"),
            (["diff", "a", "b", "--columns", "verdit"], "verdict"),
        ):
            result = subprocess.run([PROGRAM, *words], capture_output=True, text=True)
            self.assertEqual(result.returncode, 2, words)
            self.assertIn(f"did you mean '{meant}'?", result.stderr, words)

    def test_an_unknown_shell_is_refused(self):
        result = subprocess.run([PROGRAM, "completion", "zsh"], capture_output=True, text=True)
        self.assertEqual(result.returncode, 2)
        self.assertRegex(result.stderr, "unknown 'zsh'.*; allowed: bash")


# (the words so far, some of the offered words, words that must not be offered)
COMPLETIONS = (
    (["sw"], ["sweep"], ["sweeps"]),
    (["re"], ["report"], ["sweep"]),
    (["sweep", "--pre"], ["--preset"], ["--csv"]),
    (["report", "--wh"], ["--where"], ["--shard"]),
    (["sweep", "--preset", "paper-f"], ["paper-forward"], ["quick"]),
    (["sweep", "--kernel", "volta-fp32"], ["volta-fp32acc"], ["unfused-fp16"]),
    (["sweep", "--pass", "b"], ["bwd"], ["fwd"]),
    (["sweep", "--cache", "h"], ["hot"], ["cold"]),
    (["report", "run", "--columns", "rel_l"], ["rel_l1", "rel_l2"], ["kernel"]),
    (["diff", "a", "b", "--columns", "ver"], ["verdict"], ["kernel"]),
    (["report", "run", "--by", "head_"], ["head_dim"], ["mask"]),
    (["encoder", "--rest", "f"], ["fused"], ["unfused"]),
    (["completion", "b"], ["bash"], ["zsh"]),
)


class Completion(unittest.TestCase):
    def test_bash_completes(self):
        script = run(PROGRAM, "completion", "bash")
        for words, wanted, unwanted in COMPLETIONS:
            line = " ".join(map(shlex.quote, ["sparkbench", *words]))
            offered = run(
                "bash", "--norc", "-c",
                f"{script}\nCOMP_WORDS=({line}); COMP_CWORD={len(words)}; _sparkbench\n"
                'printf "%s\\n" "${COMPREPLY[@]}"',
            ).split()
            for word in wanted:
                self.assertIn(word, offered, words)
            for word in unwanted:
                self.assertNotIn(word, offered, words)

    def test_bash_completes_files_elsewhere(self):
        script = run(PROGRAM, "completion", "bash")
        lines = (
            ("report to", "today.json"),
            ("sweep --kernel ./mi", "./mine.so"),
            ("list --kernel mi", "mine.so"),
        )
        for line, wanted in lines:
            with tempfile.TemporaryDirectory() as folder:
                for name in ("today.json", "mine.so"):
                    (pathlib.Path(folder) / name).touch()
                offered = run(
                    "bash", "--norc", "-c",
                    f"{script}\nCOMP_WORDS=(sparkbench {line}); COMP_CWORD={len(line.split())}\n"
                    '_sparkbench\nprintf "%s\\n" "${COMPREPLY[@]}"', cwd=folder,
                )
            self.assertEqual(offered.split(), [wanted])


if __name__ == "__main__":
    PROGRAM, *others = sys.argv[1:]
    MODEL = others[0] if others else ""
    unittest.main(argv=sys.argv[:1])
