"""The Sauvola layer of the paper's network without its convolutions, against one Sauvola of doxapy, on one thread.

    python benchmarks/windows.py [--rounds 9]

Ours: mean and deviation in all eight windows, eight thresholds, their weighted sum (of even weights) and the
comparison with the gray. Theirs: one window. No slower than twice is asked for. Runs are interleaved; the time is that
of the processor, so that other programs on the machine hardly matter.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable
from importlib.metadata import version

import doxapy
import numpy as np

from sauvolanet.net import load
from sauvolanet.net.features import statistics as window_statistics
from sauvolanet.net.run import attend
from sauvolanet.page import PageNumbers
from sauvolanet.synth import page

SIZES = ((574, 1104), (2000, 3000))


def ours(gray: np.ndarray) -> Callable[[], np.ndarray]:
    model = load("original")
    network, arch = model.network, model.architecture
    logits = np.zeros((*gray.shape, arch.choices), np.float32)  # what the convolutions would give
    nothing = np.empty((*gray.shape, 0), np.float32)
    whole = tuple(slice(0, n) for n in gray.shape)

    def run() -> np.ndarray:
        scale = model.scale(PageNumbers.of(gray))
        mean, deviation = window_statistics(gray, arch.windows, scale, whole, 1)
        threshold = np.empty(gray.shape, np.float32)
        attend(logits, None, mean, deviation, network.k, network.r, np.empty(0, np.float32), nothing, threshold)
        return gray < scale.to_gray(threshold)

    return run


def theirs(gray: np.ndarray) -> Callable[[], np.ndarray]:
    def run() -> np.ndarray:
        method = doxapy.Binarization(doxapy.Binarization.Algorithms.SAUVOLA)
        method.initialize(gray)
        ink = np.empty_like(gray)
        method.to_binary(ink, {"window": 63, "k": 0.2})
        return ink

    return run


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=9)
    args = parser.parse_args()
    part, _ = page(1, kind="manuscript", height=574, width=1104)
    for height, width in SIZES:
        gray = np.ascontiguousarray(np.tile(part, (-(-height // 574), -(-width // 1104)))[:height, :width])
        runs = [ours(gray), theirs(gray)]
        times: list[list[float]] = [[], []]
        for i in range(args.rounds + 1):
            for run, seconds in zip(runs, times, strict=True):
                begun = time.process_time()
                run()
                if i:  # the first round loads and warms up
                    seconds.append(time.process_time() - begun)
        eight, one = (1e9 * statistics.median(seconds) / gray.size for seconds in times)
        print(f"{height}×{width}: eight windows {eight:.1f} ns a pixel, doxapy {version('doxapy')}'s one {one:.1f}; "
              f"{eight / one:.2f} times as long")  # fmt: skip


if __name__ == "__main__":
    main()
