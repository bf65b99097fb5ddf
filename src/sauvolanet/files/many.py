"""`binarize_many`: files and folders in, files out, one status row per page; on this machine or on many."""

from __future__ import annotations

import os
from collections.abc import Callable, Generator, Iterable
from dataclasses import replace
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any

from ..errors import OutputError, UsageError
from ..options import MAX_PIXELS, THREADS, validate
from ..pipeline import Selection
from . import read, stores, write
from .batch import JOBS, bound_to_process, run_batch
from .convert import DPI, FORMAT, KEEP_GRAY
from .document import PAGE_SECONDS
from .folders import Row
from .inputs import Item, find_items, inside, only_file
from .worker import BatchSettings, Tell

if TYPE_CHECKING:
    from distributed import Client

    from .shards import Plan

OPTIONS = (FORMAT, KEEP_GRAY, DPI, MAX_PIXELS, PAGE_SECONDS, JOBS, THREADS)

Place = str | os.PathLike[str]


def binarize_many(inputs: Place | Iterable[Place], output: Place, *, client: Client | None = None,
                  shard: tuple[int, int] | None = None, force: bool = False, dry_run: bool = False,
                  on_count: Callable[[int], Any] | None = None, on_page: Tell | None = None,
                  selection: Selection | None = None, **options: Any) -> Generator[Row]:  # fmt: skip
    """Binarize files, folders, patterns and URLs into a folder (or one file into one file); yields a row per page.

    inputs : see ``sauvolanet binarize --help``. output : a folder, or a file whose suffix tells the format, or "-".
    client : a Dask client; its workers do the work, in shards. shard : (I, N) does only share I of N, from 1.
    force : do finished pages again, replace existing files. dry_run : open the inputs, write nothing.
    on_count : told the number of inputs, once it is known. on_page : told input, page and pages when a page is begun
        on this machine; the rows of a document that becomes one file come together at its end.
    options : format, keep_gray, dpi, max_pixels, page_seconds, jobs, threads, and those of `Binarizer` unless
        ``selection`` has them, checked already.
    Rows come as pages are finished; nothing happens until the first is asked for. Finished pages are skipped.
    """
    if client is not None and shard is not None:
        raise UsageError("give shard or client, not both: a client does all shares")
    if shard is not None and not 1 <= shard[0] <= shard[1]:
        raise UsageError(f"shard {shard[0]}/{shard[1]}: the share must be from 1 to {shard[1]}")
    places, target = _places(inputs), os.fspath(output)
    single, settings, jobs, threads = _settings(places, target, force, dry_run, selection, options)
    tell = on_count or (lambda count: None)
    if single and client is None and shard is None:
        folder, item = _single(places[0], target)
        tell(1)
        yield from run_batch([item], folder, settings, threads=threads, journal=None, on_page=on_page)
    elif dry_run or (client is None and shard is None):
        items = list(find_items(places, target, not settings.many_pages))
        if shard is not None:
            from .shards import size_for

            size = size_for(len(items))
            items = [item for i, item in enumerate(items) if i // size % shard[1] == shard[0] - 1]
        tell(len(items))
        yield from run_batch(items, target, settings, jobs=jobs, threads=threads, on_page=on_page)
    else:
        from .shards import check_workers, run_on_cluster, run_share

        if client is not None:
            check_workers(client)  # before anything is written
        plan = plan_batch(inputs, output, force=force, selection=selection, **options)
        tell(plan.count_of(shard))
        if client is not None:
            yield from run_on_cluster(plan, client, force=force)
        elif shard is not None:
            yield from run_share(plan, *shard, force=force, jobs=jobs, threads=threads, on_page=on_page)


def plan_batch(inputs: Place | Iterable[Place], output: Place, *, shard_size: int | None = None, force: bool = False,
               selection: Selection | None = None, **options: Any) -> Plan:  # fmt: skip
    """The shards of a batch, for `run_shard(plan.root, plan.batch, number)` under any scheduler.

    It is written into the output folder, where every machine finds it; options as in `binarize_many`.
    """
    from ..net.model import Model, locate, shipped
    from .shards import make_plan

    places, target = _places(inputs), os.fspath(output)
    single, settings, _, _ = _settings(places, target, force, False, selection, options)
    if single or any(map(bound_to_process, [*places, target])):
        raise UsageError("shards need an output folder and inputs that every machine can open")
    model = settings.selection.model
    if isinstance(model, Model):
        raise UsageError("shards need a model's name, or a path that every machine can open")
    if model is not None and os.fspath(model) not in shipped():  # other machines run in other folders
        absolute = stores.absolute(str(locate(os.fspath(model))))
        settings = replace(settings, selection=replace(settings.selection, model=absolute))
    return make_plan(places, target, settings, shard_size)


def _places(inputs: Place | Iterable[Place]) -> list[str]:
    names = [inputs] if isinstance(inputs, (str, os.PathLike)) else inputs
    return [os.fspath(name).removeprefix("file://") for name in names]  # this machine's: no URL for what follows


def _settings(places: list[str], target: str, force: bool, dry_run: bool, selection: Selection | None,
              options: dict[str, Any]) -> tuple[bool, BatchSettings, int, int | None]:  # fmt: skip
    """Whether the output is one file, the settings, jobs and threads."""
    known = {o.name for o in OPTIONS}
    own = validate(OPTIONS, {n: v for n, v in options.items() if n in known}, "option")
    rest = {n: v for n, v in options.items() if n not in known and v is not None}
    if selection is None:
        selection = Selection.of(**rest)
    elif rest:
        raise UsageError(f"the selection tells what makes the ink: give no {next(iter(rest))} with it")
    single, format, suffix = _target(places, target, own["format"])
    settings = BatchSettings(selection, format, suffix, own["keep_gray"], own["dpi"], own["max_pixels"], force, dry_run,
                             own["page_seconds"], inside(places, target))  # fmt: skip
    return single, settings, own["jobs"], own["threads"]


def _target(places: list[str], target: str, format: str | None) -> tuple[bool, str, str]:
    """Whether the output is one file, and the format and suffix of what is written."""
    if not places:
        raise UsageError("nothing to binarize: give files, folders or '-'")
    if target == "-":
        if len(places) > 1 or stores.is_folder(places[0]):
            raise UsageError("only one file can go to standard output; give a folder with -o")
        return True, format or "png", ""
    suffix = PurePath(stores.base_name(target)).suffix
    by_suffix = write.SUFFIXES.get(suffix.lower())
    here = None if stores.is_url(target) else Path(stores.absolute(target))
    is_folder = target.endswith(("/", os.sep)) or (here is not None and here.is_dir())
    if is_folder or (by_suffix is None and suffix.lower() not in read.SUFFIXES):
        if here is not None and here.exists() and not here.is_dir():
            raise OutputError(f"cannot write into {target}: it is a file, not a folder")
        chosen = format or "png"
        return False, chosen, write.FORMATS[chosen][0]
    if by_suffix is None:
        raise UsageError(f"cannot write {suffix}; the output may end in {', '.join(write.SUFFIXES)} or be a folder")
    if format not in (None, by_suffix):
        raise UsageError(f"--format {format} does not fit {target}")
    if len(places) > 1 or stores.is_folder(places[0]):
        raise UsageError(f"several inputs need a folder, and {target} is one file")
    return True, by_suffix, suffix


def _single(place: str, target: str) -> tuple[str, Item]:
    """The folder and item for one named output."""
    source = only_file(place, target)
    if target == "-":
        return "-", Item(source, "-")
    whole = stores.absolute(target)
    name = stores.base_name(whole)
    folder = whole[: -len(name)]
    return folder if stores.is_url(whole) else folder.rstrip("/") or "/", Item(source, PurePath(name).stem)
