"""A batch killed at any moment: run again, it ends with the same files and no others.

``--kills N`` kills that often.
"""

from __future__ import annotations

import random
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from sauvolanet.files import binarize_many

from . import making


@pytest.mark.slow
def test_killed_batches_go_on(tmp_path: Path, pytestconfig):
    folder = tmp_path / "scans"
    folder.mkdir()
    for number in range(40):
        gray = making.page(300, 400)
        gray[number : number + 3] = 20
        (folder / f"{number}.png").write_bytes(making.image("PNG", gray))
    (folder / "a.pdf").write_bytes(making.pdf_image(making.image("JPEG"), "/DCTDecode"))
    rng = random.Random(25)
    expected = {}
    for row in binarize_many(str(folder), tmp_path / "whole", method="otsu"):
        expected[row["output"]] = (tmp_path / "whole" / row["output"]).read_bytes()
    for trial in range(pytestconfig.getoption("--kills")):
        output = tmp_path / f"out{trial}"
        command = [sys.executable, "-m", "sauvolanet", "binarize", str(folder), "-o", str(output), "--method", "otsu",
                   "--json", "--jobs", str(rng.choice((1, 2)))]  # fmt: skip
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as batch:
            assert batch.stdout is not None
            for _ in range(rng.randrange(1, 30)):
                batch.stdout.readline()
            batch.send_signal(rng.choice((signal.SIGKILL, signal.SIGTERM, signal.SIGINT)))
            batch.communicate()
        rows = list(binarize_many(str(folder), output, method="otsu"))
        assert {row["status"] for row in rows} <= {"done", "skipped"} and len(rows) == len(expected)
        assert "skipped" in {row["status"] for row in rows}
        left = {p.relative_to(output).as_posix() for p in output.rglob("*") if p.is_file()}
        assert {name for name in left if not name.startswith(".sauvolanet/")} == set(expected)
        for name, data in expected.items():
            assert (output / name).read_bytes() == data
