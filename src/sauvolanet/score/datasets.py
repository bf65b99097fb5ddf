"""Data sets with truth: a catalogue of the paper's 13 sets, and a reader for the layouts people have on disk.

Three layouts are understood, at any depth of a folder:

* a folder per set with ``ID.ext`` and ``ID.gt.png`` (also ``ID_gt``, ``ID_GT``, ``ID_estGT``, any image format);
* the flat layout of the authors' repository, ``SET_ID_source.ext`` and ``SET_ID_target.ext``;
* the DIBCO archives, with pages and truths in folders of their own (``imgs`` and ``gt``).

A folder that is none of the 13 sets is a set too, by its own name. DIBCO weight files (``…_RWeights.dat``,
``…_PWeights.dat``) are found by the name of the truth or of the page.
"""

from __future__ import annotations

import json
import re
import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..core.arrays import Gray, Ink
from ..errors import BadData, InputError, PageTooLarge, UnknownName, UnreadablePage
from ..page.formats import open_image
from ..page.gray import to_gray
from . import weights as metric_weights
from .metrics import Weights

PAPER_ABOVE = 127  # truth files hold a few gray pixels: above this they are paper
GRAY_FROM, GRAY_TO, GRAY_SHARE = 32, 223, 0.05  # more pixels than this share between these: a picture, not a truth


@dataclass(frozen=True)
class DataSet:
    """A known data set: the names it goes by, its pages in the paper, and where its makers publish it."""

    name: str
    title: str
    year: int
    handwritten: int
    printed: int
    url: str
    aliases: tuple[str, ...] = ()
    licence: str = "published by the competition's organisers for research; do not redistribute"

    @property
    def pages(self) -> int:
        """Number of pages in the paper."""
        return self.handwritten + self.printed

    @property
    def ids(self) -> tuple[str, ...]:
        """The page names of the authors' repository: H for handwritten, P for printed."""
        kinds = (("H", self.handwritten), ("P", self.printed))
        return tuple(f"{kind}{i:02}" for kind, count in kinds for i in range(1, count + 1))


def _dibco(year: int, handwritten: int, printed: int, url: str) -> DataSet:
    title = f"{'DIBCO' if printed or year == 2017 else 'H-DIBCO'} {year}"
    return DataSet(f"DIBCO{year}", title, year, handwritten, printed, url, (f"H-DIBCO{year}", f"{year}"))


CATALOGUE: dict[str, DataSet] = {
    s.name: s
    for s in (
        _dibco(2009, 5, 5, "http://users.iit.demokritos.gr/~bgat/DIBCO2009/benchmark/"),
        _dibco(2010, 10, 0, "http://users.iit.demokritos.gr/~bgat/H-DIBCO2010/benchmark/"),
        _dibco(2011, 8, 8, "http://utopia.duth.gr/~ipratika/DIBCO2011/benchmark/"),
        _dibco(2012, 14, 0, "http://utopia.duth.gr/~ipratika/HDIBCO2012/benchmark/"),
        _dibco(2013, 8, 8, "http://utopia.duth.gr/~ipratika/DIBCO2013/benchmark/"),
        _dibco(2014, 10, 0, "http://users.iit.demokritos.gr/~bgat/HDIBCO2014/benchmark/"),
        _dibco(2016, 10, 0, "https://vc.ee.duth.gr/h-dibco2016/benchmark/"),
        _dibco(2017, 20, 0, "https://vc.ee.duth.gr/dibco2017/benchmark/"),
        _dibco(2018, 10, 0, "https://vc.ee.duth.gr/h-dibco2018/benchmark/"),
        DataSet("PHIBD", "Persian Heritage Image Binarization Dataset", 2012, 15, 0,
                "https://tc11.cvc.uab.es/datasets/PHIBD%202012_1", ("PHIBD2012", "PHIDB", "PHIDB2012"),
                "published by Nafchi et al. for research; do not redistribute"),
        DataSet("Bickley", "Bickley diary", 2010, 7, 0,
                "https://www.comp.nus.edu.sg/~brown/BinarizationShop/dataset.htm",
                ("Bickely", "Bickley2010", "Bickely2010", "Bickley-diary", "Bickely-diary"),
                "published by Deng et al. for research; do not redistribute"),
        DataSet("Synchromedia", "Synchromedia multispectral ancient documents, one band", 2015, 31, 0,
                "https://tc11.cvc.uab.es/datasets/SMADI_1", ("SMADI", "Synchromedia2015", "Synchromedia-Multispectral"),
                "published by Hedjam et al. for research; do not redistribute"),
        DataSet("Monk", "Monk Cuper set", 2019, 25, 0, "https://www.ai.rug.nl/~sheng/",
                ("Monk-Cuper", "Monk-Cuper-Set", "MCS", "Cuper", "Monk2019"),
                "published by He and Schomaker for research; do not redistribute"),
    )
}  # fmt: skip

