"""Score models and methods on the panel: pages of many kinds, one table.

No page of it is trained on, but swift, the default, saw the validation pages of the sets; swift-heldout saw none.

sauvolanet panel --data DIR                               the models and the classic methods on every kind
sauvolanet panel --data DIR --methods swift otsu --kinds ruled Office
sauvolanet panel --data DIR --methods swift otsu --ocr    and what Tesseract makes of the ink

DIR holds documents, kinds, papers and ink, and for --ocr scans with their text in ocr. F-measure in percent, the mean
over the pages of a kind; the best classic method of a kind has a star. With --ocr a second table has character error
rates in percent (less is better), beside those of the scans as they are.
"""

from __future__ import annotations

import argparse
import json
import sys

from ..errors import BadData, UsageError
from ..panel import AS_IT_IS, KINDS, Scan, error_table, mean, names, ocr, scans, score, sources, table


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.epilog = "kinds:\n" + "\n".join(f"  {kind}" for kind in KINDS)
    parser.add_argument("--data", required=True, metavar="DIR", help="The folder of documents, kinds, papers and ink.")
    parser.add_argument("--methods", nargs="+", metavar="NAME",
                        help="Methods, shipped models or paths of models; without it all but the slow ones.")  # fmt: skip
    parser.add_argument("--all", action="store_true", help="Slow methods too.")
    parser.add_argument("--kinds", nargs="+", metavar="KIND", help="Only these kinds of pages.")
    parser.add_argument("--whole", action="store_true", help="All pages of Bleedthrough and Nabuco, trained on or not.")
    parser.add_argument("--ocr", action="store_true", help="Error rates of Tesseract, too; minutes for each method.")
    parser.add_argument("--cache", metavar="FILE", help="Keep scores in this file; only what changed is computed anew.")
    parser.add_argument("--jobs", type=int, default=1, metavar="N", help="Worker processes (default 1).")
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="Write kinds and pages as JSON instead of the table.")
    form.add_argument("--markdown", action="store_true", help="Write the table as Markdown.")


def run(args: argparse.Namespace) -> int:
    from tqdm import tqdm

    if args.jobs < 1:
        raise UsageError(f"jobs must be a whole number, at least 1, not {args.jobs}")
    with tqdm(desc="panel", unit="page", disable=None, leave=False) as bar:

        def progress(done: int, total: int) -> None:
            bar.total = total
            bar.update(done - bar.n)

        of = sources(args.data, args.kinds, args.whole)
        methods = args.methods or names(args.all)
        rows = score(of, methods, args.jobs, args.cache, progress)
        bar.reset()
        read = score(_readable(args.data) if args.ocr else [], [AS_IT_IS, *methods], args.jobs, args.cache, progress)
    if args.json:
        told = {"kinds": mean(rows), "pages": rows}
        print(json.dumps(told | ({"ocr": {"kinds": mean(read), "pages": read}} if read else {}), indent=1))
        return 0
    print(table(rows, args.markdown))
    if read:
        print("\n" + error_table(read, args.markdown))
    return 0


def _readable(data: str) -> list[Scan]:
    """The scans, if they and Tesseract are there; otherwise one line says what lacks, and the other rows come."""
    try:
        found = scans(data)
        ocr.check(found)
    except (UsageError, BadData) as problem:
        print(f"sauvolanet: no error rates of OCR: {problem}", file=sys.stderr)
        return []
    return found
