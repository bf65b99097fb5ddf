"""The service under load, against the command line with the same threads: python benchmarks/serve.py [--seconds 60].

Prints pages a second of both (interleaved rounds, median of the ratios; at least 0.8 is asked for), errors (none is
asked for), memory after 20 requests and at the end (no growth is asked for), and what a burst past the queue gets.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import httpx
from PIL import Image

from sauvolanet import __version__, synth
from sauvolanet.core.bands import cores

CLIENTS = 8
RUN = (sys.executable, "-m", "sauvolanet")


@contextlib.contextmanager
def service(*options: str) -> Iterator[tuple[str, int]]:
    """Address and process id of a service."""
    process = subprocess.Popen([*RUN, "serve", "--port", "0", *options], stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    address = next(word for word in process.stderr.readline().split() if word.startswith("http"))
    threading.Thread(target=process.stderr.read, daemon=True).start()
    try:
        yield address, process.pid
    finally:
        process.terminate()
        process.wait()


def resident(pid: int) -> float:
    """Memory of a process in MB."""
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * 4096 / 1e6


def load(address: str, pid: int, pages: list[bytes], fields: dict[str, str], seconds: float) -> dict[str, float]:
    """Clients that send page after page for a while."""
    done: list[float] = []
    wrong: Counter[str] = Counter()
    memory: list[float] = []
    end = time.monotonic() + seconds

    def client(number: int) -> None:
        with httpx.Client(base_url=address, timeout=600) as http:
            while time.monotonic() < end:
                page = pages[(number + len(done)) % len(pages)]
                answer = http.post("/v1/binarize", files={"file": ("page.png", page)}, data=fields)
                if answer.status_code == 200:
                    done.append(time.monotonic())
                    memory.append(resident(pid))
                else:
                    wrong[f"{answer.status_code} {answer.text[:80]}"] += 1

    clients = [threading.Thread(target=client, args=(i,)) for i in range(CLIENTS)]
    for thread in clients:
        thread.start()
    for thread in clients:
        thread.join()
    if wrong:
        print("  errors:", dict(wrong))
    rate = (len(done) - 1) / (max(done) - min(done)) if len(done) > 1 else 0.0
    early = max(memory[:20], default=0.0)
    return {
        "pages": len(done),
        "errors": sum(wrong.values()),
        "rate": rate,
        "early": early,
        "late": memory[-1] if memory else 0.0,
    }


def command_line(folder: Path, options: list[str]) -> float:
    """Pages a second of the command line, from its first finished page on."""
    with tempfile.TemporaryDirectory() as output:
        command = [*RUN, "binarize", str(folder), "-o", output, "--json", *options]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        assert process.stdout is not None
        times = [time.monotonic() for line in process.stdout if json.loads(line)["status"] == "done"]
        process.wait()
    return (len(times) - 1) / (times[-1] - times[0])


def burst(address: str, page: bytes, fields: dict[str, str], count: int) -> Counter[int]:
    """What so many clients at once are told."""
    told: Counter[int] = Counter()

    def client() -> None:
        answer = httpx.post(f"{address}v1/binarize", files={"file": ("page.png", page)}, data=fields, timeout=600)
        assert answer.status_code != 503 or int(answer.headers["retry-after"]) > 0
        told[answer.status_code] += 1

    clients = [threading.Thread(target=client) for _ in range(count)]
    for thread in clients:
        thread.start()
    for thread in clients:
        thread.join()
    return told


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=60, help="of load in each round (default 60)")
    parser.add_argument("--rounds", type=int, default=3, help="of service and command line in turn (default 3)")
    parser.add_argument("--pages", type=int, default=12, help="for the command line in each round (default 12)")
    parser.add_argument("--megapixels", type=float, default=2.0, help="of a page (default 2)")
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--model")
    what.add_argument("--method")
    args = parser.parse_args()
    chosen = {n: v for n in ("model", "method") if (v := getattr(args, n))}
    side = round((args.megapixels * 1e6) ** 0.5)
    print(
        f"sauvolanet {__version__}, {cores()} cores, {CLIENTS} clients, pages of {side} × {side}, {chosen or 'default model'}"
    )
    with tempfile.TemporaryDirectory() as folder, service() as (address, pid):
        pages = []
        for i in range(args.pages):
            if i < 4:
                file = io.BytesIO()
                Image.fromarray(synth.page(i, height=side, width=side)[0]).save(file, "PNG")
                pages.append(file.getvalue())
            (Path(folder) / f"{i}.png").write_bytes(pages[i % 4])
        httpx.post(f"{address}v1/binarize", files={"file": ("page.png", pages[0])}, data=chosen, timeout=600)
        ratios = []
        options = [x for n, v in chosen.items() for x in (f"--{n}", v)]
        for i in range(args.rounds):
            found = load(address, pid, pages, chosen, args.seconds)
            plain = max(command_line(Path(folder), [*options, "--threads", str(cores())]),
                        command_line(Path(folder), [*options, "--jobs", str(cores()), "--threads", "1"]))  # fmt: skip
            ratios.append(found["rate"] / plain)
            print(f"  round {i + 1}: service {found['rate']:.2f} pages/s ({found['pages']:.0f} pages, {found['errors']:.0f} errors), "
                  f"command line {plain:.2f} pages/s, ratio {ratios[-1]:.2f}; "
                  f"memory {found['early']:.0f} MB in the first 20, {found['late']:.0f} MB at the end")  # fmt: skip
        print(f"service / command line, median of {len(ratios)}: {statistics.median(ratios):.2f}")
        told = burst(address, pages[0], chosen, 60)
        print(f"60 clients at once: {dict(sorted(told.items()))}, then {httpx.get(f'{address}healthz').json()}")


if __name__ == "__main__":
    main()