_TEST = ("DIBCO2011", "DIBCO2014", "DIBCO2016")
GROUPS: dict[str, tuple[str, ...]] = {
    "stated-train": ("DIBCO2009", "DIBCO2010", "DIBCO2012", "Bickley", "Synchromedia"),
    "wide-train": tuple(name for name in CATALOGUE if name not in _TEST),
    "validate": ("DIBCO2013", "DIBCO2017", "DIBCO2018"),
    "test": _TEST,
    "all": tuple(CATALOGUE),
}

# kinds of pages that the 13 sets do not show, and those of their pages that no model is trained on (None: all of them);
# two that follow each other may be the sides of one leaf
KEPT = {"Bleedthrough": range(32, 40), "Nabuco": range(10, 14), "Office": None}


def _plain(name: str) -> str:
    return re.sub(r"[^a-z0-9]", "", name.lower())


_BY_NAME = {_plain(alias): s.name for s in CATALOGUE.values() for alias in (s.name, *s.aliases)}


@dataclass(frozen=True)
class Page:
    """A page with truth on disk, and its DIBCO weight files where there are any."""

    set: str
    id: str
    image: Path
    truth: Path
    recall_weights: Path | None = None
    precision_weights: Path | None = None


@dataclass
class Found:
    """What a folder holds of one set: pairs, files without a partner, and pages that occur twice."""

    pages: list[Page] = field(default_factory=list)
    unpaired: list[Path] = field(default_factory=list)
    ambiguous: list[tuple[str, list[Path]]] = field(default_factory=list)


_FORMATS = {".png", ".webp", ".tif", ".tiff", ".bmp", ".jpg", ".jpeg", ".jp2", ".pbm", ".pgm", ".ppm", ".pnm", ".gif"}
# "gt" counts behind a sign ("a_gt"), in capitals also without ("z97GT"); "light.gt" has one, "lightgt" has none
_TRUTH_SUFFIX = re.compile(r"(?i:[._-]((est)?gt|target|truth|groundtruth))$|(est)?GT$")
_PAGE_SUFFIX = re.compile(r"[._-](source|img|image|in)$", re.IGNORECASE)
_FLAT = re.compile(r"(?P<set>.+?)_(?P<id>[^_]+)_(source|target)$", re.IGNORECASE)
_TRUTH_FOLDER = {"gt", "gts", "truth", "truths", "groundtruth", "target", "targets"}
_PAGE_FOLDER = {
    "imgs",
    "img",
    "images",
    "image",
    "source",
    "sources",
    "original",
    "originals",
    "pages",
    "input",
    "dataset",
}
_DIBCO_YEAR = re.compile(r"dibc[o0][ _-]?(20\d\d)", re.IGNORECASE)
_WEIGHTS = re.compile(r"_(R|P)Weights$", re.IGNORECASE)


def known_set(folder: str) -> str | None:
    """The set of the catalogue that a folder's name stands for, or None."""
    year = _DIBCO_YEAR.search(folder)
    return _BY_NAME.get(_plain(year[1] if year else folder))


def _folder_kind(folder: str) -> str:
    words = set(re.findall("[a-z]+", folder.lower()))
    return "truth" if words & _TRUTH_FOLDER else "page" if words & _PAGE_FOLDER else ""


