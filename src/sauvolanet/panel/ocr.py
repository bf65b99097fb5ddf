"""Tesseract on scans whose text is known: as they are, and binarized. Character error rates for the panel.

Tesseract's layout analysis is noisy: every image is read with 0, 7 and 15 repeated pixels around it, and the page's
rate is the median of the three.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import statistics
import subprocess
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np
from PIL import Image

from ..core.arrays import Ink
from ..core.atomic import atomic
from ..errors import BadData, RunFailed, UsageError
from ..page.formats import open_image
from ..score import text

AS_IT_IS = "as it is"  # instead of a method: Tesseract gets the scan
PADDINGS = (0, 7, 15)


@dataclass(frozen=True)
class Scan:
    """A scan and its text. language : Tesseract's name of it. dpi : None where it is not known. fold : case does not count."""

    kind: str
    id: str
    image: Path
    truth: Path
    language: str
    dpi: int | None = None
    fold: bool = False
    pixels: int = 0
    measure = "error"  # what `scores` gives
    invert = "auto"

    def load(self) -> Image.Image:
        """The scan, in gray or RGB."""
        with open_image(self.image) as opened:
            return opened.convert("L" if opened.mode == "L" else "RGB")

    def errors(self, read: str) -> tuple[int, int]:
        """How many letters of a text are wrong, and how many there are."""
        return text.errors(read, self.truth.read_text(encoding="utf-8"), self.fold)

    def scores(self, functions: Mapping[str, Callable[[Image.Image], Ink] | None]) -> dict[str, float]:
        """Character error rates in percent for functions that make ink (True = ink); for None, of the scan itself."""
        scan = self.load()

        def rate(image: Image.Image) -> float:
            each = (self.errors(read(padded(image, by), self.language, self.dpi)) for by in PADDINGS)
            return 100 * statistics.median(wrong / count for wrong, count in each)

        return {name: rate(scan if f is None else Image.fromarray(~f(scan))) for name, f in functions.items()}

    @property
    def state(self) -> str:
        """A text that changes when the scan, its text or Tesseract does."""
        there = [path.stat() for path in (self.image, self.truth)]
        return " ".join([*(f"{s.st_size}:{s.st_mtime_ns}" for s in there), version(), str(PADDINGS)])


def scans(data: str | Path) -> list[Scan]:
    """The scans listed in ``ocr/index.json`` of the data, kind by kind."""
    folder = Path(data) / "ocr"
    try:
        listed = json.loads((folder / "index.json").read_text(encoding="utf-8"))
        found = [Scan(p["kind"], p["id"], folder / p["image"], folder / p["text"], p["tesseract_lang"], p["dpi"],
                      bool(p.get("case_insensitive")), p["width"] * p["height"]) for p in listed]  # fmt: skip
    except OSError as problem:
        raise BadData(f"no scans with text in {folder}: {problem.strerror}") from None
    except (ValueError, KeyError, TypeError):
        raise BadData(f"{folder / 'index.json'} is no list of scans") from None
    return sorted(found, key=lambda scan: list(dict.fromkeys(s.kind for s in found)).index(scan.kind))


@lru_cache(maxsize=1)
def version() -> str:
    """Tesseract's version; a UsageError where it is not installed."""
    try:
        said = subprocess.run(["tesseract", "--version"], capture_output=True, text=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError):
        raise UsageError("Tesseract is not installed: apt install tesseract-ocr") from None
    return said.split()[1]


def check(wanted: Iterable[Scan]) -> None:
    """A UsageError where Tesseract or one of the scans' languages is not installed."""
    version()
    said = subprocess.run(["tesseract", "--list-langs"], capture_output=True, text=True).stdout.split()
    missing = sorted({scan.language for scan in wanted} - set(said))
    if missing:
        packages = " ".join(f"tesseract-ocr-{'script-frak' if name == 'Fraktur' else name}" for name in missing)
        raise UsageError(f"Tesseract lacks {', '.join(missing)}: apt install {packages}")


def read(
    image: Image.Image, language: str, dpi: int | None, settings: Sequence[str] = (), cache: Path | None = None
) -> str:
    """Tesseract's text of an image. settings : ``NAME=VALUE`` each. cache : a folder that keeps texts."""
    command = ["tesseract", "stdin", "stdout", "-l", language]
    command += ["--dpi", str(dpi)] if dpi else []
    for setting in settings:
        command += ["-c", setting]
    told = json.dumps([version(), command, image.mode, image.size])
    key = hashlib.sha256(told.encode() + image.tobytes()).hexdigest()[:32]
    kept = None if cache is None else cache / f"{key}.txt"
    if kept is not None and kept.exists():
        return kept.read_text(encoding="utf-8")
    png = io.BytesIO()
    image.save(png, "PNG", compress_level=1)
    done = subprocess.run(
        command, input=png.getvalue(), capture_output=True, env={**os.environ, "OMP_THREAD_LIMIT": "1"}
    )
    if done.returncode:
        raise RunFailed(f"Tesseract failed: {done.stderr.decode(errors='replace').strip()}")
    if kept is not None:
        with atomic(kept) as file:
            file.write(done.stdout)
    return done.stdout.decode("utf-8")


def padded(image: Image.Image, by: int) -> Image.Image:
    """The image with its border pixels repeated ``by`` times on each side; what is written on it does not change."""
    if not by:
        return image
    pixels = np.asarray(image)
    return Image.fromarray(np.pad(pixels, [(by, by)] * 2 + [(0, 0)] * (pixels.ndim - 2), "edge"))
