"""Speed and memory of the classic methods beside doxapy and scikit-image, on one made page of 10 megapixels.

    python benchmarks/classic.py [--pixels 10e6] [--rounds 5] [NAME …]

Runs alternate between the peers, so that other work on the machine meets all of them; the median ratio is printed.
Memory is the growth of the peak resident size in a process of its own, in bytes a pixel (Linux only).
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from statistics import median

import numpy as np

from sauvolanet import Binarizer
from sauvolanet.classic import METHODS
from sauvolanet.core.arrays import Gray

# doxapy's defaults where both have them, so that both do the same work
SAME = {
    "otsu": {},
    "bernsen": {},
    "niblack": {"window": 75},
    "sauvola": {"window": 75},
    "wolf": {"window": 75},
    "nick": {"window": 75},
    "trsingh": {"window": 75},
    "bataineh": {},
    "wan": {"window": 75},
    "isauvola": {"window": 75, "k": 0.2, "opening": 0},
    "gatos": {"window": 75},
    "su": {},
}
DOXA_SLOW = {"gatos", "su", "bernsen", "wan"}  # one round is enough: they are tens of times slower


def made_page(pixels: int) -> Gray:
    """Rows of dark strokes on uneven, noisy paper."""
    side = int(pixels**0.5)
    rng = np.random.default_rng(0)
    y, x = np.mgrid[:side, :side].astype(np.float32)
    paper = 200 + 30 * np.sin(x / 700) * np.cos(y / 900) + rng.normal(0, 4, (side, side)).astype(np.float32)
    stroke = (y % 60 < 28) & ((x + 3 * np.sin(y / 4)) % 19 < 4) & (np.sin(x / 55) > -0.7)
    return np.clip(paper - 120 * stroke, 0, 255).astype(np.uint8)


def doxa(name: str, gray: Gray) -> Callable[[], None]:
    import doxapy

    out = np.empty_like(gray)

    def run() -> None:
        method = doxapy.Binarization(getattr(doxapy.Binarization.Algorithms, name.upper()))
        method.initialize(gray)
        method.to_binary(out)

    return run


def clock(run: Callable[[], object]) -> float:
    start = time.perf_counter()
    run()
    return time.perf_counter() - start


def speed(names: list[str], pixels: int, rounds: int) -> None:
    gray = made_page(pixels)
    print(f"doxapy {version('doxapy')}, {gray.size / 1e6:.1f} megapixels; ns a pixel and times as fast as doxapy")
    print(f"{'method':<14}{'doxapy':>9}{'1 thread':>10}{'2 threads':>11}{'1':>8}{'2':>8}")
    for name in names:
        one, two = (Binarizer(method=name, threads=n, invert="no", **SAME.get(name, {})) for n in (1, 2))
        one(gray[:200, :200].copy())  # the first call loads what it needs
        runs: list[Callable[[], object]] = [lambda b=one: b(gray), lambda b=two: b(gray)]
        if name in SAME:
            runs.append(doxa(name, gray))
        times = [[clock(run) for run in runs] for _ in range(1 if name in DOXA_SLOW else rounds)]
        nano = [median(t[i] for t in times) / gray.size * 1e9 for i in range(len(runs))]
        if name in SAME:
            ratios = [median(t[2] / t[i] for t in times) for i in (0, 1)]
            print(
                f"{name:<14}{nano[2]:>9.1f}{nano[0]:>10.1f}{nano[1]:>11.1f}{ratios[0]:>8.1f}{ratios[1]:>8.1f}",
                flush=True,
            )
        else:
            print(f"{name:<14}{'':>9}{nano[0]:>10.1f}{nano[1]:>11.1f}", flush=True)


def peak(what: str, path: str) -> None:
    """Print how much the peak resident size grows, in bytes a pixel, when the page in the file is made ink."""
    if what == "scikit-image":
        from skimage.filters import threshold_sauvola

        run: Callable[[Gray], object] = lambda page: page < threshold_sauvola(page, 75)  # noqa: E731
    else:
        run = Binarizer(method=what, threads=1, invert="no")
    run(made_page(300 * 300))  # the first page loads what it needs
    gray = np.load(path)
    Path("/proc/self/clear_refs").write_text("5")  # the peak begins anew
    before = _peak_bytes()
    run(gray)
    print(f"{(_peak_bytes() - before) / gray.size:.1f}")


def _peak_bytes() -> int:
    status = Path("/proc/self/status").read_text()
    return 1024 * int(re.search(r"VmHWM:\s+(\d+)", status)[1])  # type: ignore[index]


def memory(pixels: int) -> None:
    print(f"\nscikit-image {version('scikit-image')}; bytes a pixel beyond the page itself, the result included")
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "page.npy")
        np.save(path, made_page(pixels))
        for what in ("scikit-image", "sauvola", "nick", "wolf", "isauvola"):
            command = [sys.executable, __file__, "--peak", what, path]
            done = subprocess.run(command, check=True, capture_output=True, text=True)
            print(f"{what:<14}{done.stdout.strip():>8}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", default=[n for n in METHODS if n != "howe"])
    parser.add_argument("--pixels", type=float, default=10e6)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--peak", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.peak:
        peak(args.peak, args.names[0])
        return
    speed(args.names, int(args.pixels), args.rounds)
    memory(int(args.pixels))


if __name__ == "__main__":
    main()
