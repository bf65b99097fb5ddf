"""Time of the metrics on a page of ten megapixels, against doxapy, in one run, interleaved.

    python benchmarks/metrics.py [--size 3162] [--rounds 5]

doxapy has no pseudo-F-measure and no MPM; the ratio is taken on the metrics that both have.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import statistics
import time
from collections.abc import Callable

import doxapy
import numpy as np

from sauvolanet.score.metrics import METRICS, score

SHARED = ("fm", "psnr", "drd", "nrm", "accuracy", "mcc")


def writing(side: int) -> np.ndarray:
    """A mask of strokes of several widths: bool (side, side), True = ink."""
    rng = np.random.default_rng(0)
    ink = np.zeros((side, side), bool)
    for _ in range(side * side // 700):
        y, x = rng.integers(0, side, 2)
        height, width = rng.integers(2, 7), rng.integers(5, 40)
        if rng.random() < 0.5:
            height, width = width, height
        ink[y : y + height, x : x + width] = True
    return ink


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--size", type=int, default=3162)
    parser.add_argument("--rounds", type=int, default=5)
    args = parser.parse_args()
    truth = writing(args.size)
    prediction = truth ^ (np.random.default_rng(1).random(truth.shape) < 0.01)
    bytes_of = [np.where(m, 0, 255).astype(np.uint8) for m in (truth, prediction)]
    runs: dict[str, Callable[[], object]] = {
        f"doxapy {importlib.metadata.version('doxapy')}": lambda: doxapy.calculate_performance(*bytes_of),
        "ours, the same metrics": lambda: score(prediction, truth, metrics=SHARED),
        **{name: lambda name=name: score(prediction, truth, metrics=[name]) for name in METRICS},
        "all eleven": lambda: score(prediction, truth),
    }
    score(prediction[:99, :99], truth[:99, :99])  # load the kernels
    seconds: dict[str, list[float]] = {name: [] for name in runs}
    for _ in range(args.rounds):
        for name, run in runs.items():
            begin = time.perf_counter()
            run()
            seconds[name].append(time.perf_counter() - begin)
    print(f"{truth.size / 1e6:.1f} megapixels, {truth.mean():.0%} ink, median of {args.rounds} rounds")
    for name, times in seconds.items():
        print(f"{name:<24}{statistics.median(times):8.3f} s")
    peer, ours = list(seconds.values())[:2]
    print(f"doxapy / ours on {', '.join(SHARED)}: {statistics.median(peer) / statistics.median(ours):.1f}")


if __name__ == "__main__":
    main()
