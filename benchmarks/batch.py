"""Batches: two workers against one, process start, and what a listed page costs on a Dask cluster.

    python benchmarks/batch.py                       # all three, default model
    python benchmarks/batch.py --listed 10000 100000 # the scheduling cost at these list lengths
    python benchmarks/batch.py --only workers --size 2480x3508 --pages 12    # A4 at 300 dpi
    python benchmarks/batch.py --only start --python .venv-demo/bin/python   # in an installation of the package alone

Workers: the same pages through one worker process's worth of work and through two, one thread each, interleaved,
median of the ratios. Start: a whole ``sauvolanet binarize`` of a 0.6-megapixel page, process start included.
Scheduling: shards of a dry run (inputs are opened, nothing is computed or written) over a real cluster of one worker.
"""

from __future__ import annotations

import argparse
import os
import platform
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from PIL import Image

import sauvolanet
from sauvolanet.files import binarize_many, plan_batch


def write_pages(folder: Path, count: int, height: int, width: int) -> None:
    """Paper with noise and strokes; what the method does with them does not matter for its speed."""
    rng = np.random.default_rng(0)
    for i in range(count):
        page = rng.normal(210, 12, (height, width))
        for _ in range(height // 8):
            y, x = rng.integers(0, height - 12), rng.integers(0, width - 60)
            page[y : y + rng.integers(2, 12), x : x + rng.integers(2, 60)] -= 140
        Image.fromarray(np.clip(page, 0, 255).astype(np.uint8)).save(folder / f"{i:04d}.png", dpi=(300, 300))


def pages_per_second(scans: Path, jobs: int, choice: dict[str, str]) -> float:
    """Steady rate: from the end of the first pages, when every worker has loaded its model, to the end of the last."""
    warm = 2 * jobs
    with tempfile.TemporaryDirectory() as ink:
        ends = [time.perf_counter() for _ in binarize_many(scans, ink, jobs=jobs, threads=1, **choice)]
    return (len(ends) - warm) / (ends[-1] - ends[warm - 1])


def size_of_pages(text: str) -> tuple[int, int]:
    """Width and height of the measured pages; less than a stroke of `write_pages` is too small.

    >>> size_of_pages("2480x3508")
    (2480, 3508)
    """
    width, height = map(int, text.split("x"))
    if width <= 60 or height <= 12:
        raise ValueError
    return width, height


def workers(rounds: int, pages: int, size: tuple[int, int], choice: dict[str, str]) -> None:
    width, height = size
    with tempfile.TemporaryDirectory() as scans:
        write_pages(Path(scans), pages, height, width)
        ratios, rates = [], []
        for _ in range(rounds):
            one, two = (pages_per_second(Path(scans), jobs, choice) for jobs in (1, 2))
            ratios.append(two / one)
            rates.append((one, two))
    one, two = (statistics.median(r) for r in zip(*rates, strict=True))
    print(f"workers: 1 gives {one:.2f} pages/s, 2 give {two:.2f} (medians); median of the rounds' ratios "
          f"{statistics.median(ratios):.2f} (least {min(ratios):.2f}, {rounds} rounds of {pages} pages of {width}×{height})")  # fmt: skip


def start(python: str, rounds: int, choice: dict[str, str]) -> None:
    options = [text for name, value in choice.items() for text in (f"--{name}", value)]
    commands = {
        "import sauvolanet": [python, "-c", "import sauvolanet"],
        "python alone": [python, "-c", "pass"],
        "sauvolanet --help": [python, "-m", "sauvolanet", "--help"],
    }
    with tempfile.TemporaryDirectory() as folder:
        write_pages(Path(folder), 1, 1104, 574)
        commands["one page, start included"] = [python, "-m", "sauvolanet", "binarize", f"{folder}/0000.png",
                                                "-o", f"{folder}/ink.png", "--force", *options]  # fmt: skip
        seconds: dict[str, list[float]] = {name: [] for name in commands}
        for i in range(rounds + 1):
            for name, command in commands.items():
                begin = time.perf_counter()
                subprocess.run(command, check=True, capture_output=True)
                if i:  # the first round fills caches
                    seconds[name].append(time.perf_counter() - begin)
    for name, times in seconds.items():
        print(f"start: {name}: {statistics.median(times):.3f} s (least {min(times):.3f})")


def scheduling(listed: list[int]) -> None:
    from distributed import Client, LocalCluster

    from sauvolanet.files.shards import run_on_cluster

    with tempfile.TemporaryDirectory() as folder, LocalCluster(
        n_workers=1, threads_per_worker=1, dashboard_address=None, silence_logs=40
    ) as cluster, Client(cluster) as client:  # fmt: skip
        for count in sorted(listed):
            scans = Path(folder, f"scans{count}")
            for i in range(count):
                name = scans / f"{i // 1000:04d}" / f"{i:07d}.png"
                if i % 1000 == 0:
                    name.parent.mkdir(parents=True)
                    Image.new("L", (16, 16), 255).save(first := name)
                else:
                    os.link(first, name)
            begin = time.perf_counter()
            plan = plan_batch(scans, Path(folder, f"ink{count}"), method="otsu")
            planned = time.perf_counter()
            rows = sum(row["status"] == "planned" for row in run_on_cluster(plan, client, dry_run=True))
            end = time.perf_counter()
            assert rows == count
            peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
            plan_ms, run_ms = 1000 * (planned - begin) / count, 1000 * (end - planned) / count
            print(f"scheduling: {count} listed pages, {plan.shards} shards: plan {plan_ms:.3f} ms a page, "
                  f"dry run {run_ms:.3f} ms a page on one worker, caller at most {peak:.0f} MB")  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", choices=("workers", "start", "scheduling"))
    parser.add_argument("--model")
    parser.add_argument("--method")
    parser.add_argument("--python", default=sys.executable, help="the interpreter whose start is measured")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--pages", type=int, default=40)
    parser.add_argument("--size", type=size_of_pages, default="574x1104", metavar="WIDTHxHEIGHT",
                        help="pixels of the pages that the workers get (default %(default)s; A4 at 300 dpi: 2480x3508)")  # fmt: skip
    parser.add_argument("--listed", type=int, nargs="+", default=[10_000, 100_000])
    args = parser.parse_args()
    choice = {name: value for name in ("model", "method") if (value := getattr(args, name))}
    print(f"sauvolanet {sauvolanet.__version__}, Python {platform.python_version()}, {os.cpu_count()} cores")
    if args.only in (None, "workers"):
        workers(args.rounds, args.pages, args.size, choice)
    if args.only in (None, "start"):
        start(args.python, args.rounds, choice)
    if args.only in (None, "scheduling"):
        scheduling(args.listed)


if __name__ == "__main__":
    main()
