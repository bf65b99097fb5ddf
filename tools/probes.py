"""Make src/sauvolanet/probes.tif: the small pages on which `sauvolanet.pipeline.fingerprint` looks at what an engine gives.

    python tools/probes.py

Made anew, the pages may differ with Pillow's version, and with them every fingerprint: batches that are under way
would not go on, and the paper's cells would be computed again. So it is run only where a probe is missing.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from PIL import Image

import sauvolanet
from sauvolanet.core.arrays import Gray
from sauvolanet.synth import page

HEIGHT, WIDTH = 104, 152


def probes() -> dict[str, Gray]:
    """By what each of them is for: gray (104, 152) uint8, 0 black."""
    text, _ = page(6, kind="print", height=HEIGHT, width=WIDTH)
    printed, _ = page(2, kind="typescript", height=HEIGHT, width=WIDTH)
    _, thin = page(2, kind="print", height=HEIGHT, width=WIDTH)
    paper = np.uint8(np.median(printed))
    blank = np.uint8(230) + (np.indices((HEIGHT, WIDTH)).sum(0) % 6).astype(np.uint8)  # just blank
    few = blank.copy()
    few[50:55, 70:86:4] = 60  # four letters i, less than a two-hundredth of the page
    white = np.where(thin, 225, 20 + blank // 16).astype(np.uint8)
    sides = printed.copy()
    sides[:, :4] = 6  # the scanner's bed
    sides[:3, 30:140] = 70  # a strip along a side
    sides[-4:-2, 20:120] = 60  # and a line near one
    faint = (200 + (printed.astype(np.int16) - int(paper)) // 12).clip(0, 255).astype(np.uint8)
    gradient = np.tile(np.linspace(0, 255, WIDTH).astype(np.uint8), (HEIGHT, 1))
    return {"ordinary text": text, "few words": few, "blank": blank, "white on black": white,
            "bed, strip and line at the sides": sides, "faint ink": faint, "gradient": gradient}  # fmt: skip


def main() -> None:
    """Write them as the pages of one TIFF."""
    first, *others = (Image.fromarray(gray) for gray in probes().values())
    target = Path(sauvolanet.__file__).with_name("probes.tif")
    first.save(target, save_all=True, append_images=others, compression="tiff_adobe_deflate")


if __name__ == "__main__":
    main()
