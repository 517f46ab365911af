#!/usr/bin/env python3
"""Damages runs in ways that faults_study.py does not, and gives them to every command that reads
runs.

    faults_damage.py build/harness/sparkbench         # every kind
    faults_damage.py build/harness/sparkbench 9       # every ninth, as in CTest

Each kind damages one file of a whole run: run.json, cases.jsonl, or a file of --json. `report`,
`report --salvage`, `merge`, `diff`, `sweep --resume` and `--salvage` must end by themselves with
a known exit status and a line that names the file. None may output a case that was not measured.
"""

import json
import os
import resource
import shutil
import sys
import tempfile

from faults_tools import Study

SWEEP = ["sweep", "--device", "emulated-v100", "--headdim", "64", "--causal", "false", "--dropout",
         "0", "--batch", "1", "--heads", "1", "--kernel", "volta-fp32acc,unfused-fp16", "--seqlen",
         "32,33", "-q"]
MEMORY_BYTES = 8 << 30  # limit on a command's address space
VOLATILE = ("elapsed_s", "row_hash", "provenance", "position")


def in_place(change):
    """Damages a file's bytes."""
    return lambda path: path.write_bytes(change(path.read_bytes()))


def replaced(make):
    """Replaces the file by something else."""
    def damage(path):
        path.unlink()
        make(path)
    return damage


def forged(change):
    """Changes the meaning: of the document, or of the journal's first row."""
    def damage(path):
        lines = path.read_text().split("\n") if path.suffix == ".jsonl" else [path.read_text()]
        document = json.loads(lines[0])
        change(document)
        lines[0] = json.dumps(document)
        path.write_text("\n".join(lines))
    return damage


def case_of(document):
    return document["cases"][0] if "cases" in document else document


def set_field(*names, to):
    def change(document):
        record = case_of(document)
        for name in names[:-1]:
            record = record[name]
        record[names[-1]] = to
    return forged(change)


def text_of(document, old, new):
    return document.replace(old.encode(), new.encode(), 1)


def sparse(path):
    with open(path, "wb") as file:
        file.truncate(2 << 30)


def sparse_tail(path):
    with open(path, "r+b") as file:
        file.truncate(2 << 30)


def doubled_key(data):
    """Duplicates the first id, with another one's value last."""
    at = data.index(b'"id"')
    end = data.index(b",", at)
    return data[:end] + b', "id": "volta-fp16acc/other"' + data[end:]


def swapped_halves(data):
    lines = data.split(b"\n")
    middle = len(lines) // 2
    return b"\n".join(lines[middle:-1] + lines[:middle] + lines[-1:])


