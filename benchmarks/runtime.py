"""Speed of the models, array in, ink out, as ratios to the paper's network in its plain ONNX export.

The peer is the authors' network as a graph of convolutions, instance normalisations and softmax in ONNX Runtime, with
the Sauvola layer in numpy, on the same number of threads. Runs are interleaved; a figure is the median of its rounds. In
each round a page goes before the one that is timed, as in a folder of pages: otherwise a model would pay for the memory
that the rival before it gave back, and for its threads that still spin.

    python benchmarks/runtime.py [--threads 2] [--rounds 7] [--small] [--json FILE] [--readme README.md]
"""

from __future__ import annotations

import argparse
import json
import platform
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnxruntime

from sauvolanet import Binarizer
from sauvolanet.net import Model, load, shipped
from sauvolanet.net.standalone import attention_graph
from sauvolanet.synth import page

sys.path.append(str(Path(__file__).parents[1] / "tools"))
from marks import put_between

SIZES = {"574×1104 (the paper's)": (574, 1104), "2480×3508 (A4 at 300 dpi)": (3508, 2480)}


def box_mean(values: np.ndarray, window: int) -> np.ndarray:
    """Means of the windows, cut at the border, from an integral image: what one writes in numpy."""
    table = np.pad(values, ((1, 0), (1, 0))).cumsum(0).cumsum(1)
    (top, bottom), (left, right) = (
        (np.maximum(np.arange(n) - window // 2, 0), np.minimum(np.arange(n) + window // 2 + 1, n)) for n in values.shape
    )
    rows = table[bottom] - table[top]
    return (rows[:, right] - rows[:, left]) / ((bottom - top)[:, None] * (right - left))


def peer(model: Model, threads: int, shares: list[float]) -> Callable[[np.ndarray], np.ndarray]:
    """The authors' network: attention in ONNX Runtime (its seconds go to ``shares``), Sauvola layer in numpy."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    session = onnxruntime.InferenceSession(attention_graph(model), options, providers=["CPUExecutionProvider"])
    k, r = (np.asarray(model.about[n], np.float32) for n in ("k", "r"))

    def run(gray: np.ndarray) -> np.ndarray:
        low, span = int(gray.min()), int(gray.max()) - int(gray.min()) + 0.1
        scaled = ((gray - np.float32(low)) / np.float32(span)).astype(np.float32)
        begun = time.perf_counter()
        attention = session.run(None, {"features": scaled[None, None]})[0][0]
        shares.append(time.perf_counter() - begun)
        wide = gray.astype(np.float64)
        total = np.zeros_like(scaled)
        for i, window in enumerate(model.architecture.windows):
            mean = box_mean(wide, window)
            variance = np.maximum(box_mean(wide * wide, window) - mean * mean, 0)
            mean, deviation = (mean - low) / span, np.maximum(np.sqrt(variance) / span, 1e-3)
            total += attention[i] * (mean * (1 + k[i] * (deviation / r[i] - 1)))
        return scaled < total

    return run


def sheet(height: int, width: int) -> np.ndarray:
    """A page of any size: a synthetic one, repeated."""
    part, _ = page(1, kind="manuscript", height=574, width=1104)
    return np.ascontiguousarray(np.tile(part, (-(-height // 574), -(-width // 1104)))[:height, :width])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--small", action="store_true", help="only the small page")
    parser.add_argument("--json", help="write the figures here")
    parser.add_argument("--readme", help="put the table between the marks in this file")
    args = parser.parse_args()
    name = f"plain ONNX export, onnxruntime {onnxruntime.__version__}"
    shares: list[float] = []
    rivals: dict[str, Callable[[np.ndarray], np.ndarray]] = {name: peer(load("original"), args.threads, shares)}
    rivals |= {n: Binarizer(model=n, threads=args.threads, invert="no") for n in shipped()}
    lines = ["| page | " + " | ".join(rivals) + " |", "|---|" + "---|" * len(rivals)]
    results = []
    for title, (height, width) in list(SIZES.items())[: 1 if args.small else None]:
        gray = sheet(height, width)
        inks = {n: run(gray) for n, run in rivals.items()}  # also warms everything up
        same = float((inks[name] == inks["original"]).mean())
        times: dict[str, list[float]] = {n: [] for n in rivals}
        shares.clear()
        for _ in range(args.rounds if height * width < 2e6 else max(args.rounds // 2, 2)):
            for n, run in rivals.items():
                run(gray)
                begun = time.perf_counter()
                run(gray)
                times[n].append(time.perf_counter() - begun)
        medians = {n: statistics.median(v) for n, v in times.items()}
        cells = [
            f"{1000 * t:.0f} ms"
            + (
                f", ONNX Runtime alone {1000 * statistics.median(shares):.0f}"
                if n == name
                else f", **{medians[name] / t:.1f}×**"
            )
            for n, t in medians.items()
        ]
        lines.append(f"| {title} | " + " | ".join(cells) + " |")
        results.append(
            {
                "page": title,
                "threads": args.threads,
                "seconds": medians,
                "onnxruntime": statistics.median(shares),
                "same_ink_as_peer": same,
            }
        )
        print(lines[-1], f"original's ink equals the peer's on {100 * same:.4f} % of the pixels", flush=True)
    text = "\n".join(
        [
            *lines,
            "",
            f"{args.threads} threads, {platform.machine()}, median of interleaved rounds; ratios are to the first column.",
        ]
    )
    print(text)
    if args.json:
        Path(args.json).write_text(json.dumps(results, indent=1) + "\n")
    if args.readme:
        put_between(args.readme, "speed", text)


if __name__ == "__main__":
    main()
