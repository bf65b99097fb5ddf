"""Cells: computed once, found again by content, shared between machines, left when time is up."""

import time

import numpy as np
import pytest
from PIL import Image

from sauvolanet.errors import BadData, UsageError
from sauvolanet.paper import Work, cells, parse_shard
from sauvolanet.paper.cells import pages_digest


def test_a_cell_is_computed_once(tmp_path):
    calls = []
    for _ in range(2):
        assert Work(tmp_path, tmp_path).cell("a", {"x": 1}, lambda: calls.append(1) or {"v": [1.5]}) == {"v": [1.5]}
    assert len(calls) == 1
    assert Work(tmp_path, tmp_path).cell("a", {"x": 2}, lambda: "other") == "other"


def test_what_is_not_finished_is_not_kept(tmp_path):
    work = Work(tmp_path, tmp_path)
    assert work.cell("a", {}, lambda: None) is None
    assert work.cell("a", {}, lambda: 1) == 1


@pytest.mark.parametrize("content", [b'{"cell": "a", "val', b"[]", b'{"cell": "a"}', b"\xff"])
def test_a_damaged_cell_is_named(tmp_path, content):
    Work(tmp_path, tmp_path).cell("a", {}, lambda: 1)
    (path,) = (tmp_path / "cells").iterdir()
    path.write_bytes(content)
    with pytest.raises(BadData, match=rf"{path.name}: damaged; remove it"):
        Work(tmp_path, tmp_path).cell("a", {}, lambda: 1)


def test_every_name_stays_in_the_folder(tmp_path):
    out = tmp_path / "out"
    assert Work(tmp_path, out).cell("../../mine/v2", {}, lambda: 1) == 1
    assert Work(tmp_path, out).cell("../../mine/v2", {}, lambda: 2) == 1
    assert [p.name for p in tmp_path.iterdir()] == ["out"] and len(list((out / "cells").iterdir())) == 1


@pytest.mark.parametrize("turn", [None, 5])
def test_each_cell_belongs_to_one_shard(tmp_path, turn):
    for i in range(20):
        done = [Work(tmp_path, tmp_path / f"{i}-{s}", (s, 3)).cell("a", {"i": i}, lambda: 1, turn) for s in (1, 2, 3)]
        assert sorted(done, key=bool) == [None, None, 1]


def test_time_is_up(tmp_path):
    work = Work(tmp_path, tmp_path, deadline=time.monotonic() - 1)
    assert work.cell("a", {}, lambda: 1) is None
    Work(tmp_path, tmp_path).cell("a", {}, lambda: 1)
    assert work.cell("a", {}, lambda: 2) == 1  # what is there costs nothing


@pytest.mark.parametrize("text", ["0/2", "3/2", "1", "a/b", "1/0", "1/²"])
def test_shards_that_make_no_sense(text):
    with pytest.raises(UsageError, match="I/N"):
        parse_shard(text)


def test_pages_count_by_content(tmp_path):
    page = np.full((8, 8), 200, np.uint8)
    for where in ("one", "two"):
        (tmp_path / where / "DIBCO2009").mkdir(parents=True)
        for name in ("H01.png", "H01.gt.png"):
            Image.fromarray(page).save(tmp_path / where / "DIBCO2009" / name)
    one, two = (pages_digest(Work(tmp_path / w, tmp_path).pages("DIBCO2009")) for w in ("one", "two"))
    assert one == two
    Image.fromarray(page // 2).save(tmp_path / "two" / "DIBCO2009" / "H01.gt.png")
    assert pages_digest(Work(tmp_path / "two", tmp_path).pages("DIBCO2009")) != one


@pytest.mark.parametrize("what", [{"model": "original"}, {"method": "otsu"}], ids=str)
def test_a_change_of_code_is_another_cell(what, monkeypatch):
    before, scores = cells.engine_key(**what), cells.metrics_key(("fm", "drd"))
    monkeypatch.setattr(cells, "known_engines", {})
    assert cells.engine_key(**what) == before
    monkeypatch.setattr(cells, "known_engines", {})
    monkeypatch.setattr("sauvolanet.page.numbers.BLANK_RANGE", 5)
    assert cells.engine_key(**what) != before
    cells.metrics_key.cache_clear()
    assert cells.metrics_key(("fm", "drd")) == scores
    cells.metrics_key.cache_clear()
    monkeypatch.setattr(cells, "score", lambda *pair, metrics: dict.fromkeys(metrics, 1.0))
    assert cells.metrics_key(("fm", "drd")) != scores
    cells.metrics_key.cache_clear()


def test_a_folder_without_the_sets(tmp_path):
    (tmp_path / "mine").mkdir()
    for name in ("a.png", "a.gt.png"):
        Image.fromarray(np.zeros((4, 4), np.uint8)).save(tmp_path / "mine" / name)
    with pytest.raises(BadData, match="none of the paper's 13 sets"):
        _ = Work(tmp_path, tmp_path).sets
