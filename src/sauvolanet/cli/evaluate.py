"""Score a model, a method or a folder of results on data sets with truth.

The score of a set is the mean over its pages. Rates (fm, pfm, precision, recall, accuracy) are in percent, psnr is in
dB; drd, nrm and mpm are better when lower. pfm is the skeleton pseudo-F-measure, pfm_weighted the one of DIBCO since
2013. Sets: names as in 'sauvolanet datasets', any case, or the groups stated-train, wide-train, validate, test, all.
"""

from __future__ import annotations

import argparse
import csv
import inspect
import json
import sys
from typing import Any

from ..errors import SomeFailed, UsageError, one_line
from ..options import CHANNEL, ENLARGE, INVERT, VERB_OPTIONS
from ..score.evaluation import evaluate
from ..score.metrics import METRICS
from .options import Once, add_option, given, key_values

_OPTIONS = tuple(option for option in VERB_OPTIONS if option not in (INVERT, CHANNEL, ENLARGE))
_TAKEN = {*inspect.signature(evaluate).parameters, *(option.name for option in VERB_OPTIONS)}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.register("action", None, Once)
    parser.add_argument("--data", required=True, metavar="DIR", help="The folder that holds the data sets.")
    parser.add_argument("--datasets", nargs="+", metavar="NAME", help="Sets or groups; without it all that DIR holds.")
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--model", metavar="NAME_OR_PATH", help="A shipped model's name, or the path of a model.")
    what.add_argument("--method", metavar="NAME", help="A classic method, see 'sauvolanet methods'.")
    images = "Score the images of this folder: SET/ID.*, SET_ID.* or, for one set, ID.*; dark is ink."
    what.add_argument("--predictions", metavar="DIR", help=images)
    repeat = "An option of the method; may be repeated."
    parser.add_argument("-p", dest="params", action="append", default=[], metavar="KEY=VALUE", help=repeat)
    for option in _OPTIONS:
        add_option(parser, option)
    parser.add_argument("--metrics", nargs="+", metavar="NAME", help=f"Only these: {', '.join(METRICS)}.")
    parser.add_argument("--jobs", type=int, default=1, metavar="N", help="Worker processes (default 1).")
    output = parser.add_mutually_exclusive_group()
    output.add_argument("--json", action="store_true", help="Write sets and pages as JSON instead of the table.")
    rows = "Write a row per page, then one per set (page 'mean'), as CSV instead of the table."
    output.add_argument("--csv", action="store_true", help=rows)


def run(args: argparse.Namespace) -> int:
    from tqdm import tqdm

    with tqdm(desc="evaluate", unit="page", disable=None, leave=False) as bar:

        def progress(done: int, total: int) -> None:
            bar.total = total
            bar.update(done - bar.n)

        result = evaluate(args.data, args.datasets, args.model, args.method, args.predictions, args.jobs, progress,
                          args.metrics, **given(args, _OPTIONS), **_params(args.params))  # fmt: skip
    if args.json:
        print(json.dumps(result, indent=1, allow_nan=False))
    elif args.csv:
        _write_csv(result)
    else:
        print(table(result["datasets"]))
    for row in result["pages"]:
        for doubt in row.get("doubts", ()):
            print(one_line(f"doubtful {row['dataset']} {row['page']}: {doubt}"), file=sys.stderr)
    failed = [row for row in result["pages"] if row["status"] == "failed"]
    for row in failed:
        print(f"sauvolanet: {row['error']}", file=sys.stderr)
    if failed:
        raise SomeFailed(f"{len(failed)} of {len(result['pages'])} pages could not be scored")
    return 0


def _params(texts: list[str]) -> dict[str, str]:
    params = key_values(texts, "-p")
    for key, value in params.items():
        if key in _TAKEN:
            raise UsageError(f"-p is for the method's own options: write --{key} {value}")
    return params


def _columns(rows: Any) -> list[str]:
    return [metric for metric in METRICS if any(metric in row for row in rows)]


def _write_csv(result: dict[str, Any]) -> None:
    columns = ["dataset", "page", *_columns(result["pages"])]
    writer = csv.DictWriter(sys.stdout, columns, extrasaction="ignore", lineterminator="\n")
    writer.writeheader()
    writer.writerows(row for row in result["pages"] if row["status"] == "done")
    writer.writerows({"dataset": name, "page": "mean", **means} for name, means in result["datasets"].items())


def table(datasets: dict[str, dict[str, Any]]) -> str:
    """Set scores as text, a line per set."""
    columns = _columns(datasets.values())
    lines = [["", "n", *columns]]
    for name, means in datasets.items():
        lines.append([name, str(means["n"]), *(_number(column, means[column]) for column in columns)])
    widths = [max(len(line[i]) for line in lines) for i in range(len(lines[0]))]
    template = f"{{:<{widths[0]}}}" + "".join(f"  {{:>{width}}}" for width in widths[1:])
    return "\n".join(template.format(*line) for line in lines)


def _number(column: str, value: float | None) -> str:
    if value is None:
        return "inf" if column == "psnr" else "-"
    return f"{value:.{4 if column in ('nrm', 'mpm', 'mcc') else 2}f}"
