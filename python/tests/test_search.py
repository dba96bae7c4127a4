"""What of octavo.search needs no other package: the space, the front, the choice of the best, the picture, metrics,
the log."""

from __future__ import annotations

import importlib.util
import json
import random
import xml.etree.ElementTree
from pathlib import Path

import numpy as np
import pytest

import octavo
from octavo._samples import Input
from octavo._search import examples, log, picture
from octavo._search.front import Point, area_of, best_of, excess_of, front_of
from octavo._search.space import DEFAULT_OPTIONS, Space, bands_of, checked_options

FP32 = Point(70.0, 4.0)
POINTS = [
    Point(60.0, 1.0, {"w": "max"}, number=0),
    Point(68.0, 2.0, {"w": "mse"}, number=1),
    Point(67.0, 2.5, {"w": "mse"}, number=2),
    Point(70.5, 3.0, {"w": "adaround"}, number=3),
    Point(60.0, 1.5, {"w": "max"}, number=4),
]


def test_bands_have_every_group_once_and_the_noisiest_first() -> None:
    noise = [0.1, 0.9, 0.3, 0.0, 0.5, 0.2, 0.05, 0.6]
    bands = bands_of(noise, 4)
    assert bands == [[1], [7], [2, 4], [0, 3, 5, 6]]
    assert bands_of(noise, 1) == [list(range(8))] and bands_of([], 3) == []
    assert sorted(group for band in bands_of(noise, 100) for group in band) == list(range(8))


def test_a_space() -> None:
    space = Space({"weights": ["adaround", "max"]}, [["a"], ["b", "c,d"]], {"skip": "first", "output_sqnr": 0})
    grid = list(space.grid())
    assert len(grid) == space.size == 8 and len({tuple(each.items()) for each in grid}) == 8
    assert grid[0] == space.default and not space.in_fp32(grid[1])
    assert [space.in_fp32(choice) for choice in space.ladder()] == [[], ["a"]]
    everything = {"weights": "max", "fp32 band 1": True, "fp32 band 2": True}
    assert space.compile_options(everything) == {
        "weights": "max",
        "skip": ["first", "a", "b", "c?d"],
        "output_sqnr": 0,
    }
    draw = random.Random(1)
    for _ in range(20):
        other = space.neighbour(everything, draw)
        assert sum(other[name] != everything[name] for name in everything) == 1 and other in grid


def test_values_are_checked() -> None:
    assert checked_options(None, {})["calibration"][0] == "auto"
    assert list(checked_options(None, {"weights": "max"})) == [name for name in DEFAULT_OPTIONS if name != "weights"]
    assert checked_options({"corrections": [["bias", "smooth"], "none"]}, {}) == {
        "corrections": ["bias,smooth", "none"]
    }
    for space, fixed, found in (
        ({"weights": "max"}, {}, "a list of values"),
        ({"weights": ["max"]}, {"weights": "mse"}, "beside it"),
        ({"skip": ["a"]}, {}, "by itself"),
    ):
        with pytest.raises(octavo.UsageError, match=found):
            checked_options(space, fixed)


def test_the_front_is_what_no_other_point_beats() -> None:
    def beaten(point: Point) -> bool:
        return any(other.ms <= point.ms and other.metric >= point.metric and other[:2] != point[:2] for other in many)

    draw = random.Random(2)
    many = [Point(draw.randrange(30), draw.randrange(1, 30), {}, number=i) for i in range(200)]
    front = front_of(many)
    assert {point[:2] for point in front} == {point[:2] for point in many if not beaten(point)}
    assert [point.ms for point in front] == sorted({point.ms for point in front})
    assert [point.number for point in front_of(POINTS)] == [0, 1, 3]


def test_the_best_is_the_fastest_within_the_drop_or_the_most_accurate_in_time() -> None:
    def best(max_drop: float | None, latency: float | None) -> Point:
        return best_of([*POINTS, FP32], FP32, max_drop, latency)

    assert best(2.0, None).number == 1 and best(1.9, None).number == 3 and best(10.0, None).number == 0
    assert best(-0.5, None).number == 3
    assert best(None, 2.6).number == 1 and best(None, 100.0).number == 3
    assert best(3.0, 2.2).number == 1
    # None is within both: what keeps the drop. None is within the time: the fastest.
    assert best(0.0, 0.5).number == 3 and best(None, 0.5).number == 0 and best(-5.0, None).number == 0
    assert best_of([POINTS[0], FP32], FP32, 1.0, None).is_fp32
    assert excess_of(POINTS[1], FP32, 1.5, 1.0) == [0.5, 1.0]