def scan(data: Path) -> dict[str, Found]:
    """Everything in a folder that looks like pages with truth, by set; nothing is decoded."""
    if not data.is_dir():
        kind = "is a file; a folder of data sets is expected" if data.exists() else "no such folder"
        raise BadData(f"{data}: {kind}")
    pages: dict[tuple[str, str], list[Path]] = {}
    truths: dict[tuple[str, str], list[Path]] = {}
    weights: dict[tuple[str, str, str], Path] = {}
    names: dict[tuple[str, str], str] = {}
    for path in sorted(data.rglob("*")):
        folders = path.relative_to(data).parts[:-1]
        if path.name.startswith(".") or any(f.startswith(".") for f in folders) or "skel" in path.stem.lower():
            continue
        if path.suffix.lower() == ".dat" and (which := _WEIGHTS.search(path.stem)):
            name, stem = _place(data, folders, path.stem[: which.start()])
            weights[name, _TRUTH_SUFFIX.sub("", stem).lower(), which[1].upper()] = path
        elif path.suffix.lower() in _FORMATS:
            name, stem = _place(data, folders, path.stem)
            short = _TRUTH_SUFFIX.sub("", stem)
            is_truth = len(short) < len(stem) or any(_folder_kind(f) == "truth" for f in folders)
            short = short if is_truth else _PAGE_SUFFIX.sub("", stem)
            key = (name, short.lower())
            (truths if is_truth else pages).setdefault(key, []).append(path)
            names.setdefault(key, short)
    found: dict[str, Found] = {}
    rank = {name: i for i, name in enumerate(CATALOGUE)}
    for key in sorted(names, key=lambda k: (rank.get(k[0], len(rank)), k[0], _natural(k[1]))):
        entry = found.setdefault(key[0], Found())
        own, true = pages.get(key, []), truths.get(key, [])
        if len(own) == 1 and len(true) == 1:
            extra = (weights.get((*key, kind)) for kind in "RP")
            entry.pages.append(Page(key[0], names[key], own[0], true[0], *extra))
        elif own and true:
            entry.ambiguous.append((names[key], own + true))
        else:
            entry.unpaired.extend(own + true)
    return found


def _place(data: Path, folders: Sequence[str], stem: str) -> tuple[str, str]:
    """The set that a file belongs to, and its stem without the set's name."""
    flat = _FLAT.match(stem)
    if flat:
        return _BY_NAME.get(_plain(flat["set"]), flat["set"]), stem[len(flat["set"]) + 1 :]
    known = next(filter(None, map(known_set, folders)), None)
    own = next((f for f in folders if not _folder_kind(f)), None)
    return known or own or known_set(data.resolve().name) or data.resolve().name, stem


def _natural(text: str) -> list[Any]:
    return [int(part) if part.isdecimal() else part for part in re.split(r"(\d+)", text)]


def resolve(names: Iterable[str], own: Iterable[str] = ()) -> list[str]:
    """Set names for names, aliases and groups in any case, in order and once each; ``own`` are other known sets."""
    others = {name.lower(): name for name in own}
    result: list[str] = []
    for name in names:
        if mine := others.get(name.lower()):  # a folder named "test" is meant by that, not the paper's sets
            result.append(mine)
        elif name.lower() in GROUPS:
            result.extend(GROUPS[name.lower()])
        elif known := _BY_NAME.get(_plain(name)):
            result.append(known)
        else:
            raise UnknownName("data set", name, {*CATALOGUE, *GROUPS, *own})
    return list(dict.fromkeys(result))


def find(data: str | Path, names: Iterable[str] | None = None) -> list[Page]:
    """The pages with truth of the named sets or groups in a folder; without names, of every set that it holds.

    A set that is asked for and not there, or a page with two candidates, is a BadData.
    """
    data = Path(data)
    found = scan(data)
    there = [name for name, entry in found.items() if entry.pages or entry.ambiguous]
    if not there:
        raise BadData(f"{data}: no pages with truth found; see 'sauvolanet datasets --help' for the layouts")
    wanted = there if names is None else resolve(names, there)
    missing = [name for name in wanted if name not in there]
    if missing:
        raise BadData(f"{data}: no pages of {', '.join(missing)}; found: {', '.join(there)}")
    for name in wanted:
        for page, files in found[name].ambiguous:
            raise BadData(f"{name} {page}: more than one page or truth: {', '.join(map(str, files))}")
    return [page for name in wanted for page in found[name].pages]


def held_out_pages() -> set[tuple[str, str]]:
    """(set, id) of the validation pages of the wide partition; the list is a file of the project."""
    listed = json.loads((Path(__file__).parent / "validation.json").read_text(encoding="utf-8"))
    if not listed:
        raise BadData("validation.json lists no pages")
    return {(name, page) for name, pages in listed.items() for page in pages}


