"""The Sauvola layer of the paper's network without its convolutions, against one Sauvola of doxapy, on one thread.

    python benchmarks/windows.py [--rounds 9]

Ours: mean and deviation in all eight windows; from given logits the weights, the eight thresholds and their weighted
sum; the comparison with the gray. Theirs: one window. No more than twice the time is asked for. Runs are interleaved;
times are those of the processor, so that other programs on the machine hardly matter.
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
from sauvolanet.net.inputs import thresholds
from sauvolanet.page.numbers import PageNumbers
from sauvolanet.synth import page

SIZES = ((574, 1104), (2000, 3000))


def steps(gray: np.ndarray) -> dict[str, Callable[[], object]]:
    """Our steps in their order, and doxapy's one."""
    model = load("original")
    network, arch = model.network, model.architecture
    logits = np.zeros((*gray.shape, arch.choices), np.float32)  # what the convolutions would give
    whole = tuple(slice(0, n) for n in gray.shape)
    scale = model.scale(PageNumbers.of(gray))
    found: list[np.ndarray] = []

    def ours() -> None:
        found[:] = [thresholds(gray, arch, network.k, network.r, scale, whole, logits, 1)]

    def peer() -> None:
        method = doxapy.Binarization(doxapy.Binarization.Algorithms.SAUVOLA)
        method.initialize(gray)
        method.to_binary(np.empty_like(gray), {"window": max(arch.windows), "k": 0.2})

    return {"statistics and thresholds": ours, "comparison": lambda: gray < scale.to_gray(found[0]),
            f"doxapy {version('doxapy')}": peer}  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=9)
    args = parser.parse_args()
    part, _ = page(1, kind="manuscript", height=574, width=1104)
    for height, width in SIZES:
        gray = np.ascontiguousarray(np.tile(part, (-(-height // 574), -(-width // 1104)))[:height, :width])
        runs = steps(gray)
        times: dict[str, list[float]] = {name: [] for name in runs}
        for i in range(args.rounds + 1):
            for name, run in runs.items():
                begun = time.process_time()
                run()
                if i:  # the first round loads and warms up
                    times[name].append(time.process_time() - begun)
        cost = {name: 1e9 * statistics.median(seconds) / gray.size for name, seconds in times.items()}
        *ours, theirs = cost.values()
        told = ", ".join(f"{name} {value:.1f}" for name, value in cost.items())
        print(f"{height}×{width}, ns a pixel: {told}; ours together takes {sum(ours) / theirs:.2f} times as long")


if __name__ == "__main__":
    main()
