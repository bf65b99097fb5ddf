"""What the user named becomes a list of items: which file to read, and under which name the result goes.

Names are decided folder by folder on the whole list, so they do not depend on the order of the work:
``a.jpg`` gives ``a.png``; ``a.jpg`` beside ``a.tif`` give ``a.jpg.png`` and ``a.tif.png``.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from pathlib import Path, PurePath
from typing import NamedTuple

from ..errors import InputError, UnreadablePage, UsageError
from . import stores
from .read import MULTI_PAGE, SUFFIXES


class Item(NamedTuple):
    """One file to read (absolute path, URL or "-"), and its result's name below the output folder, without suffix.

    problem : why nothing can be read there, as with a folder that may not be listed; such an item fails.
    """

    input: str
    output: str
    problem: str = ""


def find_items(inputs: Sequence[str], output: str, pages_apart: bool) -> Iterator[Item]:
    """All items, in an order that depends on names alone.

    inputs : files, folders (recursive), patterns, URLs, "-". output : the output folder, left out if it is inside an
        input folder or pattern. pages_apart : each page of a TIFF or PDF becomes a file of its own (``a-0001.png``).
    A folder given alone lends its structure; beside other inputs it also lends its name.
    """
    refused: dict[str, str] = {}
    found = False
    for prefix, files in _groups(list(dict.fromkeys(inputs)), output, refused):
        names = output_names([stores.base_name(f) if f != "-" else "stdin" for f in files], pages_apart)
        first: dict[str, str] = {}
        for file, name in zip(files, names, strict=True):
            found = True
            if name in first:
                why = f"{first[name]} and {file} would both become {name}"
                if not stores.same_name(first[name], file):
                    raise UsageError(f"{why}; give the folder that holds both")
                yield Item(file, "", why)  # an archive may hold ./a.png beside a.png
                continue
            first[name] = file
            yield Item(file, f"{prefix}/{name}" if prefix else name)
    if not found:
        raise InputError("; ".join(refused.values()) or f"no images or PDFs in {', '.join(inputs)}")
    yield from (Item(place, "", problem) for place, problem in refused.items())


def _groups(inputs: list[str], output: str, refused: dict[str, str]) -> Iterator[tuple[str, list[str]]]:
    """(folder below the output, files that go there), each folder once; ``refused`` gets what cannot be read, and why.

    Folders may hold millions of files and are walked last, one at a time.
    """
    folders: dict[str, str] = {}
    chosen: dict[str, list[str]] = {}  # what was named or matches, by folder below the output
    for text in inputs:
        place = stores.absolute(text)
        try:
            if text != "-" and stores.is_folder(text):
                if stores.same_file(place, stores.absolute(output)):
                    raise UsageError(f"{text} is both input and output folder; give another folder with -o")
                top = "" if len(inputs) == 1 else stores.base_name(place)
                if folders.get(top, place) != place:
                    raise UsageError(f"two of the input folders are called '{top}'; give the folder that holds both")
                folders[top] = place
            elif _is_pattern(text):
                matches = _matches(text, stores.absolute(output))
                if not matches:
                    refused[place] = f"nothing matches {place}"
                for below, file in matches:
                    chosen.setdefault(below, []).append(file)
            else:
                chosen.setdefault("", []).append(place)
        except UnreadablePage as problem:
            refused[place] = str(problem)
    for top, place in folders.items():
        for below, files in stores.walk(place, stores.absolute(output), refused):
            prefix = "/".join(filter(None, (top, below)))
            wanted = [file for file in files if stores.suffix(file) in SUFFIXES]
            yield prefix, list(dict.fromkeys(wanted + chosen.pop(prefix, [])))
    for prefix in sorted(chosen):
        yield prefix, list(dict.fromkeys(chosen[prefix]))  # a file named in two ways counts once


def _is_pattern(text: str) -> bool:
    """Whether it has wildcards and is not a file of that very name; over http nothing is searched."""
    if not re.search(r"[*?\[]", text):
        return False
    return not text.startswith("http") if stores.is_url(text) else not Path(text).exists()


def _matches(pattern: str, output: str) -> list[tuple[str, str]]:
    """(folder below the part of the pattern that has no wildcard, file) of what matches."""
    root = stores.absolute(stores.glob_root(pattern))
    any_suffix = stores.suffix(pattern) in ("", ".*")
    real = lru_cache(maxsize=1000)(stores.real)
    inside = real(output) if stores.is_below(real(output), real(root)) else ""
    found = []
    for match in stores.glob(pattern):
        file = stores.absolute(match)
        if any_suffix and stores.suffix(file) not in SUFFIXES:
            continue
        folder, _, name = file.rpartition("/")
        if inside and stores.is_below(f"{real(folder)}/{name}", inside):  # a result of ours
            continue
        inner, top = file.partition("::")[0], root.partition("::")[0]
        below = stores.tidy(inner[len(top) :].replace(os.sep, "/")).rpartition("/")[0]
        found.append((below, file))
    return found


def only_file(text: str, output: str) -> str:
    """The file that was named, or the only one that a pattern matches beside the output file."""
    if not _is_pattern(text):
        return stores.absolute(text)
    target = stores.absolute(output)
    files = [file for _, file in _matches(text, target) if not stores.same_file(file, target)]
    if not files:
        raise InputError(f"nothing matches {stores.absolute(text)}")
    if len(files) > 1:
        raise UsageError(f"{text} matches {len(files)} files, and several inputs need a folder: give one with -o")
    return files[0]


def inside(inputs: Iterable[str], output: str) -> list[str]:
    """Those of the inputs that lie, or may match, inside the output folder: absolute, for `Named` on any machine."""
    folder = stores.absolute(output)
    real = stores.real(folder)
    found = []
    for text in inputs:
        top = stores.absolute(stores.glob_root(text) if _is_pattern(text) else text)
        if stores.is_url(top) == stores.is_url(folder) and (
            stores.is_below(f"{top}/", folder) or stores.is_below(f"{stores.real(top)}/", real)
        ):
            found.append(stores.absolute(text))
    return found


class Named:
    """The files that inputs name, themselves or by a pattern or folder, to ask whether a file is ``in`` it."""

    def __init__(self, inputs: Iterable[str], output: str) -> None:
        self.files: set[str] = set()
        self.folders: list[str] = []
        for text in inputs:
            if stores.is_folder(text):
                self.folders.append(stores.real(text))
            else:
                files = [file for _, file in _matches(text, output)] if _is_pattern(text) else [text]
                self.files.update(map(stores.real, files))

    def __contains__(self, file: str) -> bool:
        real = stores.real(file)
        return real in self.files or any(stores.is_below(real, folder) for folder in self.folders)


def output_names(names: Sequence[str], pages_apart: bool) -> list[str]:
    """Names of the results of the files of one folder, without suffix.

    >>> output_names(["a.jpg", "a.tif", "b.png"], pages_apart=False)
    ['a.jpg', 'a.tif', 'b']
    >>> output_names(["a.pdf", "a-0001.jpg"], pages_apart=True)
    ['a', 'a-0001.jpg']
    """
    result = [PurePath(n).stem for n in names]
    while True:  # a full name may meet another file's stem: a.jpg, a.tif and a.jpg.tif
        count = Counter(r.casefold() for r in result)
        split = {r.casefold() for n, r in zip(names, result, strict=True)
                 if pages_apart and stores.suffix(n) in MULTI_PAGE}  # fmt: skip
        clash = [
            i for i, r in enumerate(result)
            if r != names[i] and (count[r.casefold()] > 1 or _without_number(r) in split - {r.casefold()})
        ]  # fmt: skip
        if not clash:
            return result
        for i in clash:
            result[i] = names[i]


def _without_number(name: str) -> str:
    return re.sub(r"-\d{4,}$", "", name).casefold()
