"""A batch for many machines: a manifest cuts the list of inputs into shards, and each shard is one task.

Below the output folder, in ``.sauvolanet``: ``manifest.json`` (options, and where each shard's lines are),
``manifest-BATCH.list`` (one line per input), and per shard a journal of finished pages and, when the shard is
finished, a marker ``BATCH/NUMBER.done`` with a row per page. Machines share nothing else.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import itertools
import json
import logging
import re
import tempfile
import uuid
from collections import Counter
from collections.abc import Generator, Iterator
from dataclasses import asdict, dataclass, replace
from functools import lru_cache
from typing import IO, TYPE_CHECKING, Any

from .. import __version__
from ..errors import BadData, MissingExtra, OutputError, RunFailed, SauvolanetError, UsageError
from . import stores
from .batch import run_batch
from .folders import STATE, Row, open_folder
from .inputs import Item, find_items
from .worker import BatchSettings, Tell, failed_row

if TYPE_CHECKING:
    from distributed import Client

SHARD_SIZE = 500  # inputs of a shard; fewer where the list is short, so that many machines have work
_LEAST_SHARDS = 64
_GROUP = 32  # results a store may hold back to record them together
_HEAD = f"{STATE}/manifest.json"
ANSWER_SECONDS = 6  # seconds a scheduler has to answer


def size_for(count: int) -> int:
    """Inputs per shard of a list of that length."""
    return min(SHARD_SIZE, max(1, count // _LEAST_SHARDS))


@dataclass(frozen=True)
class Plan:
    """The shards of a batch. ``batch`` names it: same inputs and options, same name."""

    root: str
    batch: str
    inputs: tuple[str, ...]
    settings: BatchSettings
    version: str
    pieces: tuple[tuple[int, int, int, str], ...]  # of the list, per shard: start, bytes, inputs, SHA-256

    @property
    def shards(self) -> int:
        """How many shards there are; they are numbered from 0."""
        return len(self.pieces)

    def count_of(self, share: tuple[int, int] | None) -> int:
        """How many inputs a share (I, N) has; all of them without one."""
        return sum(piece[2] for piece in (self.pieces[share[0] - 1 :: share[1]] if share else self.pieces))

    def journal(self, shard: int) -> str:
        """The name of a shard's journal and marker."""
        return f"{self.batch}/{shard:06d}"

    def items(self, shard: int) -> list[Item]:
        """The inputs of a shard, checked against the manifest."""
        start, length, _, digest = self.pieces[shard]
        lines = open_folder(self.root, None).read_range(f"{STATE}/manifest-{self.batch}.list", start, length)
        if hashlib.sha256(lines).hexdigest() != digest:
            raise BadData(f"the list of inputs in {self.root}/{STATE} was changed; give another -o or use --force")
        return [Item(*json.loads(line)) for line in lines.splitlines()]


def open_plan(root: str) -> Plan | None:
    """The plan that is in an output folder, if there is one."""
    data = open_folder(root, None).read(_HEAD)
    if data is None:
        return None
    try:
        head = json.loads(data)
        check = head.pop("sha256")
        if check != _digest(head):
            raise ValueError
        return Plan(root, head["batch"], tuple(head["inputs"]), BatchSettings.from_json(head["settings"]), head["version"],
                    tuple(tuple(p) for p in head["pieces"]))  # fmt: skip
    except (ValueError, KeyError, TypeError):
        raise BadData(f"{stores.join(root, _HEAD)} was changed or is damaged; give another -o or use --force") from None


