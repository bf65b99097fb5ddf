"""The runtime: kernels against numpy, tiles against the whole page, threads against one."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sauvolanet.net import load
from sauvolanet.net.architecture import Architecture
from sauvolanet.net.model import Model, describe
from sauvolanet.net.run import (
    Layer,
    add_enlarged,
    attend,
    attend_numpy,
    convolve,
    convolve_numpy,
    cut,
    halo_of,
    normalise,
    pack,
    pool,
    row_sums,
    unfold,
    unfold_numpy,
)
from sauvolanet.page.numbers import PageNumbers
from sauvolanet.synth import page

U = Architecture(kind="u", widths=((8, 16), (24,), (16,)), dilations=((1, 1), (1,), (2,)), norm="batch", fold=2, head=1, refine=(8, 16),
                 features=("gray", "mean", "deviation", "numbers"), windows=(7, 15, 31), constants=(0.0, 1.0))  # fmt: skip
CHAIN = Architecture(widths=((8, 16),), dilations=((1, 2),), windows=(7, 15))
MANY = Architecture(widths=((8,),), dilations=((1,),), windows=tuple(range(3, 23, 2)))  # more choices than lanes


def random_model(arch: Architecture, seed: int = 0) -> Model:
    """A model with random weights, large enough that every layer matters."""
    rng = np.random.default_rng(seed)
    weights = {}
    for layer in arch.convolutions():
        spread = (2 / (layer.inputs * layer.side**2)) ** 0.5
        weights[f"{layer.name}.weight"] = rng.normal(0, spread, layer.shape).astype(np.float32)
        weights[f"{layer.name}.bias"] = rng.normal(0, 0.1, layer.outputs).astype(np.float32)
    scaling = (
        {"kind": "percentile", "low": 1.0, "high": 99.0, "least": 16.0} if arch.norm == "batch" else {"kind": "minmax"}
    )
    k, r = [0.2] * len(arch.windows), [0.5] * len(arch.windows)
    return Model(describe("random", arch, k, r, 8.0, scaling, None, None, 0, "MIT", "", "", {}), weights)


@pytest.fixture(scope="module", params=[U, CHAIN, MANY], ids=["u", "chain", "many"])
def model(request: pytest.FixtureRequest) -> Model:
    return random_model(request.param)


@pytest.mark.parametrize(("height", "width"), [(1, 1), (3, 5), (9, 7), (20, 64), (17, 33), (5, 901)])
@pytest.mark.parametrize(
    ("inputs", "outputs", "size", "dilation"),
    [(1, 8, 3, 1), (11, 16, 3, 1), (40, 24, 3, 2), (5, 48, 1, 1), (3, 16, 3, 9)],
)
def test_convolution_kernel(
    height: int, width: int, inputs: int, outputs: int, size: int, dilation: int, level: str
) -> None:
    rng = np.random.default_rng(height)
    weight = rng.standard_normal((outputs, inputs, size, size)).astype(np.float32)
    bias = rng.standard_normal(outputs).astype(np.float32)
    x = rng.standard_normal((height, width, inputs)).astype(np.float32)
    layer = Layer(weight, bias, pack(weight), outputs, dilation, relu=True)
    truth = convolve_numpy(x, layer)
    for threads in (1, 3):
        assert np.allclose(convolve(x, layer, threads), truth, atol=1e-4)
    middle = height // 2
    assert np.allclose(convolve(x, layer, 1, middle)[middle:], truth[middle:], atol=1e-4)


def test_a_convolution_worked_out_by_hand(level: str) -> None:
    """A 3×3 kernel of ones on [[1, 2], [3, 4]] sums the whole page everywhere; with dilation 2 only the pixel itself."""
    x = np.array([[1, 2], [3, 4]], np.float32)[..., None]
    weight = np.ones((8, 1, 3, 3), np.float32)
    for dilation, expected in ((1, [[10, 10], [10, 10]]), (2, [[1, 2], [3, 4]])):
        layer = Layer(weight, np.zeros(8, np.float32), pack(weight), 8, dilation, relu=False)
        assert convolve(x, layer, 1)[..., 0].tolist() == expected
        assert convolve_numpy(x, layer)[..., 3].tolist() == expected


SIZES = pytest.mark.parametrize(("height", "width"), [(1, 1), (1, 9), (6, 2), (13, 40)])


@SIZES
def test_halves_and_doubles(height: int, width: int, level: str) -> None:
    rng = np.random.default_rng(width)
    large, small = rng.random((2 * height, 2 * width, 24), np.float32), rng.random((height, width, 24), np.float32)
    cells = large.reshape(height, 2, width, 2, 24)
    for threads in (1, 2):
        assert np.array_equal(pool(large, threads), cells.max((1, 3)))
        assert np.array_equal(add_enlarged(large.copy(), small, threads), large + small.repeat(2, 0).repeat(2, 1))


@SIZES
@pytest.mark.parametrize("channels", [3, 8, 24, 48])
def test_instance_normalisation(height: int, width: int, channels: int, level: str) -> None:
    rng = np.random.default_rng(height)
    z, scale, shift = (
        rng.normal(0, 3, (height, width, channels)).astype(np.float32),
        *rng.random((2, channels), np.float32),
    )
    wide = z.astype(np.float64)
    for threads in (1, 2):
        np.testing.assert_allclose(
            row_sums(z, threads), np.stack([wide.sum(1), (wide**2).sum(1)], 1), rtol=1e-12, atol=1e-12
        )
        np.testing.assert_allclose(
            normalise(z.copy(), scale, shift, threads), np.maximum(z * scale + shift, 0), atol=1e-5
        )


@SIZES
@pytest.mark.parametrize("fold", [1, 2])
@pytest.mark.parametrize("windows", [(7, 15, 31), (7, 15, 31, 63, 127), tuple(range(3, 23, 2))], ids=len)
def test_unfolding(height: int, width: int, fold: int, windows: tuple[int, ...], level: str) -> None:
    arch = Architecture(kind="u", widths=((8,), (8,)), dilations=((1,), (1,)), norm="batch", fold=fold, refine=(8,),
                        windows=windows, constants=(0.0, 1.0))  # fmt: skip
    rng = np.random.default_rng(width)
    head = rng.random((-(-height // fold), -(-width // fold), -(-arch.choices * fold**2 // 8) * 8), np.float32)
    gray, mean = rng.random((height, width), np.float32), rng.random((height, width, len(windows)), np.float32)
    for top, bottom in ((0, height), (height // 2, height)):
        truth = np.empty((bottom - top, width, arch.refine_inputs), np.float32)
        unfold_numpy(head, gray, mean, np.array(arch.refine_indices), fold, arch.choices, top, truth)
        assert np.array_equal(unfold(arch, head, gray, mean, top, bottom), truth)


@SIZES
@pytest.mark.parametrize(("windows", "constants"), [(1, 0), (3, 2), (5, 2), (8, 0)])
def test_attention(height: int, width: int, windows: int, constants: int, level: str) -> None:
    rng = np.random.default_rng(windows)
    choices = windows + constants
    wide = rng.normal(0, 5, (2, height, width, choices + 4)).astype(np.float32)
    logits, change = wide[..., :choices]
    mean, deviation = rng.random((2, height, width, windows), np.float32)
    k, r = rng.random((2, windows), np.float32) + np.float32(0.1)
    levels = rng.random(constants, np.float32)
    for more in (None, change):
        weights, expected = attend_numpy(logits if more is None else logits + more, mean, deviation, k, r, levels)
        for kept in (0, choices):
            attention, threshold = np.empty((height, width, kept), np.float32), np.empty((height, width), np.float32)
            attend(logits, more, mean, deviation, k, r, levels, attention, threshold)
            np.testing.assert_allclose(threshold, expected, atol=1e-5)
            np.testing.assert_allclose(attention, weights[..., :kept], atol=1e-6)


def test_without_the_core_the_result_is_the_same(model: Model, level: str, monkeypatch: pytest.MonkeyPatch) -> None:
    gray, _ = page(7, kind="print", height=70, width=93)
    numbers = PageNumbers.of(gray)
    compiled = model.surface(gray, numbers, 2)
    monkeypatch.setenv("SAUVOLANET_NO_NATIVE", "1")
    plain = Model(model.about, model.weights).surface(gray, numbers, 1)
    assert np.abs(plain - compiled).max() < 255e-4


@settings(max_examples=25, deadline=None)
@given(height=st.integers(1, 150), width=st.integers(1, 150), tile=st.integers(900, 40_000), seed=st.integers(0, 99))
@pytest.mark.parametrize("arch", [U, CHAIN], ids=["u", "chain"])
def test_tiles_equal_the_whole_page_bit_for_bit(
    arch: Architecture, height: int, width: int, tile: int, seed: int
) -> None:
    gray = np.random.default_rng(seed).integers(0, 256, (height, width), dtype=np.uint8)
    numbers = PageNumbers.of(gray)
    model = random_model(arch)
    whole = model.surface(gray, numbers, 1)
    assert np.array_equal(model.surface(gray, numbers, 2, largest=tile), whole)


@pytest.mark.parametrize("largest", [None, 9_000])
def test_the_bed_of_the_scanner_is_no_ink(largest: int | None) -> None:
    gray = np.full((200, 250), 220, np.uint8)
    gray[60:140:16, 40:200] = gray[61:140:16, 40:200] = 120
    gray[:, :5] = gray[-6:, 100:180] = 0
    gray[100, 40:44] = 0  # as dark, but not at a side: as the network decides
    model = load("swift")
    numbers = PageNumbers.of(gray)
    surface = model.surface(gray, numbers, 1, largest=largest)
    assert not surface[:, :5].any() and not surface[-6:, 100:180].any()
    assert (gray < surface)[60, 60:180].all() and (gray < surface)[100, 40:44].all()
    assert np.array_equal(model.explain(gray, numbers)[2], surface)
    plain = Model({**model.about, "margins": None}, model.weights)
    assert plain.bed(gray, plain.scale(numbers)) == [] and plain.scale(numbers).floor == 0


@pytest.mark.parametrize("threads", [2, 3, 7])
def test_threads_do_not_change_the_result(model: Model, threads: int) -> None:
    gray, _ = page(8, kind="letter", height=150, width=111)
    numbers = PageNumbers.of(gray)
    assert np.array_equal(model.surface(gray, numbers, threads), model.surface(gray, numbers, 1))


def test_the_halo_is_large_enough_and_not_much_larger() -> None:
    """A change of the page beyond the halo of a core does not reach it (with small windows); one inside does."""
    arch = Architecture(kind="u", widths=((8,), (8,), (8,)), dilations=((1,), (1,), (1,)), norm="batch", fold=2, head=3, refine=(8,),
                        features=("gray",), windows=(3, 5, 7), constants=())  # fmt: skip
    model = random_model(arch)
    halo, core = halo_of(arch), 96
    rng = np.random.default_rng(1)
    gray = rng.integers(0, 256, (core + 400, 32), dtype=np.uint8)

    def surface(page: np.ndarray) -> np.ndarray:
        return model.surface(page, PageNumbers.of(gray), 1)

    changed = gray.copy()
    changed[core + halo + 3 :] = 255 - changed[core + halo + 3 :]
    assert np.array_equal(surface(gray)[:core], surface(changed)[:core])
    nearer = gray.copy()
    nearer[core + halo // 2 :] = 255 - nearer[core + halo // 2 :]
    assert not np.array_equal(surface(gray)[:core], surface(nearer)[:core])


def test_tiles_cover_the_page_once() -> None:
    covered = np.zeros((100, 130), int)
    for tile in cut(100, 130, 16, 16, 5000, whole_rows=False):
        covered[tile.core] += 1
        assert tile.core[0].start % 16 == tile.core[1].start % 16 == 0
    assert (covered == 1).all()


def test_attention_sums_to_one_and_gives_the_threshold() -> None:
    model = load("original")
    gray, _ = page(9, kind="manuscript", height=120, width=100)
    numbers = PageNumbers.of(gray)
    surfaces, attention, threshold = model.explain(gray, numbers, 1)
    assert np.allclose(attention.sum(-1), 1, atol=1e-5)
    assert np.abs((attention * surfaces).sum(-1) - threshold).max() < 0.01
    assert np.array_equal(threshold, model.surface(gray, numbers, 1))


def test_the_cost_of_the_papers_network() -> None:
    arch = Architecture()
    assert arch.macs_per_pixel == 9 * (8 + 8 * 16 + 16 * 24 + 24 * 32 + 32 * 40 + 40 * 48 + 48 * 8)
    assert halo_of(arch) == 12  # it sees 25×25 pixels
