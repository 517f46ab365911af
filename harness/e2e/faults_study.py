#!/usr/bin/env python3
"""Stress test: kills, full disks, hostile files and absurd flags, each hundreds of times.

    faults_study.py build/harness/sparkbench                     # a small share, as in CTest
    faults_study.py build/harness/sparkbench --kills 1000 --mutants 2000 --seed 7

Prints a line per area: what was tried, how often, what broke. Exit status 1 if anything did.
Full disks are small tmpfs, which only root can mount; otherwise a limit on file sizes replaces
them.
"""

import argparse
import json
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from faults_tools import Disk, Study, journal_rows, mutate

GRID = ["--device", "emulated-v100", "--headdim", "64", "--causal", "false", "--dropout", "0",
        "--batch", "1", "--heads", "1", "--kernel", "volta-fp32acc,volta-fp16acc,unfused-fp16"]
SMALL = ["sweep", *GRID, "--seqlen", "32"]
MANY = ["sweep", *GRID, "--seqlen", "16:31:+1"]  # 48 cases


def workers_of(pid):
    try:
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text()
        return [int(child) for child in children.split()]
    except OSError:
        return []


def kill(victim, process):
    pids = workers_of(process.pid) if victim in ("worker", "both") else []
    pids += [process.pid] if victim in ("parent", "both") else []
    for pid in pids:
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
    return bool(pids)