def cut_lines(data):
    """Replaces every line's second half by the next line's."""
    lines = data.split(b"\n")
    halves = [line[: len(line) // 2] for line in lines]
    return b"\n".join(a + b[len(b) // 2:] for a, b in zip(halves, lines[1:] + lines[:1]))


DEEP = 100_000
DAMAGES = {
    # bytes
    "empty": in_place(lambda data: b""),
    "one newline": in_place(lambda data: b"\n"),
    "NULs alone": in_place(lambda data: bytes(4096)),
    "NUL in the middle": in_place(lambda data: data[:99] + b"\0" + data[99:]),
    "NULs in a block's place": in_place(lambda data: data[:512] + bytes(512) + data[1024:]),
    "NULs behind": in_place(lambda data: data + bytes(4096)),
    "byte order mark": in_place(lambda data: b"\xef\xbb\xbf" + data),
    "UTF-16": in_place(lambda data: data.decode().encode("utf-16")),
    "CRLF": in_place(lambda data: data.replace(b"\n", b"\r\n")),
    "CR": in_place(lambda data: data.replace(b"\n", b"\r")),
    "not UTF-8": in_place(lambda data: text_of(data, "unfused", "unfus").replace(
        b"unfus", b"unfus\xff\xfe", 1)),
    "overlong UTF-8": in_place(lambda data: data.replace(b"/fwd", b"\xc0\xaffwd", 1)),
    "lone surrogate": in_place(lambda data: text_of(data, "fwd", "\\ud800")),
    "escape sequence": in_place(lambda data: text_of(data, "fwd", "\\u001b[2J")),
    "half": in_place(lambda data: data[: len(data) // 2]),
    "last byte gone": in_place(lambda data: data[:-1]),
    "last two bytes gone": in_place(lambda data: data[:-2]),
    "twice": in_place(lambda data: data + data),
    "halves swapped": in_place(swapped_halves),
    "lines cut": in_place(cut_lines),
    "a comment": in_place(lambda data: b"// measured on monday\n" + data),
    "a conflict's marks": in_place(lambda data: b"<<<<<<< ours\n" + data + b">>>>>>> theirs\n"),
    "gzip": in_place(lambda data: b"\x1f\x8b\x08\0" + data),
    "a page of HTML": in_place(lambda data: b"<!DOCTYPE html><title>502</title>\n"),
    # meaning
    "key doubled": in_place(doubled_key),
    "NaN literal": in_place(lambda data: data.replace(b'"flops":', b'"flops": NaN, "x":', 1)),
    "Infinity literal": in_place(
        lambda data: data.replace(b'"flops":', b'"flops": Infinity, "x":', 1)),
    "1e999": in_place(
        lambda data: data.replace(b'"flops":', b'"flops": 1e999, "x":', 1)),
    "a number of 400 digits": in_place(
        lambda data: data.replace(b'"flops":', b'"flops": ' + b"9" * 400 + b', "x":', 1)),
    "a number of a million digits": in_place(
        lambda data: data.replace(b'"flops":', b'"flops": ' + b"9" * 10**6 + b', "x":', 1)),
    "a string of 64 MB": set_field("kernel", to="x" * (64 << 20)),
    "many warnings": set_field("warnings", to=[{"code": "W", "message": "", "value": None}]
                                * 50_000),
    "brackets to the depth": in_place(lambda data: data.replace(
        b'"warnings":', b'"y": ' + b"[" * DEEP + b"]" * DEEP + b', "warnings":', 1)),
    "braces to the depth": in_place(lambda data: data.replace(
        b'"warnings":', b'"y": ' + b'{"a":' * DEEP + b"1" + b"}" * DEEP + b', "warnings":', 1)),
    "brackets that never close": in_place(lambda data: b"[" * 10**6),
    "an array at the top": in_place(lambda data: b"[" + data.strip() + b"]\n"),
    "a string at the top": in_place(lambda data: b'"run"\n'),
    "null": in_place(lambda data: b"null\n"),
    "a text for a number": set_field("flops", to="many"),
    "a number for a text": set_field("kernel", to=7),
    "an object for a list": set_field("warnings", to={}),
    "a null for a problem": set_field("problem", to=None),
    "a negative count": set_field("flops", to=-1),
    "a fractional count": set_field("flops", to=1.5),
    "2^64": set_field("flops", to=2**64),
    "another status": set_field("status", to="splendid"),
    "another result": set_field("status", to="incorrect"),
    "a position of 2^63": set_field("position", to=2**63),
    "another id": set_field("id", to="volta-fp32acc/other"),
    "an empty id": set_field("id", to=""),
    "a huge seqlen": set_field("problem", "seqlen_q", to=2**31 - 1),
    "a zero seqlen": set_field("problem", "seqlen_q", to=0),
    # file
    "a folder": replaced(lambda path: path.mkdir()),
    "gone": replaced(lambda path: None),
    "a link to itself": replaced(lambda path: path.symlink_to(path.name)),
    "a link to nothing": replaced(lambda path: path.symlink_to("nothing")),
    "a link to /dev/zero": replaced(lambda path: path.symlink_to("/dev/zero")),
    "a link to /dev/full": replaced(lambda path: path.symlink_to("/dev/full")),
    "a link to /proc/self/mem": replaced(lambda path: path.symlink_to("/proc/self/mem")),
    "a pipe": replaced(os.mkfifo),
    "2 GB of nothing": replaced(sparse),
    "2 GB of nothing behind": sparse_tail,
    "not to be read": lambda path: path.chmod(0),
}

# Damage of the head's run fields; a row does not have them.
HEAD_DAMAGES = {
    "schema 2": forged(lambda d: d["schema"].update(version="2.0.0")),
    "schema 1.999": forged(lambda d: d["schema"].update(version="1.999.0")),
    "schema of a number": forged(lambda d: d["schema"].update(version=1)),
    "no schema": forged(lambda d: d.pop("schema")),
    "another seed": forged(lambda d: d["run"].update(seed=99)),
    "another command": forged(lambda d: d["run"].update(argv=["sparkbench", "diff"])),
    "no command": forged(lambda d: d["run"].update(argv=[])),
    "a command that ends": forged(lambda d: d["run"]["argv"].append("--help")),
    "another commit": forged(lambda d: d["build"].update(git_sha="0" * 40)),
    "complete": forged(lambda d: d["run"].update(complete="yes")),
}


class Damages:
    def __init__(self, study):
        self.study = study
        self.whole, self.other = study.folder / "whole", study.folder / "other"
        for run in (self.whole, self.other):
            done = study.run([*SWEEP, "--out", str(run)])
            study.check(done.returncode == 0, f"cannot be measured: {done.stderr[-300:]}")
        study.run(["report", str(self.whole), "--json", "whole.json"])
        self.measured = self.cases_of(json.loads((self.whole / "run.json").read_text()))

    @staticmethod
    def cases_of(run):
        """{id: result}"""
        return {case["id"]: json.dumps({name: value for name, value in case.items()
                                        if name not in VOLATILE and name != "emulation"})
                for case in run["cases"]}

    def run(self, arguments):
        """Runs as a user without root and with limited memory."""
        def limit():
            resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
            if os.geteuid() == 0:
                os.setegid(65534)
                os.seteuid(65534)
        return self.study.run(arguments, timeout=60, limit=limit)

    def believe(self, what, done):
        """Checks that every case in the output was measured."""
        if done.returncode in (0, 4):
            try:
                for name, case in self.cases_of(json.loads(done.stdout)).items():
                    self.study.check(self.measured.get(name) == case, f"{what}: believed {name}")
            except ValueError:
                self.study.check(False, f"{what}: half a document, rc {done.returncode}")
        else:
            said = done.stderr.decode(errors="replace")
            self.study.check(done.returncode in (2, 3, 5), f"{what}: rc {done.returncode}: {said}")
            self.study.check(said.count("\n") == 1 and len(said) < 2000,
                             f"{what}: says {said[:300]} ({len(said)} characters)")
            self.study.check("\x1b" not in said, f"{what}: obeys an escape sequence")

    def damage_copy(self, name, damage):
        """A damaged copy of the run: (folder, the damaged file)."""
        target = self.study.folder / "damaged"
        shutil.rmtree(target, ignore_errors=True)
        shutil.copytree(self.whole, target)
        os.chmod(target, 0o777)
        for file in target.iterdir():
            file.chmod(0o666)
        damage(target / name)
        return target

    def try_readers(self, what, path):
        other = str(self.other)
        self.believe(f"report: {what}", self.run(["report", str(path), "--json", "-"]))
        self.believe(f"report --salvage: {what}",
                     self.run(["report", str(path), "--salvage", "--json", "-"]))
        allow = ["--allow", "duplicates", "--json", "-"]
        self.believe(f"merge: {what}", self.run(["merge", other, str(path), *allow]))
        self.believe(f"merge, first: {what}", self.run(["merge", str(path), other, *allow]))
        for pair in ([other, str(path)], [str(path), other]):
            done = self.run(["diff", *pair])
            self.study.check(done.returncode in (0, 1, 2), f"diff: {what}: rc {done.returncode}")

    def try_resume(self, what, name, damage):
        """A run resumed from damage must end with the measured cases, or must not start."""
        for flags in ([], ["--salvage"]):
            target = self.damage_copy(name, damage)
            done = self.run(["sweep", "--resume", str(target), "-q", *flags])
            if done.returncode != 0:
                continue
            read = self.run(["report", str(target), "--json", "-"])
            self.study.check(read.returncode == 0, f"resume {flags}: {what}: cannot be read again")
            if read.returncode == 0:
                self.believe(f"resume {flags}: {what}", read)
                got = self.cases_of(json.loads(read.stdout))
                self.study.check(set(got) == set(self.measured), f"resume {flags}: {what}: {set(got)}")

    def study_folder(self, name, damages):
        for kind, damage in damages.items():
            what = f"{name}, {kind}"
            self.try_readers(what, self.damage_copy(name, damage))
            self.try_resume(what, name, damage)

    def study_file(self, damages):
        path = self.study.folder / "damaged.json"
        for kind, damage in damages.items():
            if path.is_dir() and not path.is_symlink():
                path.rmdir()
            path.unlink(missing_ok=True)
            shutil.copy(self.study.folder / "whole.json", path)
            path.chmod(0o666)
            damage(path)
            self.try_readers(f"x.json, {kind}", path)


def every(step, damages):
    """Every n-th kind."""
    return dict(list(damages.items())[::step])


def main(program, step="1"):
    damages_of_rows = every(int(step), DAMAGES)
    damages_of_runs = every(int(step), {**DAMAGES, **HEAD_DAMAGES})
    with tempfile.TemporaryDirectory(prefix="sparkbench_damage_") as folder:
        os.chmod(folder, 0o777)
        study = Study(program, folder, seed=1)
        study.begin("the runs that are damaged")
        damages = Damages(study)
        print("| area | tried | broke |\n|---|---|---|")
        study.begin(f"{len(damages_of_rows)} kinds of damage to cases.jsonl")
        damages.study_folder("cases.jsonl", damages_of_rows)
        study.begin(f"{len(damages_of_runs)} kinds of damage to run.json")
        damages.study_folder("run.json", damages_of_runs)
        study.begin(f"{len(damages_of_runs)} kinds of damage to what --json wrote")
        damages.study_file(damages_of_runs)
        study.end()
        print(f"{sum(row[1] for row in study.rows)} tried, {len(study.broken)} broke")
        return 1 if study.broken else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
