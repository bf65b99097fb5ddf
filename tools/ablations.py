"""What each part of the second network is worth: short training runs that differ in one thing, judged by validation.

python tools/ablations.py --data DIR --out RUNS [--steps 300] [NAME …]

Prints a table in Markdown, a row as each run ends. Every run has its folder under RUNS and can be stopped and started
again. Test sets are not read.
"""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path

from sauvolanet.train.loop import Run
from sauvolanet.train.memory import keep_memory
from sauvolanet.train.settings import PRESETS, Settings, with_changes

CHANGES: dict[str, dict[str, str]] = {
    "as it is": {},
    "without the constants": {"architecture.constants": "[]"},
    "constants 0 and 1": {"architecture.constants": "[0.0, 1.0]"},
    "without the page's numbers": {"architecture.features": '["gray", "mean", "deviation"]'},
    "without context: gray alone": {"architecture.features": '["gray"]'},
    "instance normalisation": {"architecture.norm": "instance"},
    "the paper's hinge loss": {"loss": "hinge", "alpha": "16.0", "train_alpha": "false"},
    "loss weighed by page": {"loss": "page"},
    "patches anywhere, with or without text": {"text_share": "0.0"},
    "without refinement": {"architecture.refine": "[]"},
    "refinement through 16 channels": {"architecture.refine": "[16]"},
    "narrower: 16-24-32-48": {"architecture.widths": "[[16,16],[24,24],[32,32],[48,48]]"},
    "narrower: 8-16-24-32": {"architecture.widths": "[[8,8],[16,16],[24,24],[32,32]]"},
    "Adam instead of Muon": {"optimizer": "adam"},
    "no change of tone, noise or blur": {"tone": "0.0", "noise": "0.0", "blur": "0.0"},
    "no synthetic pages": {"synthetic": "0.0"},
}


def settings(name: str, steps: int) -> Settings:
    """The swift preset, shortened, with one change."""
    short = replace(
        PRESETS["swift"], steps=steps, warmup=steps // 10, patch=160, validate_every=steps, checkpoint_every=200
    )
    return with_changes(short, CHANGES[name])


def run(name: str, steps: int, data: str, out: Path) -> dict[str, object]:
    """Train one variant (or go on with it); a row of the table."""
    folder = out / "".join(c if c.isalnum() else "-" for c in name)
    folder.mkdir(parents=True, exist_ok=True)
    trained = Run(settings(name, steps), data, folder, f"python tools/ablations.py {name!r}")
    trained.train()
    about = trained.model("ablation").about
    last = trained.history[-1]
    return {
        "change": name,
        "parameters": about["parameters"],
        "multiply-adds per pixel": round(about["macs_per_pixel"]),
        **{n: f"{v:.2f}" for n, v in last.items() if n not in ("step", "seconds", "loss", "alpha")},
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help="variants to run; all unless given")
    parser.add_argument("--data", required=True)
    parser.add_argument("--out", type=Path, required=True, help="folder of the runs")
    parser.add_argument("--steps", type=int, default=300)
    args = parser.parse_args()
    keep_memory()
    names = args.names or list(CHANGES)
    for name in names:
        row = run(name, args.steps, args.data, args.out)
        if name == names[0]:
            print("| " + " | ".join(row) + " |", "|---" * len(row) + "|", sep="\n")
        print("| " + " | ".join(map(str, row.values())) + " |", flush=True)


if __name__ == "__main__":
    main()