def study_kills(study, kills, lengths, deadline):
    """Sweeps killed at random moments and resumed to the end, against one that was not."""
    whole, many = study.folder / "whole", ["sweep", *GRID, "--seqlen", lengths]
    study.begin("sweeps not killed, to compare with")
    started = time.monotonic()
    study.check(study.run([*many, "--out", str(whole)]).returncode == 0, "the whole sweep fails")
    seconds = time.monotonic() - started
    want = {row["id"]: row for row in journal_rows(whole)}
    study.begin("kill -9 at random moments, resumed to the end")
    counts = {"parent": 0, "worker": 0, "both": 0}
    sweeps = 0
    while sum(counts.values()) < kills and time.monotonic() < deadline:
        sweeps += 1
        run = study.folder / f"killed-{sweeps}"
        seen = 0
        for _ in range(30):  # then it may end
            is_begun = (run / "run.json").exists()
            retry = ["--retry-failed"] if is_begun else []
            resume = ["sweep", "--resume", str(run), *retry]
            command = resume if is_begun else [*many, "--out", str(run)]
            process = subprocess.Popen([study.program, *command, "--no-progress"],
                                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            time.sleep(study.random.uniform(0, seconds / 3))
            victim = study.random.choice(sorted(counts))
            if process.poll() is None and kill(victim, process):
                counts[victim] += 1
                study.tried += 1
            if victim == "worker" and process.poll() is None:
                # then the parent ends too, or is killed
                time.sleep(study.random.uniform(0, seconds / 6))
                process.kill()
            code = process.wait()
            now = len({row["id"] for row in journal_rows(run)})
            study.check(now >= seen, f"{run}: {seen} cases were in the journal, now {now}")
            seen = now
            if code == 0 or sum(counts.values()) >= kills:
                break
        study.tried -= 1  # the run that finishes is not a kill
        if (run / "run.json").exists():
            done = study.run(["sweep", "--resume", str(run), "--retry-failed", "-q"])
        else:
            done = study.run([*many, "--out", str(run), "-q"])
        study.check(done.returncode == 0, f"{run}: the last resume ends in {done.returncode}")
        compare(study, run, want)
        shutil.rmtree(run)
    study.end()
    print(f"  kills: {counts}, of {sweeps} sweeps of {len(want)} cases", flush=True)


def compare(study, run, want):
    rows = journal_rows(run)
    good = [row for row in rows if row["status"] != "failed"]
    ids = [row["id"] for row in good]
    study.check(len(set(ids)) == len(ids), f"{run}: cases were run twice")
    study.check(set(ids) == set(want), f"{run}: {len(set(want) - set(ids))} cases lost")
    for row in good:
        study.check(row == want.get(row["id"]), f"{run}: {row['id']} changed")
    leftovers = [path.name for path in run.iterdir() if path.name.endswith(".tmp")]
    study.check(not leftovers, f"{run}: left over {leftovers}")


def study_disks(study, sizes):
    """Every output of every command on disks that are too small, and on one that is not."""
    whole = study.folder / "for-disks"
    study.begin("the runs whose outputs meet full disks")
    study.run([*MANY, "--out", str(whole), "-q"])
    for shard in ("1", "2"):
        study.run([*MANY, "--shard", f"{shard}/2", "--out",
                   str(study.folder / f"shard-{shard}"), "-q"])
    shards = [str(study.folder / f"shard-{shard}") for shard in ("1", "2")]
    sweep = [*MANY, "-q"]
    outputs = {
        "--out": lambda at: [*sweep, "--out", f"{at}/run"],
        "--json": lambda at: [*sweep, "--json", f"{at}/x.json"],
        "--csv": lambda at: [*sweep, "--csv", f"{at}/x.csv"],
        "--md": lambda at: [*sweep, "--md", f"{at}/x.md"],
        "--save-outputs": lambda at: ["run", *GRID[:-2], "--kernel", "volta-fp32acc", "--seqlen",
                                      "512", "-q", "--save-outputs", f"{at}/x.safetensors"],
        "accuracy --out": lambda at: ["accuracy", *GRID, "--seqlen", "16:31:+1", "-q", "--out",
                                      f"{at}/run"],
        "merge -o": lambda at: ["merge", *shards, "-o", f"{at}/run"],
        "merge -o x.json": lambda at: ["merge", *shards, "-o", f"{at}/x.json"],
        "report --json --csv --md": lambda at: ["report", str(whole), "--json", f"{at}/x.json",
                                                "--csv", f"{at}/x.csv", "--md", f"{at}/x.md"],
        "dry run --json": lambda at: [*sweep, "--dry-run", "--json", f"{at}/x.json"],
    }
    study.begin("full disks, every output")
    for name, command in outputs.items():
        for kib in sizes:
            with Disk(study.folder, kib) as disk:
                done = study.run(command(disk.path), limit=disk.limit)
                study.check(done.returncode in (0, 5), f"{name} on {kib} KiB: rc {done.returncode}")
                check_disk(study, disk.path, done.returncode, f"{name} on {kib} KiB")


def check_disk(study, path, code, what):
    for file in path.glob("*.json"):
        try:
            json.loads(file.read_text())
        except ValueError:
            study.check(False, f"{what}: half of {file.name}")
    for file in path.glob("x.csv"):
        study.check(file.read_text().endswith("\n"), f"{what}: half of {file.name}")
    study.check(not list(path.glob("**/*.tmp")), f"{what}: left a temporary file")
    run = path / "run"
    if not (run / "run.json").exists():
        return
    head = json.loads((run / "run.json").read_text())["run"]
    is_complete = head["complete"]
    study.check(is_complete == (code == 0), f"{what}: complete is {is_complete}, rc {code}")
    done = study.run(["report", str(run)])
    study.check(done.returncode == 0, f"{what}: cannot be read again")
    if code != 0:
        study.check(b"Not complete" in done.stdout, f"{what}: report does not say that it is cut")


def damaged(study, source, name, target):
    """Copies the run `source` with a mutated file `name`; returns whether it differs."""
    shutil.rmtree(target, ignore_errors=True)
    shutil.copytree(source, target)
    data = (source / name).read_bytes()
    (target / name).write_bytes(mutate(data, study.random))
    return (target / name).read_bytes() != data


def study_journals(study, mutants):
    """A changed row must be rejected and named; otherwise the data read must equal the data
    written."""
    source, target = study.folder / "for-mutants", study.folder / "mutant"
    study.begin("the run whose files are damaged")
    study.run([*SMALL, "--seqlen", "32,33", "--out", str(source), "-q"])
    want = {row["id"]: row for row in journal_rows(source)}
    complete = json.loads((source / "run.json").read_text())
    undamaged = {case["id"]: case for case in complete["cases"]}
    study.begin("journals cut, flipped, forged: read")
    for i in range(mutants):
        if not damaged(study, source, "cases.jsonl", target):
            continue
        done = study.run(["report", str(target), "--json", "-"])
        if done.returncode == 0:
            for case in json.loads(done.stdout)["cases"]:
                study.check(case == undamaged.get(case["id"]), f"mutant {i}: believed a change")
        else:
            said = done.stderr.decode(errors="replace")
            study.check(done.returncode == 2 and "--salvage" in said, f"mutant {i}: {said[-200:]}")
            left = study.run(["report", str(target), "--salvage", "--json", "-"])
            is_told = left.returncode == 0 and b"left out" in left.stderr
            study.check(is_told, f"mutant {i}: no salvage")
            for case in json.loads(left.stdout)["cases"]:
                study.check(case == undamaged.get(case["id"]), f"mutant {i}: salvaged a change")
    study.begin("journals cut, flipped, forged: salvaged by --resume")
    for i in range(mutants // 10):
        if not damaged(study, source, "cases.jsonl", target):
            continue
        done = study.run(["sweep", "--resume", str(target), "--salvage", "-q"])
        study.check(done.returncode == 0, f"mutant {i}: {done.stderr[-200:]}")
        rows = {row["id"]: row for row in journal_rows(target)}
        study.check(rows == want, f"mutant {i}: the resumed run differs")


def study_heads(study, mutants):
    source, target = study.folder / "for-mutants", study.folder / "mutant"
    study.begin("run.json cut, flipped, forged: report, resume, merge")
    for _ in range(mutants):
        is_changed = damaged(study, source, "run.json", target)
        done = study.run(["report", str(target)])
        # Without its name the hash is an unknown field.
        has_hash = b'"run_hash"' in (target / "run.json").read_bytes()
        study.check(done.returncode == 2 or not (is_changed and has_hash), "believed a change")
        study.run(["sweep", "--resume", str(target), "--dry-run"])
        study.run(["merge", str(target), str(source), "--allow", "duplicates", "--json", "-"])
    study.begin("forged fields of run.json")
    head = json.loads((source / "run.json").read_text())
    del head["run_hash"]  # a deliberate change
    for field, value in [("shard", "x/y"), ("shard", "1/0"), ("shard", "1/-3"), ("shard", "3/2"),
                         ("shard", "1/99999999999999999999999"), ("shard", "")]:
        forged = json.loads(json.dumps(head))
        forged["run"]["resolved"][field] = value
        (study.folder / "forged.json").write_text(json.dumps(forged))
        study.refuse(["merge", "forged.json", "--json", "-"])
    for name, version in [("other", "1.0.0"), ("sparkbench.run", "2.0.0"), ("sparkbench.run", "")]:
        forged = dict(head, schema={"name": name, "version": version})
        (study.folder / "forged.json").write_text(json.dumps(forged))
        study.refuse(["report", "forged.json"])


def study_tensors(study, mutants):
    tensor = b"\0\x3c" * 1 * 16 * 1 * 64
    header, end = {}, 0
    for name in "qkv":
        header[name] = {"dtype": "F16", "shape": [1, 16, 1, 64],
                        "data_offsets": [end, end + len(tensor)]}
        end += len(tensor)
    text = json.dumps(header).encode()
    data = len(text).to_bytes(8, "little") + text + 3 * tensor
    path = study.folder / "x.safetensors"
    study.begin("tensor files cut, flipped, forged")
    command = ["run", "--device", "emulated-v100", "--kernel", "volta-fp32acc",
               "--tensors", str(path), "-q", "--in-process"]
    path.write_bytes(data)
    study.check(study.run(command).returncode == 0, "good tensors are refused")
    for _ in range(mutants):
        changed = bytearray(mutate(data[: 8 + len(text)], study.random))
        path.write_bytes(bytes(changed) + 3 * tensor)
        study.run(command)
    study.begin("tensors larger than the memory, sparse")
    for gib in (64, 1024):
        elements = gib * 2**30 // 2 // 4
        shape = [elements // (2**20 * 64), 2**20, 1, 64]
        size = shape[0] * 2**20 * 64 * 2
        header = {name: {"dtype": "F16", "shape": shape, "data_offsets": [i * size, (i + 1) * size]}
                  for i, name in enumerate("qkv")}
        text = json.dumps(header).encode()
        with open(path, "wb") as file:
            file.write(len(text).to_bytes(8, "little") + text)
            file.truncate(8 + len(text) + 3 * size)
        said = study.refuse([*command, "--dry-run"])
        study.check("GiB" in said, f"does not say how much: {said}")
    path.unlink()


def study_configs(study, mutants):
    path = study.folder / "sweep.toml"
    text = ('device = "emulated-v100"\nkernel = "volta-fp32acc"\nheads = 1\nbatch = 1\n[sweep]\n'
            'seqlen = [33, 65]\ncausal = true\nheaddim = 64\ntag = ["a=b"]\n')
    study.begin("TOML cut, flipped, forged")
    for _ in range(mutants):
        path.write_bytes(mutate(text.encode(), study.random))
        study.run(["sweep", "--config", str(path), "--dry-run"])
    study.begin("TOML that is none, or says too much")
    for wrong in ['resume = "x"', "seqlen = 5\nseqlen = 6", "seqlen = [" + ",".join(
            str(i) for i in range(1, 200000)) + "]", 'out = ""', 'worker = "x"', "x" * (2 << 20)]:
        path.write_text(wrong)
        study.refuse(["sweep", "--config", str(path), "--dry-run"])
    for wrong in [str(study.folder), "/dev/zero", "/dev/null/x", str(study.folder / "none")]:
        study.refuse(["sweep", "--config", wrong, "--dry-run"])


def study_flags(study):
    study.begin("flags: empty, absurd, out of range, not UTF-8")
    small = [*SMALL, "--dry-run"]
    numbers = ["", "-1", "0x10", "010", "1e3", "18446744073709551616", "9" * 30, "nan", "inf",
               " 1", "1 ", "1,2", "٣", "1'000", "--", "$(id)"]
    for flag in ("--seed", "--min-samples"):
        for value in numbers:
            study.refuse([*small, flag, value])
    for flag in ("--timeout", "--max-noise", "--duty-cycle", "--tolerance-ratio"):
        for value in ("", "-1", "nan", "inf", "1e400", "x", "0"):
            study.refuse([*small, flag, value])
    for flag in ("--seqlen", "--seqlen-k", "--headdim", "--batch", "--heads", "--input-scale",
                 "--hidden"):
        for value in ("", "0", "-1", "9" * 30, "1:2", "1:9:*1", ",", "1,,2", "x", "\n",
                      "1" + ",1" * 2000):
            study.refuse([*small, flag, value])
    for value in ("", "9", "uniform", "uniform:1:", "uniform:-1:2", "uniform:1:" + "9" * 30,
                  "uniform:2:1", "file:", "file:/", "file:/dev/zero", "file:/no", ",", "none,none"):
        study.refuse(["sweep", *GRID, "--lengths", value, "--dry-run"])
    for flag in ("--out", "--json", "--csv", "--md", "--tensors", "--save-outputs", "--config",
                 "--device", "--kernel", "--preset", "--shard", "--tag", "--mask", "--input",
                 "--pass", "--resume"):
        command = ["run", *GRID, "--seqlen", "32"]
        study.refuse([*command, flag, ""])
        study.refuse([*command, flag + "="])
        study.refuse([*command, flag, b"n\xff"], codes=(2,))
    study.refuse([*small, "--seqlen", "1:1024:+1", "--seqlen-k", "1:1024:+1"])
    study.refuse([*small, "--seqlen", "1:1024:+1", "--seqlen-k", "1:1024:+1"],
                 limit=lambda: resource.setrlimit(resource.RLIMIT_AS, (4 << 30, 4 << 30)))
    study.refuse(["sweep", "--worker", "emulated-v100"])
    study.refuse(["report", ""])
    study.refuse(["report", str(study.folder / "none")])
    for value in ("1/0", "0/1", "3/2", "-1/2", "1", "/", "1/2/3", "x/y"):
        study.refuse([*small, "--shard", value])


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("--kills", type=int, default=4)
    parser.add_argument("--kill-lengths", default="16:31:+1", help="--seqlen of what is killed")
    parser.add_argument("--mutants", type=int, default=10)
    parser.add_argument("--disks", default="64", help="their sizes in KiB")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=3600, help="for the kills, at most")
    parser.add_argument("--only", default="", help="regular expression of areas: kills, disks, ...")
    arguments = parser.parse_args()
    sizes = [int(size) for size in arguments.disks.split(",")]
    with tempfile.TemporaryDirectory(prefix="sparkbench_faults_") as folder:
        study = Study(arguments.program, folder, arguments.seed)
        areas = {
            "flags": lambda: study_flags(study),
            "configs": lambda: study_configs(study, arguments.mutants),
            "journals": lambda: study_journals(study, arguments.mutants),
            "heads": lambda: study_heads(study, arguments.mutants // 2),
            "tensors": lambda: study_tensors(study, arguments.mutants),
            "disks": lambda: study_disks(study, sizes),
            "kills": lambda: study_kills(study, arguments.kills, arguments.kill_lengths,
                                         time.monotonic() + arguments.seconds),
        }
        print("| area | tried | broke |\n|---|---|---|")
        for name, area in areas.items():
            is_needed = name == "journals" and "heads" in arguments.only  # they damage its run
            if re.search(arguments.only, name) or is_needed:
                area()
                study.end()
        print(f"{sum(row[1] for row in study.rows)} tried, {len(study.broken)} broke")
        return 1 if study.broken else 0


if __name__ == "__main__":
    sys.exit(main())
