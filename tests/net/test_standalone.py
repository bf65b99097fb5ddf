"""One ONNX file: another engine gives what our runtime gives, on pages of any size."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import sauvolanet
from sauvolanet.cli import main
from sauvolanet.errors import RunFailed
from sauvolanet.net import Model, load, shipped, standalone
from sauvolanet.page.numbers import PageNumbers
from sauvolanet.synth import page

onnx = pytest.importorskip("onnx")
onnxruntime = pytest.importorskip("onnxruntime")

Engine = Callable[[np.ndarray], list[np.ndarray]]
GRAY, _ = page(5, kind="letter", height=150, width=170)
BED = np.maximum(GRAY, 60)  # a page with pale ink on a scanner's black bed
BED[:4, :90] = BED[:, -5:] = 0
BED[70, -3] = 255
SPARSE = np.full((150, 170), 230, np.uint8)  # a word on an empty page
SPARSE[70:74, 60:68:2] = 40
RAMP = np.tile(np.arange(0, 256, 3, dtype=np.uint8), (9, 1))


@pytest.fixture(scope="module", params=shipped())
def model(request: pytest.FixtureRequest) -> Model:
    return load(request.param)


@pytest.fixture(scope="module", params=["onnxruntime", "openvino"])
def engine(request: pytest.FixtureRequest, model: Model) -> Engine:
    """A function that gives threshold (H, W) and attention (choices, H, W) of a page."""
    graph = standalone.standalone_graph(model)
    if request.param == "onnxruntime":
        session = onnxruntime.InferenceSession(graph, providers=["CPUExecutionProvider"])
        return lambda gray: [v[0] for v in session.run(["threshold", "attention"], {"gray": gray[None, None]})]
    openvino = pytest.importorskip("openvino")
    core = openvino.Core()
    compiled = core.compile_model(core.read_model(graph), "CPU", {"INFERENCE_PRECISION_HINT": "f32"})
    return lambda gray: [v[0] for v in compiled({"gray": gray[None, None]}).values()]


@pytest.mark.parametrize(
    "gray", [GRAY, GRAY[:97, :41], GRAY[:5, :150], GRAY[::-1, ::-1] // 3, RAMP, BED, SPARSE],
    ids=["letter", "odd sides", "narrow", "dark", "ramp", "bed", "sparse"],
)  # fmt: skip
def test_another_engine_gives_the_same(engine: Engine, model: Model, gray: np.ndarray) -> None:
    threshold, attention = engine(np.ascontiguousarray(gray))
    _, choices, surface = model.explain(gray, PageNumbers.of(gray))
    assert threshold.shape == (1, *gray.shape)
    assert np.abs(threshold[0] - surface).max() < standalone.TOLERANCE
    assert np.abs(attention - choices.transpose(2, 0, 1)).max() < 1e-4
    ink = model.writing(gray < threshold[0])  # which no graph does, nor the reading
    as_it_is = Model({**model.about, "reading": None}, model.weights)
    assert (ink == sauvolanet.Binarizer(model=as_it_is, invert="no")(gray)).mean() > 0.9999


def test_blank_pages_stay_blank(engine: Engine) -> None:
    noise = 200 + np.random.default_rng(0).integers(0, 4, (60, 70))
    for gray in (np.zeros((1, 1), np.uint8), np.full((8, 9), 255, np.uint8), noise.astype(np.uint8)):
        assert not (gray < engine(gray)[0]).any()


def test_the_file_says_whose_it_is(tmp_path: Path, model: Model, capsys: pytest.CaptureFixture[str]) -> None:
    Image.fromarray(GRAY).save(tmp_path / "page.png")
    target = tmp_path / "model.onnx"
    assert main(["export", model.name, "--standalone", "-o", str(target), "--page", str(tmp_path / "page.png")]) == 0
    assert capsys.readouterr().out.startswith(f"{target}: {model.name}, threshold within")
    told = {p.key: p.value for p in onnx.load(target).metadata_props}
    assert (told["copyright"], told["licence"]) == (model.about["copyright"], model.about["licence"])
    assert told["ink"] == "gray < threshold"


def test_a_graph_that_differs_is_not_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    right = load("original")
    wrong = Model({**right.about, "k": [k + 0.1 for k in right.about["k"]]}, right.weights)
    graph = standalone.standalone_graph
    monkeypatch.setattr(standalone, "standalone_graph", lambda model: graph(wrong))
    with pytest.raises(RunFailed, match="nothing was written"):
        standalone.write_standalone(right, tmp_path / "model.onnx", GRAY)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_in_8_bits_the_ink_is_the_same(seed: int, tmp_path: Path) -> None:
    gray, _ = page(seed, kind="manuscript", height=400, width=500)
    found = standalone.write_standalone(load("swift"), tmp_path / "model.onnx", gray)  # fails on more than 20 pixels
    assert found.startswith(("threshold within", "ink as the runtime's but for"))


def test_an_onnx_file_is_as_its_model_is(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What would make another model of a run is refused, not passed over."""
    for options in (["--single"], ["--licence", "MIT"], ["--mean-with", "swift"]):
        assert main(["export", "original", "--standalone", "-o", str(tmp_path / "model.onnx"), *options]) == 2
        assert options[0] in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def test_without_the_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    assert main(["export", "original", "--standalone", "-o", str(tmp_path / "model.onnx")]) == 2
    assert "pip install 'sauvolanet[onnx]'" in capsys.readouterr().err
