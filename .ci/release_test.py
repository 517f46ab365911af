#!/usr/bin/env python3
"""`.ci/release` in a repository of its own, where a script stands for that of the wheels: what it
tags, and what it refuses."""

import pathlib
import shutil
import subprocess
import tempfile
import unittest

SCRIPT = pathlib.Path(__file__).resolve().parent / "release"
PROJECT = "project(sparkbench VERSION {} LANGUAGES CXX)\n"
# Where `broken` is, no wheel can be built.
WHEELS = "#!/bin/sh\nmkdir -p $1 && [ ! -e ../broken ] && touch $1/a.whl $1/b.whl\n"
NOTES = "sparkbench 1.2.3\n\n# Kernels\n- Faster.\n"


class ReleaseTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name) / "clone"
        (self.root / ".ci").mkdir(parents=True)
        shutil.copy(SCRIPT, self.root / ".ci")
        wheels = self.root / ".ci" / "wheels"
        wheels.write_text(WHEELS)
        wheels.chmod(0o755)
        (self.root / ".gitignore").write_text("/dist*/\n")
        self.notes = pathlib.Path(folder.name) / "notes.md"
        self.notes.write_text(NOTES)
        self.git("init", "-q")
        for key, value in (("name", "A"), ("email", "a@b"), ("useConfigOnly", "true")):
            self.git("config", f"user.{key}", value)
        self.commit("1.2.3", "Begin")

    def git(self, *words):
        return subprocess.run(["git", *words], cwd=self.root, check=True, text=True,
                              capture_output=True).stdout  # fmt: skip

    def commit(self, version, subject):
        (self.root / "CMakeLists.txt").write_text(PROJECT.format(version))
        self.git("add", "-A")
        self.git("commit", "-q", "--allow-empty", "-m", subject)

    def release(self, *words):
        return subprocess.run([self.root / ".ci" / "release", *words], text=True, capture_output=True)

    def assert_refused(self, words, what):
        ran = self.release(*words)
        self.assertEqual(ran.returncode, 2, ran.stdout)
        self.assertIn(what, ran.stderr)

    def test_tags_the_commit_with_the_notes(self):
        ran = self.release(self.notes)
        self.assertEqual(ran.returncode, 0, ran.stderr)
        self.assertIn("v1.2.3", ran.stdout)
        self.assertEqual(self.git("cat-file", "-t", "v1.2.3"), "tag\n")
        self.assertEqual(self.git("for-each-ref", "--format=%(contents)", "refs/tags/v1.2.3"),
                         NOTES + "\n")  # fmt: skip
        self.assertEqual(self.git("rev-parse", "v1.2.3^{}"), self.git("rev-parse", "HEAD"))

    def test_builds_the_wheels_of_the_version(self):
        self.release(self.notes)
        folder = self.root / "dist" / "v1.2.3"
        self.assertEqual(sorted(path.name for path in folder.iterdir()), ["a.whl", "b.whl"])

    def test_tags_nothing_whose_wheel_fails(self):
        broken = self.root.parent / "broken"
        broken.touch()
        self.assert_refused([self.notes], "a wheel has failed; v1.2.3 is not tagged")
        self.assertEqual(self.git("tag"), "")
        broken.unlink()
        self.assertEqual(self.release(self.notes).returncode, 0)

    def test_lists_what_changed_since_the_last_release(self):
        self.assertEqual(self.release().stdout, "Begin\n")
        self.release(self.notes)
        self.commit("1.2.4", "Take lengths")
        self.commit("1.2.4", "Take patterns")
        self.assertEqual(self.release().stdout, "Take lengths\nTake patterns\n")

    def test_refuses(self):
        empty = self.notes.with_name("empty.md")
        empty.write_text(" \n\n")
        self.assert_refused([empty], "is empty")
        self.assert_refused([self.notes.with_name("none.md")], "is no file")
        self.assert_refused([self.notes, "more"], "'more' is one argument too many")
        (self.root / "CMakeLists.txt").write_text(PROJECT.format("1.2.5"))
        self.assert_refused([self.notes], "not committed")
        self.commit("1.2.3", "Go back")
        self.release(self.notes)
        self.assert_refused([self.notes], "v1.2.3 is released already")
        self.commit("next", "Forget the version")
        self.assert_refused([self.notes], "VERSION MAJOR.MINOR.PATCH")


if __name__ == "__main__":
    unittest.main()