def make_plan(inputs: list[str], root: str, settings: BatchSettings, shard_size: int | None = None) -> Plan:
    """The plan of a batch: the one in the output folder if it began with the same inputs and options, else a new one.

    The list is fixed when the batch begins; files that arrive later are not in it.
    """
    root = stores.absolute(root)
    places = tuple(map(stores.absolute, inputs))
    settings.selection.engine()  # a missing model is an error here, once, and not on every machine
    shape = {n: v for n, v in asdict(settings).items() if n not in ("force", "dry_run")}
    found = None if settings.force else open_plan(root)
    if found is not None:
        old = {n: v for n, v in asdict(found.settings).items() if n in shape}
        if (found.inputs, old) != (places, shape):
            raise UsageError(
                f"the batch in {root} began with other inputs or options; give those, another -o, or --force"
            )
        return found
    folder = open_folder(root, None)
    with tempfile.TemporaryFile() as lines:
        count = 0
        for item in find_items(inputs, root, not settings.many_pages):
            lines.write(json.dumps(item).encode() + b"\n")
            count += 1
        pieces = _pieces(lines, shard_size or size_for(count))
        batch = _digest([shape, [piece[3] for piece in pieces]])[:12]
        lines.seek(0)
        folder.put(f"{STATE}/manifest-{batch}.list", iter(lambda: lines.read(2**20), b""))
    head: dict[str, Any] = {"batch": batch, "inputs": places, "settings": shape, "version": __version__,
                            "pieces": pieces}  # fmt: skip
    meanwhile = None if settings.force else open_plan(root)
    if meanwhile is not None:  # another share of the same batch was quicker
        return make_plan(inputs, root, settings, shard_size)
    folder.put(_HEAD, [json.dumps({**head, "sha256": _digest(head)}).encode()])
    return Plan(root, batch, places, replace(settings, force=False, dry_run=False), __version__, tuple(pieces))


def _pieces(lines: IO[bytes], size: int) -> list[tuple[int, int, int, str]]:
    lines.seek(0)
    pieces = []
    start = 0
    while piece := list(itertools.islice(lines, size)):
        data = b"".join(piece)
        pieces.append((start, len(data), len(piece), hashlib.sha256(data).hexdigest()))
        start += len(data)
    return pieces


def _digest(value: Any) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()


@lru_cache(maxsize=4)
def checked_plan(root: str, batch: str) -> Plan:
    """The plan, read once per process."""
    plan = open_plan(root)
    if plan is None or plan.batch != batch:
        raise BadData(f"the manifest of this batch in {root} was replaced while it ran; start the batch again")
    if plan.version != __version__:
        raise RunFailed(f"this machine has sauvolanet {__version__}, the batch began with {plan.version}; "
                        "install the same version everywhere")  # fmt: skip
    return plan


def run_shard(root: str, batch: str, shard: int, *, force: bool = False, dry_run: bool = False, jobs: int = 1,
              threads: int | None = 1) -> list[Row]:  # fmt: skip
    """Do one shard of a plan and give a row per page; safe to repeat: finished pages are skipped.

    The function every scheduler calls, ours or another. A dry run opens the inputs and writes nothing.
    """
    return list(_shard_rows(checked_plan(root, batch), shard, force=force, dry_run=dry_run, jobs=jobs, threads=threads))


def _shard_rows(plan: Plan, shard: int, *, force: bool, dry_run: bool = False, jobs: int, threads: int | None,
                on_page: Tell | None = None) -> Iterator[Row]:  # fmt: skip
    """The rows of a shard as they come; its marker is written after the last."""
    settings = replace(plan.settings, force=force, dry_run=dry_run)
    journal = plan.journal(shard)
    rows = []
    with contextlib.closing(
        run_batch(plan.items(shard), plan.root, settings, jobs=jobs, threads=threads, journal=journal,
                  earlier=[journal], group=_GROUP, on_page=on_page)
    ) as coming:  # fmt: skip
        for row in coming:
            rows.append(row)
            yield row
    folder, marker = open_folder(plan.root, None), f"{STATE}/{journal}.done"
    news = any(row["status"] != "skipped" for row in rows)
    if not dry_run and (news or folder.size(marker) is None):
        folder.put(marker, [json.dumps(row).encode() + b"\n" for row in rows])


def run_share(plan: Plan, share: int, count: int, *, force: bool, jobs: int, threads: int | None,
              on_page: Tell | None = None) -> Iterator[Row]:  # fmt: skip
    """Share ``share`` of ``count`` (from 1): every count-th shard."""
    plan = checked_plan(plan.root, plan.batch)  # checked against this machine's version
    for shard in range(share - 1, plan.shards, count):
        yield from _shard_rows(plan, shard, force=force, jobs=jobs, threads=threads, on_page=on_page)


