"""Networks in 8 bits: kernels against their numpy functions, bit for bit, and the same ink on every processor."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from sauvolanet.core.kernels import levels, native
from sauvolanet.errors import BadModel
from sauvolanet.net import Model, load, shipped
from sauvolanet.net.architecture import Architecture, Convolution
from sauvolanet.net.eight import FIRST, Layer8, Network8, convolve8_numpy, following, parts_of, quantise_numpy, scale_of
from sauvolanet.net.inputs import PageInputs, features_numpy
from sauvolanet.net.model import save
from sauvolanet.net.quantise import quantised
from sauvolanet.net.run import Network, attend, attend_numpy
from sauvolanet.page.numbers import PageNumbers
from sauvolanet.synth import page
from sauvolanet.train.settings import SWIFT

from .test_run import U, random_model

SEEING = Architecture(kind="u", widths=((8, 8), (24,)), dilations=((1, 1), (2,)), norm="batch", fold=2, head=3,
                      refine=(8,), view=(8, 8), features=("gray", "mean"), windows=(7, 15, 31), constants=(0.0, 1.0))  # fmt: skip
GRAY, _ = page(3, kind="letter", height=150, width=190)


def layer_of(inputs: int, outputs: int, side: int, dilation: int, seed: int = 0, follows: bool = True,
             name: str = "some") -> Layer8:  # fmt: skip
    rng = np.random.default_rng(seed)
    layer = Convolution(name, inputs, outputs, side, dilation, follows, 1)
    weights = {
        f"{name}.weight": rng.normal(0, 1, layer.shape).astype(np.float32),
        f"{name}.bias": rng.normal(0, 3, outputs).astype(np.float32),
        f"{name}.low": -rng.random(inputs, np.float32) * (rng.random(inputs) < 0.5),
        f"{name}.high": rng.random(inputs, np.float32) * 3 + 0.1,
    }
    return Layer8.of(layer, weights, rng.random(outputs, np.float32) * 9 + 1 if follows else None)


def test_bytes_worked_out_by_hand() -> None:
    gain, zero = scale_of(np.array([-1, 0, 0], np.float32), np.array([1, 254, 0], np.float32))
    assert gain.tolist() == [63.5, 0.5, 127 / np.float32(1e-3)] and zero.tolist() == [64, 0, 0]
    x = np.array([[[-2, 3, 0], [0, 1, 1], [1, 1000, -1]]], np.float32)
    assert quantise_numpy(x, gain, zero).tolist() == [[[0, 2, 0], [64, 1, 127], [127, 127, 0]]]


def test_a_convolution_worked_out_by_hand() -> None:
    """Ones over a page of 2 × 2 whose 0 is byte 64: beyond the page is 0, too, so each sum is that of the page."""
    weights = {"some.weight": np.ones((1, 1, 3, 3), np.float32), "some.bias": np.array([0.25], np.float32),
               "some.low": np.array([-1], np.float32), "some.high": np.array([1], np.float32)}  # fmt: skip
    layer = Layer8.of(Convolution("some", 1, 1, 3, 1, False, 1), weights, None)
    x = np.array([[[64 + 10], [64]], [[64 - 3], [64 + 1]]], np.uint8)
    assert layer.weight[0, 0].tolist() == [[127] * 3] * 3
    found = convolve8_numpy(x, layer)[..., 0]
    assert found == pytest.approx(np.full((2, 2), 8 / 63.5 + 0.25), abs=1e-6)


def test_finer_weights_worked_out_by_hand() -> None:
    """The largest weight is 127 · 128 steps; 0.01 of it, 162.56 steps, is 163: once 128 and 35."""
    weights = {f"{FIRST}.weight": np.array([1, 0.01], np.float32).reshape(1, 2, 1, 1),
               f"{FIRST}.bias": np.zeros(1, np.float32), f"{FIRST}.low": np.zeros(2, np.float32),
               f"{FIRST}.high": np.ones(2, np.float32)}  # fmt: skip
    layer = Layer8.of(Convolution(FIRST, 2, 1, 1, 1, False, 1), weights, None)
    assert layer.weight[0, :2, 0, 0].tolist() == [127 * 128, 163]
    assert [part[0, :2, 0, 0].tolist() for part in parts_of(layer.weight)] == [[127, 1], [0, 35]]
    x = np.array([[[100, 50]]], np.uint8)
    expected = np.float32(127 * 128 * 100 + 163 * 50) * layer.times[0]
    assert convolve8_numpy(x, layer)[0, 0, 0] == expected == pytest.approx((100 + 0.5) / 127, abs=1e-4)


@pytest.mark.parametrize(("height", "width"), [(1, 1), (2, 5), (9, 13), (3, 64), (5, 301)])
@pytest.mark.parametrize(
    ("inputs", "outputs", "side", "dilation"),
    [(1, 8, 3, 1), (14, 16, 3, 1), (16, 28, 1, 1), (40, 24, 3, 2), (11, 8, 3, 1), (32, 48, 3, 1), (24, 40, 3, 4)],
)
def test_the_convolution_is_exact(
    height: int, width: int, inputs: int, outputs: int, side: int, dilation: int, level: str
) -> None:
    kernels, reach = native(), side // 2 * dilation
    assert kernels is not None
    rng = np.random.default_rng(width)
    for follows, name in ((True, "some"), (False, "some"), (True, FIRST), (False, FIRST)):
        layer = layer_of(inputs, outputs, side, dilation, height, follows, name)
        x = rng.integers(0, 128, (height, width, len(layer.gain)), np.uint8)
        truth = convolve8_numpy(x, layer)
        framed = np.empty((height + 2 * reach, width + 2 * reach, x.shape[2]), np.uint8)
        framed[:] = layer.zero
        framed[reach : reach + height, reach : reach + width] = x
        given = (framed, layer.packed, layer.start, layer.times, layer.bias)
        values = np.zeros(truth.shape, np.float32)
        kernels.convolve8(*given, None, values, 0, height, side, dilation)
        assert np.array_equal(values, truth)
        room = np.full((height + 2, width + 2, truth.shape[2]), 200, np.uint8)  # a place in something larger
        kernels.convolve8(*given, room[1:-1, 1:-1], None, 0, height, side, dilation)
        one, none = np.ones(1, np.float32), np.zeros(1, np.float32)
        assert np.array_equal(room[1:-1, 1:-1], quantise_numpy(truth, one, none))
        assert (room[0] == 200).all() and (room[:, -1] == 200).all()


@pytest.mark.parametrize(("height", "width"), [(1, 1), (3, 7), (4, 50)])
@pytest.mark.parametrize("channels", [4, 12, 16, 48, 100])
def test_bytes_are_exact(height: int, width: int, channels: int, level: str) -> None:
    kernels = native()
    assert kernels is not None
    rng = np.random.default_rng(channels)
    gain, zero = scale_of(-rng.random(channels, np.float32), rng.random(channels, np.float32))
    x = rng.normal(0, 2, (height, width, channels)).astype(np.float32)
    out = np.zeros(x.shape, np.uint8)
    kernels.quantise(x, gain, zero, out)
    assert np.array_equal(out, quantise_numpy(x, gain, zero))


@pytest.mark.parametrize(("height", "width"), [(1, 1), (3, 7), (4, 50)])
@pytest.mark.parametrize("channels", [8, 16, 24, 40])
def test_halves_and_doubles_are_exact(height: int, width: int, channels: int, level: str) -> None:
    kernels = native()
    assert kernels is not None
    rng = np.random.default_rng(width)
    large = rng.integers(0, 128, (2 * height, 2 * width, channels), np.uint8)
    half = np.zeros((height, width, channels + 8), np.uint8)
    kernels.pool8(large, half[..., :channels], 0, height)
    assert np.array_equal(half[..., :channels], large.reshape(height, 2, width, 2, channels).max((1, 3)))
    scale, small = rng.random(channels, np.float32), rng.normal(0, 1, (height, width, channels)).astype(np.float32)
    gain, zero = scale_of(-rng.random(channels, np.float32) * 9, rng.random(channels, np.float32) * 9)
    out = np.zeros(large.shape, np.uint8)
    kernels.add_enlarged8(large, scale, small, gain, zero, out, 0, height)
    total = large * scale + small.repeat(2, 0).repeat(2, 1)
    assert np.array_equal(out, quantise_numpy(total, gain, zero))


@pytest.mark.parametrize("width", [1, 7, 8, 9, 40])
@pytest.mark.parametrize(("windows", "constants"), [(5, 2), (3, 0), (8, 0), (1, 1)])
def test_the_attention(width: int, windows: int, constants: int, level: str) -> None:
    rng = np.random.default_rng(width)
    choices = windows + constants
    logits, change = rng.normal(0, 5, (2, 3, width, choices)).astype(np.float32)
    mean, deviation = rng.random((2, 3, width, windows), np.float32)
    k, r, levels_ = (rng.random(n, np.float32) + 0.1 for n in (windows, windows, constants))
    for more in (change, None):
        attention, threshold = np.zeros((3, width, choices), np.float32), np.zeros((3, width), np.float32)
        attend(logits, more, mean, deviation, k, r, levels_, attention, threshold, fused=False)
        total = logits if more is None else logits + more
        weights, surface = attend_numpy(total, mean, deviation, k, r, levels_)
        assert np.allclose(attention, weights, atol=1e-5) and np.allclose(threshold, surface, atol=1e-5)


def in_eight(architecture: Architecture) -> Network8:
    network = quantised(random_model(architecture), [GRAY]).network
    assert isinstance(network, Network8) and network.at_once
    return network


@pytest.mark.parametrize(("height", "width"), [(1, 1), (2, 31), (33, 17), (20, 1100)])
@pytest.mark.parametrize(
    "features", [("gray", "mean", "deviation"), ("deviation", "numbers", "mean"), ("gray", "mean", "numbers", "habit")]
)
def test_from_the_page_to_the_first_convolution(height: int, width: int, features: tuple[str, ...], level: str) -> None:
    """One kernel gives what window statistics, features and their bytes give one after the other."""
    network = in_eight(replace(SEEING, features=features, head=1))
    gray = np.resize(GRAY, (height, width))
    inputs = PageInputs.of(gray, PageNumbers.of(gray), network.architecture, {"kind": "minmax"}, None)
    for region in (
        (slice(0, height), slice(0, width)),
        (slice(height // 16 * 8, height), slice(width // 32 * 16, width)),
    ):
        found = network._first(inputs, region, 2)
        truth = np.empty((*(n - 2 for n in found.shape[:2]), inputs.architecture.inputs), np.float32)
        features_numpy(inputs.architecture, *inputs.statistics(region), inputs.numbers, truth)
        layer, count = network.eights["down0.0"], truth.shape[2]
        assert np.array_equal(found[1:-1, 1:-1, :count], quantise_numpy(truth, layer.gain[:count], layer.zero[:count]))
        assert (found[0] == layer.zero).all() and (found[:, -1] == layer.zero).all()


@pytest.mark.parametrize(("height", "width"), [(1, 1), (2, 31), (33, 17), (40, 1100)])
def test_from_the_head_to_the_thresholds(height: int, width: int, level: str) -> None:
    """One kernel gives what head, unfolding, refinement and attention give one after the other, whatever the tiles."""
    network = in_eight(replace(SEEING, head=1))
    gray = np.resize(GRAY, (height, width))
    inputs = PageInputs.of(gray, PageNumbers.of(gray), network.architecture, {"kind": "minmax"}, None)
    (whole,) = Network.tiles(network, inputs, 1)
    for largest in (None, 3000):
        for tile in network.tiles(inputs, 2, largest):
            assert np.array_equal(tile.threshold, whole.threshold[tile.core])


def test_what_follows_what() -> None:
    after = following(SWIFT)
    assert after["down0.1"] == "down1.0" and after["down3.0"] == "reduce2"
    assert after["up2"] == "reduce1" and after["up0"] == "head"
    assert after["refine0"] == "refine1" and after["view3"] == "view4"
    assert {layer.name for layer in SWIFT.convolutions() if layer.normalised} <= after.keys()


@pytest.fixture(scope="module", params=[U, SEEING, SWIFT], ids=["u", "seeing", "swift"])
def model(request: pytest.FixtureRequest) -> Model:
    return quantised(random_model(request.param), [GRAY])


def test_every_processor_gives_the_same_surface(model: Model, monkeypatch: pytest.MonkeyPatch) -> None:
    numbers = PageNumbers.of(GRAY)
    found = []
    for level in levels():
        monkeypatch.setenv("SAUVOLANET_PROCESSOR", level)
        found.append(model.surface(GRAY, numbers, 1))
    assert all(np.array_equal(surface, found[0]) for surface in found)
    monkeypatch.setenv("SAUVOLANET_NO_NATIVE", "1")  # numpy has another exponential function: the last bits differ
    in_numpy = model.surface(GRAY, numbers, 1)
    assert not found or np.allclose(in_numpy, found[0], atol=1e-3)
    assert not found or np.array_equal(in_numpy > GRAY, found[0] > GRAY)


def test_tiles_and_threads_change_nothing(model: Model) -> None:
    numbers = PageNumbers.of(GRAY)
    whole = model.surface(GRAY, numbers, 1)
    for largest in (9_000, 15_000):
        assert np.array_equal(model.surface(GRAY, numbers, 2, largest), whole)
    assert np.array_equal(model.explain(GRAY, numbers, 2)[2], whole)


@pytest.mark.parametrize("name", [n for n in shipped() if load(n).about["bits"] == 8])
def test_a_shipped_model_is_near_its_single_precision(name: str) -> None:
    model = load(name)
    single = Model({**model.about, "bits": 32}, model.weights)
    assert isinstance(model.network, Network8) and type(single.network) is Network
    numbers = PageNumbers.of(GRAY)
    ink, in_single = model.surface(GRAY, numbers) > GRAY, single.surface(GRAY, numbers) > GRAY
    assert np.mean(ink != in_single) < 0.01
    assert model.digest != single.digest


def test_a_model_says_how_many_bits(tmp_path: Path) -> None:
    model = quantised(random_model(U), [GRAY])
    save(model.about, model.weights, tmp_path / "eight")
    assert np.array_equal(load(str(tmp_path / "eight")).surface(GRAY, PageNumbers.of(GRAY)),
                          model.surface(GRAY, PageNumbers.of(GRAY)))  # fmt: skip
    save({**model.about, "bits": 32}, model.weights, tmp_path / "ranges")
    with pytest.raises(BadModel, match="unknown arrays"):
        load(str(tmp_path / "ranges"))
    for number in (7, "8", None):
        save({**model.about, "bits": number}, model.weights, tmp_path / f"of-{number}")
        with pytest.raises(BadModel, match="bits must be"):
            load(str(tmp_path / f"of-{number}"))
