"""`sauvolanet train`: what its options become."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("torch", reason="training needs torch: pip install 'sauvolanet[train]'")

from sauvolanet.cli import main
from sauvolanet.errors import SauvolanetError
from sauvolanet.net import load
from sauvolanet.net.model import save
from sauvolanet.train import loop
from sauvolanet.train.settings import Settings


@pytest.mark.parametrize(
    ("model", "preset", "taken"),
    [("swift", [], "swift"), ("original", [], "authors"), ("swift", ["--preset", "better"], "better"),
     ("./other", [], "paper"), ("./listed", [], "paper"), (None, [], "paper")],
)  # fmt: skip
def test_the_preset_is_that_of_the_first_model(
    model: str | None, preset: list[str], taken: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    original = load("original")
    for name, made_by in ("other", "of another program"), ("listed", ["swift"]):
        save({**original.about, "training": {"preset": made_by}}, original.weights, name)
    seen: list[Settings] = []

    def look(settings: Settings, *_: object, **__: object) -> None:
        seen.append(settings)
        raise SauvolanetError("enough")

    monkeypatch.setattr(loop, "Run", look)
    init = ["--init", model] if model else []
    assert main(["train", "--data", "pages", "--out", "run", *init, *preset]) == 1
    assert [settings.preset for settings in seen] == [taken]