def test_the_area_of_a_front() -> None:
    assert area_of(front_of(POINTS), FP32, 50.0) == 3 * 10 + 2 * 8 + 1 * 2.5
    assert area_of([FP32], FP32, 50.0) == 0.0


def test_the_picture_is_sound_and_has_every_point() -> None:
    strange = POINTS[0]._replace(choice={"<&>": '"'})
    svg = picture.svg_of({"tpe": POINTS, "<grid>": [strange]}, FP32, POINTS[1], "top1 <%>")
    root = xml.etree.ElementTree.fromstring(svg)
    circles = list(root.iter("{http://www.w3.org/2000/svg}circle"))
    assert len(circles) == len(POINTS) + 2
    texts = [each.text for each in root.iter("{http://www.w3.org/2000/svg}text")]
    assert {"tpe (5)", "<grid> (1)", "fp32", "chosen", "top1 <%>"} <= set(texts)
    xml.etree.ElementTree.fromstring(picture.svg_of({"one": [FP32]}, FP32, None, "m"))  # all in one place


def test_metrics_are_those_of_evaluate(digits: str, digits_test: dict[str, np.ndarray]) -> None:
    from conftest import as_inputs

    model = octavo.compile(digits, precision="fp32")
    images, labels = as_inputs(digits_test["images"]), digits_test["labels"]
    outputs = examples.answers_of(model, ((image[None],) for image in images))
    told = octavo.evaluate(digits, images=[(images, labels)])["models"][0]
    assert octavo.metrics.top1(outputs, labels) == pytest.approx(told["top1_percent"], abs=0.01)
    assert octavo.metrics.top5(outputs, labels) == pytest.approx(told["top5_percent"], abs=0.01)
    assert octavo.metrics.top1(np.eye(1001)[None, 7], np.array([6])) == 100.0
    with pytest.raises(octavo.UsageError, match="'top2', expected map, miou, spearman, top1, top5"):
        octavo.metrics.named("top2")


def test_examples_of_anything() -> None:
    inputs = [Input("x", "float32", [1, 2])]
    x = np.arange(8, dtype=np.float32).reshape(4, 2)
    as_pairs = examples.examples_of([(x[:3], [1, 2, 3]), (x[3], 4)], inputs)
    named = examples.examples_of([{"x": x, "labels": np.array([1, 2, 3, 4])}], inputs)
    for found in (as_pairs, named):
        np.testing.assert_array_equal(np.concatenate([each[0] for each in found.inputs]), x)
        assert list(found.labels) == [1, 2, 3, 4]
    assert examples.examples_of([(x[0], {"boxes": []})], inputs).labels == [{"boxes": []}]
    for data, found in (
        ([], "nothing"),
        ([(x, [1])], "1 labels"),
        ([(x,)], "1 values, expected 1 for the inputs and one"),
        ([{"x": x}], "no key beside the inputs"),
    ):
        with pytest.raises(octavo.UsageError, match=found):
            examples.examples_of(data, inputs)


def test_the_log_of_measurements_is_the_programs(digits: str, tmp_path: Path) -> None:
    from octavo._search import job

    path = tmp_path / "log"
    octavo.tune(digits, precision="fp32", tuning_log=path, trials=2, bench_seconds=0.05, threads=1)
    lines = path.read_text().splitlines()
    assert lines[0] == log.HEAD and json.loads(lines[1])["machine"] == job.machine_name()
    with open(path, "a", encoding="utf-8") as file:
        file.write('{"machine": "cut o')
    log.append(path, [log.line_of("m", "search", "--weights=max", {"ms": 1.5})])
    assert path.read_text().splitlines() == [*lines, log.line_of("m", "search", "--weights=max", {"ms": 1.5})]
    octavo.compile(digits, precision="fp32", tuning_log=path)
    log.append(tmp_path / "new", [lines[1]])
    octavo.compile(digits, precision="fp32", tuning_log=tmp_path / "new")
    (tmp_path / "other").write_text("something\n")
    with pytest.raises(octavo.InvalidInputError, match="a log of measurements"):
        log.append(tmp_path / "other", lines[1:])


def test_missing_packages_are_named(digits: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(
        ModuleNotFoundError, match=r"optuna, distributed, xgboost not installed. pip install octavo\[search\]"
    ):
        octavo.search(digits, [], max_drop=1, sampler="xgb", workers=2)
    for options, found in (
        ({}, "neither max_drop nor latency"),
        ({"max_drop": 1, "sampler": "best"}, "tpe, nsga2, random, grid, xgb"),
        ({"max_drop": 1, "trials": -1}, "from 0 on"),
    ):
        with pytest.raises(octavo.UsageError, match=found):
            octavo.search(digits, [], **options)
