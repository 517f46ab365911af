#!/usr/bin/env python3
"""Tests the page of `report --html` in Chromium. If there is no Chromium, it is skipped and says so.

    page_test.py PROGRAM
"""

import html.parser
import json
import os
import pathlib
import re
import select
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
RUN = ROOT / "results/published/h200/paper-forward/run.json"
NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
CHROMIUM = next(filter(None, map(shutil.which, NAMES)), None)
SKIPPED = 77
LONGEST_S = 120
PROGRAM = ""


class Browser:
    """A headless Chromium that is told through pipes, by its DevTools protocol, what to open."""

    def __init__(self, profile):
        commands, self._commands = os.pipe()
        self._answers, answers = os.pipe()
        flags = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
                 "--window-size=1400,1000", "--remote-debugging-pipe", f"--user-data-dir={profile}"]
        self._process = subprocess.Popen(  # Chromium reads commands from 3, and answers on 4
            ["bash", "-c", f'exec "$0" "$@" 3<&{commands} 4>&{answers}', CHROMIUM, *flags],
            pass_fds=(commands, answers), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        os.close(commands)
        os.close(answers)
        self._sent, self._received = 0, b""

    def close(self):
        self._call("Browser.close")
        self._process.wait(timeout=60)
        os.close(self._commands)
        os.close(self._answers)

    def document(self, url):
        """The page's HTML once it has loaded and its scripts have run."""
        target = self._call("Target.createTarget", url=url)["targetId"]
        session = self._call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        file = json.dumps(url.split("#")[0])  # a script may have changed what follows
        is_loaded = f"document.readyState == 'complete' && location.href.startsWith({file})"
        began = time.monotonic()
        while not self._evaluate(session, is_loaded):
            if time.monotonic() > began + LONGEST_S:
                raise TimeoutError(f"{url} does not load")
            time.sleep(0.01)
        text = self._evaluate(session, "document.documentElement.outerHTML")
        self._call("Target.closeTarget", targetId=target)
        return text

    def _evaluate(self, session, expression):
        return self._call("Runtime.evaluate", session, expression=expression)["result"]["value"]

    def _call(self, method, session=None, **parameters):
        self._sent += 1
        message = {"id": self._sent, "method": method, "params": parameters}
        if session:
            message["sessionId"] = session
        os.write(self._commands, json.dumps(message).encode() + b"\0")
        while (answer := self._receive()).get("id") != self._sent:
            pass  # an event
        return answer["result"]

    def _receive(self):
        while b"\0" not in self._received:
            if not select.select([self._answers], [], [], LONGEST_S)[0]:
                raise TimeoutError("Chromium says nothing")
            data = os.read(self._answers, 1 << 20)
            if not data:
                raise RuntimeError("Chromium has ended")
            self._received += data
        message, self._received = self._received.split(b"\0", 1)
        return json.loads(message)


class Page(html.parser.HTMLParser):
    """The browser's rendering: cells, bars, marks, unexpected elements."""

    def __init__(self, text):
        super().__init__()
        self.rows, self.titles, self.tags = [], [], []
        self.bars = self.whiskers = self.panels = 0
        self.marks, self.texts, self._at = [], {}, None
        self.hidden, self.order, self.colours, self.ticks = set(), [], set(), []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        given = dict(attributes)
        self.tags.append(tag)
        self._at = given.get("id") or (tag if tag in ("td", "th", "button", "title") else self._at)
        if "id" in given:
            self.order.append(given["id"])
            self.hidden |= {given["id"]} if "hidden" in given else set()
        if tag == "tr":
            self.rows.append([])
        elif tag == "td":
            self.rows[-1].append("")
        elif tag == "button":
            self.titles.append("")
        elif tag == "svg":
            self.panels += 1
        self.bars += given.get("class") == "bar"
        self.whiskers += given.get("class") == "whisker"
        if given.get("class") == "bar":
            self.colours.add(given["fill"])
        elif given.get("class") == "tick":
            self._at = "tick"
        if given.get("class") == "mark":
            self.marks.append("")
            self._at = "mark"

    def handle_data(self, data):
        if self._at == "td" and self.rows and self.rows[-1]:
            self.rows[-1][-1] += data
        elif self._at == "button":
            self.titles[-1] += data
        elif self._at == "mark":
            self.marks[-1] += data
        elif self._at == "tick":
            self.ticks.append(float(data))
        elif self._at:
            self.texts[self._at] = self.texts.get(self._at, "") + data

    def handle_endtag(self, tag):
        if tag in ("td", "button", "text", "p", "pre", "title"):
            self._at = None

    def cells(self):
        return [row for row in self.rows if row]

    def column(self, title):
        at = [re.sub(r" [\u25b2\u25bc]$", "", each) for each in self.titles].index(title)
        return [row[at] for row in self.cells()]


class HtmlPage(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.page = cls.make(RUN, "page.html")
        cls.record = json.loads(RUN.read_text())
        cls.browser = Browser(f"{cls.folder.name}/profile")

    @classmethod
    def tearDownClass(cls):
        cls.browser.close()
        cls.folder.cleanup()

    @classmethod
    def make(cls, run, name):
        path = pathlib.Path(cls.folder.name) / name
        command = [PROGRAM, "report", str(run), "--html", str(path)]
        subprocess.run(command, check=True, capture_output=True)
        return path

    @classmethod
    def predicted(cls):
        """A small run of an emulated V100 with predicted speed-ups."""
        if not hasattr(cls, "_predicted"):
            record = pathlib.Path(cls.folder.name) / "emulated.json"
            command = [PROGRAM, "sweep", "--device", "emulated-v100", "--headdim", "64", "--seqlen",
                       "64,128", "--mask", "full,causal", "--dropout", "0.1", "--heads", "1", "--batch",
                       "1", "--no-verify", "-q", "--json", str(record)]  # fmt: skip
            subprocess.run(command, check=True, capture_output=True)
            cls._predicted = json.loads(record.read_text()), cls.make(record, "emulated.html")
        return cls._predicted

    def open(self, page=None, state="", script=""):
        """The page after its script, and then `script`, have run."""
        path = page or self.page
        if script:
            text = path.read_text().replace("</body>", f"<script>{script}</script></body>")
            path = pathlib.Path(self.folder.name) / "scripted.html"
            path.write_text(text)
        return Page(self.browser.document(f"{path.as_uri()}{state and '#' + state}"))

    def test_it_needs_no_other_file(self):
        text = self.page.read_text()
        self.assertEqual(set(re.findall(r"https?://[^\"'\s]+", text)), {"http://www.w3.org/2000/svg"})
        self.assertNotRegex(text, r"<(link|img|iframe)\b|\bsrc=|@import|url\(")
        self.assertIn("default-src 'none'", text)

    def test_every_case_is_a_row(self):
        page = self.open()
        self.assertEqual(len(page.cells()), len(self.record["cases"]))
        self.assertEqual(page.texts["count"], "144 of 144 cases")
        self.assertIn("NVIDIA H200", page.texts["head"])
        self.assertIn("Use hopper-fp32acc: 3.66x as fast as cublas-fp16", page.texts["end"])

    def test_it_sorts_and_filters_by_its_address(self):
        page = self.open(state="sort=-time_ms&mask=causal&kernel=cudnn")
        times = [float(cell) for cell in page.column("time ms")]
        wanted = [case for case in self.record["cases"]
                  if case["kernel"] == "cudnn" and case["problem"]["mask"] == "causal"]
        self.assertEqual(len(times), len(wanted))
        self.assertEqual(times, sorted(times, reverse=True))
        self.assertEqual(set(page.column("mask")), {"causal"})
        sizes = self.open(state="sort=memory").column("memory")
        units = {"MiB": 1, "GiB": 1024}
        bytes_of = [float(size.split()[0]) * units[size.split()[1]] for size in sizes]
        self.assertEqual(bytes_of, sorted(bytes_of))

    def test_it_sorts_by_a_click_and_filters_by_a_choice(self):
        script = """
            document.querySelector('button[data-column="tflops"]').click();
            const mask = document.querySelector('select[name="mask"]');
            mask.value = "full";
            mask.dispatchEvent(new Event("change"));
            const find = document.querySelector('input[name="find"]');
            find.value = "CUBLAS";
            find.dispatchEvent(new Event("input"));
        """
        page = self.open(script=script)
        self.assertEqual(set(page.column("kernel")), {"cublas-fp16"})
        self.assertEqual(set(page.column("mask")), {"full"})
        rates = [float(cell) for cell in page.column("TFLOP/s")]
        self.assertEqual(rates, sorted(rates))
        self.assertEqual(len(rates), 24)
        twice = script + "document.querySelector('button[data-column=\"tflops\"]').click();"
        rates = [float(cell) for cell in self.open(script=twice).column("TFLOP/s")]
        self.assertEqual(rates, sorted(rates, reverse=True))

    def test_its_title_names_command_commit_and_date(self):
        text = self.page.read_text()
        run, build = self.record["run"], self.record["build"]
        command = " ".join(["sparkbench", *run["argv"][1:]])
        commit = build["git_sha"][:10] + (" (modified)" if build["git_dirty"] else "")
        self.assertIn(f"<title>{command}, {commit}, {run['started_at'][:10]}</title>", text)
        self.assertNotIn("THE_", text)

    def test_figures_come_before_the_table(self):
        page = self.open()
        self.assertLess(page.order.index("figures"), page.order.index("count"))
        self.assertLess(page.order.index("controls"), page.order.index("figures"))

    def test_without_a_filter_it_has_the_runs_sentences(self):
        page = self.open()
        self.assertIn("chosen", page.hidden)
        self.assertNotIn("end", page.hidden)

    def test_with_a_filter_its_sentences_are_of_the_chosen_cases(self):
        page = self.open(state="mask=causal&head_dim=64")
        self.assertIn("end", page.hidden)
        self.assertNotIn("chosen", page.hidden)
        cases = [case for case in self.record["cases"] if case["kernel"] == "cudnn"
                 and case["problem"]["mask"] == "causal" and case["problem"]["head_dim"] == 64]
        mean = statistics.geometric_mean(case["speedup"]["ratio"] for case in cases)
        self.assertIn(f"cudnn: measured {mean:.2f}x as fast as cublas-fp16 (geometric mean of "
                      f"{len(cases)} cases)", page.texts["chosen"])  # fmt: skip
        error = 100 * max(case["accuracy"]["rel_l1"] for case in cases)
        self.assertIn(f"rel_l1 up to {error:.3g}", page.texts["chosen"])
        self.assertIn("36 ok, 0 incorrect, 0 skipped, 0 failed.", page.texts["chosen"])
        words = self.open(state="find=cudnn")
        self.assertIn("48 ok", words.texts["chosen"])

    def test_predicted_speedups_are_called_predicted(self):
        record, path = self.predicted()
        page = self.open(path, state="mask=causal")
        chosen = [case["predicted"]["speedup"] for case in record["cases"] if case["kernel"] ==
                  "volta-fp32acc" and case["problem"]["mask"] == "causal"]  # fmt: skip
        likely, low, high = (statistics.geometric_mean(each[name] for each in chosen)
                             for name in ("likely", "low", "high"))  # fmt: skip
        self.assertIn(f"volta-fp32acc: predicted {likely:.2f}x as fast as unfused-fp16 ({low:.2f}x to "
                      f"{high:.2f}x, geometric mean of 2 cases).", page.texts["chosen"])  # fmt: skip
        causal = [case for case in record["cases"] if case["problem"]["mask"] == "causal"]
        self.assertEqual({case["status"] for case in causal}, {"unverified"})
        self.assertIn(f"0 failed, {len(causal)} unverified.", page.texts["chosen"])

    def test_speedup_memory_and_status_are_within_1400_pixels(self):
        script = """
            const at = [...document.querySelectorAll("th button")].map((button) =>
              [button.dataset.column, Math.round(button.getBoundingClientRect().right)]);
            document.getElementById("count").textContent = JSON.stringify(Object.fromEntries(at));
        """
        for path, speedup in ((self.page, "speedup"), (self.predicted()[1], "predicted_speedup")):
            right = json.loads(self.open(path, script=script).texts["count"])
            for column in ("kernel", speedup, "memory", "status"):
                self.assertLessEqual(right[column], 1400, column)

    def test_a_kernel_has_the_colour_of_the_figures_of_plot_py(self):
        table = json.loads((ROOT / "results/figures/kernels.json").read_text())["kernels"]
        for kernel in ("cudnn", "cublas-fp16"):
            page = self.open(state=f"kernel={kernel}")
            self.assertEqual(page.colours, {table[kernel]["colour"]})
        _, path = self.predicted()
        page = self.open(path, state="kernel=volta-fp32acc")
        self.assertEqual(page.colours, {table["volta-fp32acc"]["colour"]})

    def test_a_kernel_that_the_table_lacks_has_the_colour_of_plot_py(self):
        record = json.loads(RUN.read_text())
        record.pop("run_hash", None)
        for i, case in enumerate(record["cases"]):
            case["kernel"] = ("mine", "mine-\u00e9", "other")[i % 3]
            case["speedup"] = None
        changed = pathlib.Path(self.folder.name) / "mine.json"
        changed.write_text(json.dumps(record))
        sys.path.insert(0, str(ROOT / "results"))
        from figures import style

        page = self.open(self.make(changed, "mine.html"))
        wanted = style.colours_of_kernels(sorted({case["kernel"] for case in record["cases"]}))
        self.assertEqual(page.colours, set(wanted.values()))
        self.assertEqual(len(page.colours), 3)

    def test_an_axis_ends_where_its_bars_end(self):
        page = self.open(state="kernel=cudnn&head_dim=64&mask=full&dropout=0")
        most = max(case["tflops"] for case in self.record["cases"] if case["kernel"] == "cudnn" and
                   case["problem"]["head_dim"] == 64 and case["problem"]["mask"] == "full" and
                   case["problem"]["dropout_p"] == 0)  # fmt: skip
        first = page.ticks[: page.ticks.index(0.0, 1)]
        self.assertGreaterEqual(first[-1], most)
        self.assertLessEqual(first[-1], 1.35 * most)
        self.assertLessEqual(len(first), 6)

    def test_all_columns_are_there_when_asked_for(self):
        few, all_of_them = self.open(), self.open(state="columns=all")
        self.assertLess(len(few.titles), len(all_of_them.titles))
        self.assertIn("rel_l2", all_of_them.titles)

    def test_figures_have_a_bar_for_each_case_and_its_doubt(self):
        page = self.open()
        cases = len(self.record["cases"])
        self.assertEqual(page.bars, 3 * cases)  # throughput, error, memory
        self.assertEqual(page.whiskers, cases)  # for the times
        self.assertEqual(page.panels, 3 * 8)  # head_dim, mask and dropout
        self.assertEqual(page.marks, [])
        causal = self.open(state="mask=causal")
        self.assertEqual((causal.bars, causal.panels), (3 * cases // 2, 3 * 4))

    def test_a_case_without_a_number_has_its_reason(self):
        record = json.loads(RUN.read_text())
        record.pop("run_hash", None)
        first = record["cases"][0]
        first["status"] = "skipped"
        first["reason"] = {"code": "E-OUT-OF-MEMORY", "message": "needs more"}
        for field in ("time_ms", "tflops", "accuracy", "memory_bytes", "speedup"):
            first[field] = None
        changed = pathlib.Path(self.folder.name) / "oom.json"
        changed.write_text(json.dumps(record))
        page = self.open(self.make(changed, "oom.html"))
        self.assertEqual(page.marks, ["OOM"] * 3)

    def test_no_memory_of_a_kernel_that_has_no_such_pass(self):
        record = json.loads(RUN.read_text())
        record.pop("run_hash", None)
        first = record["cases"][0]
        first["status"] = "skipped"
        first["reason"] = {"code": "E-UNSUPPORTED", "message": "has no such pass"}
        for field in ("time_ms", "tflops", "accuracy", "speedup"):
            first[field] = None
        changed = pathlib.Path(self.folder.name) / "lacks.json"
        changed.write_text(json.dumps(record))
        page = self.open(self.make(changed, "lacks.html"))
        self.assertEqual(page.marks, ["n/s"] * 3)
        self.assertEqual(page.bars, 3 * (len(record["cases"]) - 1))

    def test_layers_of_two_ffn_stand_in_panels_of_their_own(self):
        record = pathlib.Path(self.folder.name) / "layers.json"
        command = [PROGRAM, "encoder", "--device", "emulated-v100", "--preset", "paper-encoder",
                   "--kernel", "volta-fp32acc,unfused-fp16", "--headdim", "64", "--mask", "full",
                   "--dropout", "0", "--seqlen", "512,1k", "-q", "--json", str(record)]  # fmt: skip
        subprocess.run(command, check=True, capture_output=True)
        cases = json.loads(record.read_text())["cases"]
        shapes = {(case["problem"]["layer"]["ffn"], case["problem"]["layer"]["rest"]) for case in cases}
        page = self.open(self.make(record, "layers.html"))
        self.assertEqual((len(shapes), page.panels), (4, 2 * 4))  # throughput, memory
        self.assertIn("predicted from what a kernel allocates", page.texts["figure-memory"])
        chosen = self.open(pathlib.Path(self.folder.name) / "layers.html", "ffn=8192").texts["chosen"]
        self.assertIn("unfused-fp16: with the rest fused, predicted", chosen)

    def test_what_others_wrote_is_text(self):
        record = json.loads(RUN.read_text())
        record.pop("run_hash", None)
        evil = "</script><img src=x onerror=\"document.body.append('owned')\"><b>"
        record["cases"][0]["kernel"] = evil
        record["environment"]["device"]["name"] = evil
        changed = pathlib.Path(self.folder.name) / "evil.json"
        changed.write_text(json.dumps(record))
        page = self.open(self.make(changed, "evil.html"))
        self.assertNotIn("img", page.tags)
        self.assertNotIn("b", page.tags)
        self.assertIn(evil, page.column("kernel"))


if __name__ == "__main__":
    PROGRAM = sys.argv.pop(1)
    if CHROMIUM is None:
        print(f"skipped: no Chromium here ({', '.join(NAMES)})")
        sys.exit(SKIPPED)
    unittest.main()
