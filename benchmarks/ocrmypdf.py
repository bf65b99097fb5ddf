"""A scan of several pages through OCRmyPDF, alone and with our plugin: the text layer's error rate, and the bytes.

    python benchmarks/ocrmypdf.py                                  # the ocrmypdf of this environment
    python benchmarks/ocrmypdf.py --ocrmypdf .venv-hosts/ocrmypdf/bin/ocrmypdf   # where `make hosts` put it

The scan is made of the smallest pages of one language from the folder ``ocr`` of the data (SAUVOLANET_DATA), their
JPEG data untouched, with a stated resolution: OCRmyPDF needs one, and most of the pages do not know theirs. Every way
is run in threads and in processes; where texts or page images differ between the two, nothing is reported. Error
rates are those of benchmarks/ocr.py, one reading each. The table goes to docs/plugins.md.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pypdfium2 as pdfium

from ocr import ROOT, percent, put_between
from sauvolanet.panel import ocr
from sauvolanet.pipeline import DEFAULT_MODEL

WAYS: dict[str, list[str]] = {
    "OCRmyPDF alone": [],
    "`--sauvolanet-for ocr`": ["--sauvolanet-for", "ocr"],
    "`--sauvolanet-for both`": ["--sauvolanet-for", "both"],
}
WORKERS: dict[str, list[str]] = {"threads": [], "processes": ["--no-use-threads"]}


def make_scan(images: list[Path], dpi: float, target: Path) -> None:
    """A PDF with one JPEG file a page, as a scanner writes it: the data are copied, not encoded anew."""
    document = pdfium.PdfDocument.new()
    for path in images:
        image = pdfium.PdfImage.new(document)
        image.load_jpeg(path)
        width, height = (72 * side / dpi for side in image.get_px_size())
        image.set_matrix(pdfium.PdfMatrix().scale(width, height))
        page = document.new_page(width, height)
        page.insert_obj(image)
        page.gen_content()
    document.save(target)
    document.close()


def texts(pdf: Path) -> list[str]:
    """The text layer of each page in its own order; pdftotext's guess of the layout would add errors of its own."""
    done = subprocess.run(["pdftotext", "-raw", pdf, "-"], capture_output=True, text=True, check=True)
    return done.stdout.split("\f")[:-1]  # a form feed ends every page


def looks(pdf: Path, dpi: float) -> list[np.ndarray]:
    """The pages as they are seen, pixel by pixel of the scan."""
    with pdfium.PdfDocument(pdf) as document:
        return [page.render(scale=dpi / 72).to_numpy().copy() for page in document]


def run(program: str, flags: list[str], scan: Path, target: Path) -> None:
    command = [program, "--output-type", "pdf", "--quiet", *flags, str(scan), str(target)]
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "OMP_THREAD_LIMIT": "1"})
    if done.returncode:
        told = done.stderr.strip().splitlines() or ["no reason given"]
        sys.exit(f"ocrmypdf.py: {' '.join(command)}: exit code {done.returncode}: {told[-1]}")


def report(pages: list[ocr.Scan], rates: dict[str, list[float]], sizes: dict[str, int], told: str) -> str:
    """The table as Markdown; the first entry of ``sizes`` is the scan's."""
    lines = [told, "", "| | bytes | error rate, mean | " + " | ".join(p.id for p in pages) + " |",
             "|---|---:|---:|" + "---:|" * len(pages)]  # fmt: skip
    for name, size in sizes.items():
        cells = [percent(sum(rates[name]) / len(pages)), *map(percent, rates[name])] if name in rates else []
        lines.append(f"| {name} | {size:,} | " + " | ".join(cells or [""] * (len(pages) + 1)) + " |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ocrmypdf", default="ocrmypdf", help="The program, in an environment that has the plugin.")
    parser.add_argument("--pages", type=int, default=6)
    parser.add_argument("--language", default="eng", help="Only pages of this language of Tesseract.")
    parser.add_argument("--dpi", type=int, default=150)
    parser.add_argument("--jobs", type=int, default=8)
    args = parser.parse_args()
    for program in (args.ocrmypdf, "tesseract", "pdftotext"):
        if not shutil.which(program):
            sys.exit(f"ocrmypdf.py: {program} is not installed")
    version = subprocess.run([args.ocrmypdf, "--version"], capture_output=True, text=True, check=True).stdout.strip()
    data = os.environ.get("SAUVOLANET_DATA", ROOT.parent / "shared" / "data")
    pages = [scan for scan in ocr.scans(data) if scan.language == args.language]
    pages = sorted(pages, key=lambda scan: scan.pixels)[: args.pages]
    rates: dict[str, list[float]] = {}
    with tempfile.TemporaryDirectory() as made:
        scan = Path(made, "scan.pdf")
        make_scan([page.image for page in pages], args.dpi, scan)
        sizes = {"the scan": scan.stat().st_size}
        for name, flags in WAYS.items():
            found = []
            for workers, flag in WORKERS.items():
                target = Path(made, f"{len(rates)}-{workers}.pdf")
                common = ["--jobs", str(args.jobs), "--language", args.language]
                run(args.ocrmypdf, [*common, *flags, *flag], scan, target)
                found.append((texts(target), looks(target, args.dpi)))
                print(f"{name}, {workers}: {target.stat().st_size} bytes", file=sys.stderr, flush=True)
                sizes.setdefault(name, target.stat().st_size)
            (read, seen), (read_again, seen_again) = found
            if len(read) != len(pages):
                sys.exit(f"ocrmypdf.py: {name}: {len(read)} pages came of {len(pages)}")
            if read != read_again:
                sys.exit(f"ocrmypdf.py: {name}: threads and processes give different texts")
            if not all(np.array_equal(a, b) for a, b in zip(seen, seen_again, strict=True)):
                sys.exit(f"ocrmypdf.py: {name}: threads and processes give different page images")
            each = (page.errors(text) for page, text in zip(pages, read, strict=True))
            rates[name] = [wrong / length for wrong, length in each]
    told = (
        f"OCRmyPDF {version}, Tesseract {ocr.version()}, jbig2enc {'in use' if shutil.which('jbig2') else 'absent'}, "
        f"default model ({DEFAULT_MODEL}), {len(pages)} pages at {args.dpi} dpi, {args.jobs} jobs. "
        "Character error rates of the text layer (`pdftotext -raw`) in percent, one reading each. "
        "In every way threads and processes gave the same text and the same page images."
    )
    table = report(pages, rates, sizes, told)
    put_between(ROOT / "docs" / "plugins.md", "ocrmypdf", table)
    print(table)


if __name__ == "__main__":
    main()