@contextlib.contextmanager
def connect(address: str) -> Iterator[Client]:
    """A client of the Dask scheduler at ``tcp://HOST:PORT``; one that does not answer is a RunFailed within seconds."""
    try:
        from distributed import Client
    except ImportError:
        raise MissingExtra("dask", "--scheduler") from None
    if not re.fullmatch(r"(tcp://)?[^/]+:\d+", address):
        raise UsageError(f"--scheduler takes tcp://HOST:PORT, not '{address}'")
    try:
        asyncio.run(_greet(address))
        client = Client(address, timeout=ANSWER_SECONDS, set_as_default=False)
    except Exception:  # a server of another kind breaks Dask's protocol in its own way
        raise RunFailed(f"no Dask scheduler answers at {address}; is the address right and the scheduler up?") from None
    # what it has to say of a lost connection goes over several screens; we say it in one line
    for name in ("distributed", "distributed.client"):
        logging.getLogger(name).setLevel(logging.CRITICAL + 1)
    with client:
        yield client


async def _greet(address: str) -> None:
    """Exchange a first message: the client's own time limit does not cover a server that never sends its own."""
    from distributed.comm.core import connect
    from distributed.security import Security

    server = await asyncio.wait_for(connect(address, **Security().get_connection_args("client")), ANSWER_SECONDS)
    await server.close()


def check_workers(client: Client) -> None:
    """Every worker must have this version of the package; at least one must be there."""
    try:
        client.wait_for_workers(1, timeout=ANSWER_SECONDS)
    except TimeoutError:
        raise RunFailed("the Dask scheduler has no workers; start some first") from None
    # a function of ours would end a worker that cannot import it; a lambda travels with its code
    there = client.run(lambda: __import__("sauvolanet").__version__, on_error="return")
    for worker, found in there.items():
        if found != __version__:
            if isinstance(found, Exception) and not isinstance(found, ImportError):  # lost, or of another Python
                raise RunFailed(f"worker {worker} cannot say its version of sauvolanet: {stores.reason(found)}")
            has = f"has sauvolanet {found}" if isinstance(found, str) else "lacks sauvolanet"
            raise RunFailed(f"worker {worker} {has}, and this is {__version__}; install the same version everywhere")


def run_on_cluster(plan: Plan, client: Client, *, force: bool = False, dry_run: bool = False) -> Generator[Row]:
    """Hand the shards to a Dask cluster and give the rows as shards are finished.

    Few shards are under way at once, whatever the length of the list; a shard whose worker is lost is done again
    elsewhere and goes on where it stood.
    """
    from distributed import as_completed
    from distributed.scheduler import KilledWorker

    run = uuid.uuid4().hex[:8]  # so that the scheduler does not take an earlier run's answer for ours
    numbers = iter(range(plan.shards))

    def submit(shard: int) -> Any:
        return client.submit(run_shard, plan.root, plan.batch, shard, force=force, dry_run=dry_run, pure=False,
                             key=f"sauvolanet-{plan.batch}-{run}-{shard}")  # fmt: skip

    slots = max(4, 2 * sum(client.nthreads().values()))
    running = as_completed([submit(shard) for shard in itertools.islice(numbers, slots)], loop=client.loop)
    try:
        for future in running:
            shard = int(future.key.rpartition("-")[2])
            try:
                rows = future.result()
            except KilledWorker:
                rows = rows_of_lost(plan, shard)
            except (OutputError, RunFailed, BadData):
                raise
            except SauvolanetError as problem:
                raise RunFailed(f"shard {shard}: {problem}") from None
            except (Exception, asyncio.CancelledError) as problem:  # the scheduler is gone, or our code cannot be run
                reason = str(problem).splitlines()[0] if str(problem) else type(problem).__name__
                raise RunFailed(f"the cluster is lost ({reason}); the same command goes on where it stood") from None
            future.release()
            for further in itertools.islice(numbers, 1):
                running.add(submit(further))
            yield from rows
    finally:
        with contextlib.suppress(Exception):  # the scheduler may be gone
            client.cancel(list(running.futures))


def rows_of_lost(plan: Plan, shard: int) -> list[Row]:
    """The pages that a shard finished before it killed one worker after the other, and a failed row per other input."""
    folder = open_folder(plan.root, None)
    done = {(row["input"], row["page"]): row for row in folder.rows(plan.journal(shard))
            if row["status"] == "done" and folder.size(row["output"]) == row["output_size"]}  # fmt: skip
    pages = Counter(input for input, _ in done)
    finished = {row["input"] for row in done.values() if pages[row["input"]] == row["pages"]}
    why = "its shard ended several workers; out of memory? run it with --shard to see"
    failed = [failed_row(item.input, page=pages[item.input] + 1, code=6, error=f"{item.input}: {why}")
              for item in plan.items(shard) if item.input not in finished]  # fmt: skip
    return [*done.values(), *failed]