def read_image(path: Path) -> Gray:
    """An image file as gray, (H, W) uint8, 0 black; what cannot be read is an InputError that names the file."""
    from PIL import Image

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", Image.DecompressionBombWarning)
            with open_image(path) as image:
                return to_gray(image)
    except FileNotFoundError:
        raise UnreadablePage(f"{path}: no such file") from None
    except IsADirectoryError:
        raise UnreadablePage(f"{path}: is a folder, an image is expected") from None
    except Image.DecompressionBombError:
        raise PageTooLarge(f"{path}: too many pixels") from None
    except (UnreadablePage, OSError, SyntaxError, ValueError, EOFError) as problem:
        reason = "the file is empty" if path.is_file() and not path.stat().st_size else "not an image, or damaged"
        raise UnreadablePage(f"{path}: {reason}" + ("" if isinstance(problem, OSError) else f" ({problem})")) from None


def read_gray(page: Page) -> Gray:
    """The page's gray, (H, W) uint8, 0 black."""
    return read_image(page.image)


def read_truth(page: Page, shape: tuple[int, ...] | None = None) -> Ink:
    """The page's truth, bool (H, W), True = ink; gray above 127 is paper.

    A truth of another size than its page, or one that is a gray picture itself, is a BadData.

    shape : the shape of the page's gray where it is known, else the page is read.
    """
    levels = read_image(page.truth)
    truth = levels <= PAPER_ABOVE
    if shape is None:
        shape = read_gray(page).shape
    if truth.shape != shape:
        sizes = f"{truth.shape[1]}×{truth.shape[0]} pixels, its page {shape[1]}×{shape[0]}"
        raise BadData(f"{page.truth}: the truth is {sizes}")
    gray = float(((levels >= GRAY_FROM) & (levels <= GRAY_TO)).mean())
    if gray > GRAY_SHARE:
        raise BadData(f"{page.truth}: {gray:.0%} of the truth is neither black nor white; ink must be black on white")
    return truth


def read_weights(page: Page, shape: tuple[int, int]) -> Weights | None:
    """The page's recall and precision weights from its DIBCO files, or None where it has not both."""
    if page.recall_weights is None or page.precision_weights is None:
        return None
    return metric_weights.read(page.recall_weights, shape), metric_weights.read(page.precision_weights, shape)


@dataclass(frozen=True)
class Report:
    """How complete and sound a set is: pages that can be used, ids that lack, files without a partner, damage.

    doubtful : pages that can be used and look wrong.
    """

    set: str
    expected: int | None
    pages: int
    missing: list[str]
    unpaired: list[str]
    damaged: list[str]
    doubtful: list[str] = field(default_factory=list)


def check(data: str | Path, progress: Callable[[int, int], None] | None = None) -> list[Report]:
    """Read everything in a folder: one report per set. ``progress(done, total)`` is called after each page."""
    reports = []
    found = scan(Path(data))
    done, total = 0, sum(len(entry.pages) for entry in found.values())
    for name, entry in found.items():
        known = CATALOGUE.get(name)
        if not entry.pages and not entry.ambiguous and known is None:
            continue  # pictures without truth beside the sets
        damaged = [f"{page}: several files: {', '.join(map(str, files))}" for page, files in entry.ambiguous]
        doubtful = []
        for page in entry.pages:
            try:
                truth = read_truth(page)
                read_weights(page, (truth.shape[0], truth.shape[1]))
                doubtful += doubts(page, float(truth.mean()))
            except InputError as problem:
                damaged.append(str(problem))
            done += 1
            if progress is not None:
                progress(done, total)
        unpaired = [str(path) for path in entry.unpaired]
        sound = len(entry.pages) + len(entry.ambiguous) - len(damaged)
        missing = _missing(known, [page.id for page in entry.pages]) if known else []
        reports.append(Report(name, known.pages if known else None, sound, missing, unpaired, damaged, doubtful))
    return reports


def doubts(page: Page, share: float) -> list[str]:
    """What looks wrong with a page that can be used, of which so large a share is ink."""
    return [f"{page.truth}: {share:.0%} of the page is ink; is the truth inverted?"] if share > 0.5 else []


def _missing(known: DataSet, ids: Sequence[str]) -> list[str]:
    """The authors' ids that lack, or where the ids are others, how many pages do."""
    if set(ids) <= set(known.ids):
        return [i for i in known.ids if i not in ids]
    count = known.pages - len(ids)
    return [f"{count} of {known.pages} pages"] if count > 0 else []
