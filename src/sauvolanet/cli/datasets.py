"""List the known data sets, or check a folder of them.

Three layouts are understood: a folder per set with ID.ext and ID.gt.png (or ID_gt, ID_GT); the authors' flat layout,
SET_ID_source.ext and SET_ID_target.ext; and the DIBCO archives, with pages in imgs and truths in gt. A folder that is
none of the known sets is a set by its own name.
"""

from __future__ import annotations

import argparse
import json
from dataclasses import asdict

from ..errors import BadData, SomeFailed, UsageError, one_line
from ..score.datasets import CATALOGUE, GROUPS, check


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("action", nargs="?", choices=("check",), help="Read every page and truth of a folder.")
    parser.add_argument("folder", nargs="?", metavar="DIR", help="The folder to check.")
    parser.add_argument("--json", action="store_true", help="Write JSON instead of text.")


def run(args: argparse.Namespace) -> int:
    if args.action is None:
        _list(args.json)
        return 0
    if args.folder is None:
        raise UsageError("say which folder to check: sauvolanet datasets check DIR")
    return _check(args.folder, args.json)


def _list(as_json: bool) -> None:
    if as_json:
        sets = [asdict(s) | {"pages": s.pages} for s in CATALOGUE.values()]
        print(json.dumps({"datasets": sets, "groups": GROUPS}, indent=1))
        return
    width = max(map(len, CATALOGUE))
    for s in CATALOGUE.values():
        print(f"{s.name:<{width}}  {s.year}  {s.pages:>2} pages  {s.title}")
        print(f"{'':<{width}}  {s.url}")
        print(f"{'':<{width}}  {s.licence}; also: {', '.join(s.aliases)}")
    print()
    for name, members in GROUPS.items():
        print(f"{name:<{width}}  {' '.join(members)}")


def _check(folder: str, as_json: bool) -> int:
    from tqdm import tqdm

    with tqdm(desc="check", unit="page", disable=None, leave=False) as bar:

        def progress(done: int, total: int) -> None:
            bar.total = total
            bar.update(done - bar.n)

        reports = check(folder, progress)
    if not any(r.pages or r.damaged for r in reports):
        raise BadData(f"{folder}: no pages with truth found; see 'sauvolanet datasets --help' for the layouts")
    if as_json:
        print(json.dumps({"datasets": [asdict(r) for r in reports]}, indent=1))
    else:
        for r in reports:
            of = f" of {r.expected}" if r.expected else ""
            missing = f", missing {', '.join(r.missing)}" if r.missing else ""
            print(one_line(f"{r.set}: {r.pages}{of} pages{missing}"))
            for kind, lines in (("damaged", r.damaged), ("doubtful", r.doubtful), ("without partner", r.unpaired)):
                for line in lines:
                    print(one_line(f"  {kind}: {line}"))
        absent = [name for name in CATALOGUE if name not in {r.set for r in reports}]
        if absent and len(absent) < len(CATALOGUE):
            print(f"not here: {', '.join(absent)}")
    damaged = sum(len(r.damaged) for r in reports)
    unpaired = sum(len(r.unpaired) for r in reports)
    if damaged and not any(r.pages for r in reports):
        raise BadData(f"{folder}: no page can be read")
    if damaged or unpaired:
        raise SomeFailed(f"{folder}: {damaged} pages damaged, {unpaired} files without a partner")
    return 0
