"""onnx's own suite (onnx.backend.test.BackendTest) on octavo.onnx_backend, counted by what became of each test and why:

    python python/tests/onnx_suite.py [--verbose]

Needs the onnx package and this repository, whose list of node tests that are out of scope it reads. Nothing is
downloaded."""

from __future__ import annotations

import contextlib
import io
import os
import re
import sys
import tempfile
import unittest
import warnings
from collections import Counter
from pathlib import Path

OUT_OF_SCOPE = Path("tests/conformance/out_of_scope.txt")
#: Of tests that are no node tests, or are refused, or answer otherwise.
REASONS = {
    "test_sequence_model": "sequences of tensors",
    "test_strnorm_": "strings",
    "test_gradient_of_": "training",
    "test_flexattention(?!.*_expanded)": "FlexAttention of the preview domain",
    "test_tfidfvectorizer": "TfIdfVectorizer",
    "test_scan_sum$": "Scan of opset 8",
    "test_PReLU_.d_multiparam": "onnx's converter from opset 6 leaves slopes that do not broadcast",
    "test_resize_downsample_scales_(linear|cubic)_align_corners$": "another answer: the length after rounding down",
    "test_dft_inverse": "another answer: sums up to 54 that cancel leave 2e-6, the test allows 1e-7",
}


class Result(unittest.TestResult):
    """Names of tests by what became of them, without those of other devices."""

    def __init__(self) -> None:
        super().__init__()
        self.found: dict[str, dict[str, str]] = {"passed": {}, "failed": {}, "skipped": {}}

    def _put(self, kind: str, test: unittest.TestCase, text: str = "") -> None:
        name = test.id().split(".")[-1]
        if name.endswith("_cpu"):
            self.found[kind][name.removesuffix("_cpu")] = text

    def addSuccess(self, test: unittest.TestCase) -> None:
        self._put("passed", test)

    def addSkip(self, test: unittest.TestCase, reason: str) -> None:
        self._put("skipped", test, reason)

    def addFailure(self, test: unittest.TestCase, err: object) -> None:
        self._put("failed", test, str(err[1]))  # type: ignore[index]

    addError = addFailure  # noqa: N815


def ran() -> dict[str, dict[str, str]]:
    """Messages by test by "passed", "failed" and "skipped"."""
    from onnx.backend.test import BackendTest

    from octavo.onnx_backend import OctavoBackend

    result = Result()
    with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(io.StringIO()), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        os.environ["ONNX_HOME"] = folder
        BackendTest(OctavoBackend, __name__).test_suite.run(result)
    return result.found


def reason_of(name: str, root: Path) -> str:
    """Why a test is not expected to pass, or nothing."""
    for line in (root / OUT_OF_SCOPE).read_text().splitlines():
        if line.partition(" ")[0] == name:
            return line.partition(" ")[2]
    return next((reason for pattern, reason in REASONS.items() if re.match(pattern, name)), "")


def main() -> None:
    root = Path(__file__).resolve().parents[2]
    found = ran()
    for kind in ("failed", "skipped"):
        reasons = Counter(reason_of(name, root) or "unknown" for name in found[kind])
        for reason, count in sorted(reasons.items(), key=lambda item: -item[1]):
            print(f"  {kind} {count:4}  {reason}")
        for name, text in sorted(found[kind].items()) if "--verbose" in sys.argv else ():
            print(f"    {name}: {' '.join(text.split())[:160]}")
    print(", ".join(f"{len(found[kind])} {kind}" for kind in ("passed", "failed", "skipped")))


if __name__ == "__main__":
    main()
