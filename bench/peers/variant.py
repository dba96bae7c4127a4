"""One engine with one model in a process of its own, stopped unless it is its turn."""

import json
import os
import signal
import statistics
import subprocess
import time

DISCARDED = 2  # runs after a pause


class Variant:
    def __init__(self, engine, precision, command, threads):
        self.engine, self.precision, self.threads = engine, precision, threads
        self.runs_ns = []
        self.cpu_seconds = self.wall_seconds = 0.0
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        try:
            self.hello = self._answer()
        except RuntimeError:
            self.process.kill()
            raise
        self.process.send_signal(signal.SIGSTOP)

    def take_turn(self, seconds):
        self.process.send_signal(signal.SIGCONT)
        self._ask(f"runs {DISCARDED}")
        cpu, wall = self._cpu_seconds(), time.perf_counter()
        runs = self._ask(f"slice {seconds}")["runs_ns"]
        self.runs_ns += runs[0] if runs and isinstance(runs[0], list) else runs  # Octavo: those of each context
        self.cpu_seconds += self._cpu_seconds() - cpu
        self.wall_seconds += time.perf_counter() - wall
        self.process.send_signal(signal.SIGSTOP)

    def result(self):
        busy = self.cpu_seconds / self.wall_seconds
        if busy > self.threads + 0.2:
            raise RuntimeError(f"{self.engine} {self.precision} used {busy:.2f} cores, more than its {self.threads} threads")
        return {
            "engine": self.engine,
            "precision": self.precision,
            "min_ms": min(self.runs_ns) / 1e6,
            "median_ms": statistics.median(self.runs_ns) / 1e6,
            "runs": len(self.runs_ns),
            "load_ms": self.hello["load_ms"],
            "first_run_ms": self.hello["first_run_ms"],
            "peak_rss_mb": self.peak_rss_mb,
            "busy_cores": busy,
        }

    def end(self):
        self.process.kill()
        self.process.wait()

    def _ask(self, order):
        self.process.stdin.write(order + "\n")
        self.process.stdin.flush()
        reply = self._answer()
        self.peak_rss_mb = reply["peak_rss_mb"]
        return reply

    def _answer(self):
        line = self.process.stdout.readline()
        reply = json.loads(line) if line.startswith("{") else {"error": "the process ended without an answer"}
        if "error" in reply:
            raise RuntimeError(f"{self.engine} {self.precision}: {reply['error']}")
        return reply

    def _cpu_seconds(self):
        with open(f"/proc/{self.process.pid}/stat") as stat:
            fields = stat.read().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
