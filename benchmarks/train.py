"""Speed of a training step, as a ratio to the direct implementation in torch, and what the patches cost.

The direct implementation is the same network with torch's own convolutions, normalisation and softmax (the truth that
the compiled steps are tested against). Steps are interleaved; a figure is the median of its rounds.

    python benchmarks/train.py [--data DIR] [--rounds 5] [--batch 8]

Without --data the patches are cut from synthetic pages.
"""

from __future__ import annotations

import argparse
import os
import statistics
import time
from dataclasses import replace

os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

import numpy as np
import torch

from sauvolanet.score import datasets
from sauvolanet.synth import page
from sauvolanet.train import fast, optimizers
from sauvolanet.train.build import build, tensors
from sauvolanet.train.loss import LOSSES
from sauvolanet.train.patches import Batch, Patches, TrainingPage, load_pages
from sauvolanet.train.settings import PRESETS, Settings


def step(
    net: torch.nn.Module, batch: Batch[np.ndarray], settings: Settings, parts: list[torch.optim.Optimizer]
) -> None:
    """One step of the trainer, without its book-keeping."""
    b = tensors(batch)
    net.zero_grad(set_to_none=True)
    threshold, _ = net(**b.inputs)
    LOSSES[settings.loss](b.gray, threshold, b.target, net.alpha, b.weight).backward()
    for optimizer in parts:
        optimizer.step()


def pages_of(data: str | None) -> list[TrainingPage]:
    if data:
        return load_pages(datasets.find(data, ("DIBCO2012",)), True, 256)
    made = [page(seed, kind="manuscript", height=600, width=900) for seed in range(4)]
    return [TrainingPage("synthetic", str(i), gray, truth) for i, (gray, truth) in enumerate(made)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--batch", type=int, default=8)
    args = parser.parse_args()
    pages = pages_of(args.data)
    print("| preset | making patches, one core | direct, torch | compiled | ratio |\n|---|---|---|---|---|")
    for name in ("paper", "swift"):
        settings = replace(PRESETS[name], batch=args.batch, synthetic=0.0)
        patches = Patches(pages, settings)
        net = build(settings).train()
        trained = [p for p in net.parameters() if p.requires_grad]
        parts = optimizers.make(settings.optimizer, trained, settings.rate, settings.epsilon, settings.weight_decay)
        times: dict[str, list[float]] = {"patches": [], "direct": [], "compiled": []}
        for turn in range(args.rounds + 1):
            begun = time.perf_counter()
            batch = patches.batch(turn, range(args.batch))
            times["patches"].append(time.perf_counter() - begun)
            for kind in ("direct", "compiled"):
                fast.USE = kind == "compiled"
                begun = time.perf_counter()
                step(net, batch, settings, parts)
                times[kind].append(time.perf_counter() - begun)
        rates = {n: args.batch / statistics.median(v[1:]) for n, v in times.items()}  # the first round warms up
        cells = [f"{rate:.1f} patches/s" for rate in rates.values()]
        print(f"| {name} | {' | '.join(cells)} | **{rates['compiled'] / rates['direct']:.1f}×** |", flush=True)
    print(f"\nBatch {args.batch} of 256 × 256, {torch.get_num_threads()} threads, torch {torch.__version__}.")


if __name__ == "__main__":
    main()
