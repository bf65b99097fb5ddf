"""Walk a recipe: stage by stage, each a training run that can be resumed, to the model's file.

    OUT/recipe.json        which recipe the folder is for
    OUT/composed/          composed pages, shared by the stages
    OUT/STAGE/             the run of a stage, and model.json with model.npz, its weights
    OUT/NAME.json, .npz    the model, in 8 bits where its network can be

A recipe that comes after another goes on in the folder of that one, or makes its stages itself: the same ones.
Killed at any moment and started again it goes on and ends with the same weights, bit for bit.
"""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

from ..core.atomic import atomic
from ..errors import BadData, UsageError
from ..net.model import Model, base_of, load, save
from ..score.datasets import read_image
from ..synth import example
from .build import folded, like_model
from .export import difference, mean_of
from .loop import Run
from .ranges import in_eight_bits, told_of_rounding
from .recipe import Recipe, Stage
from .settings import PRESETS, with_changes

OF_RECIPE = "recipe.json"
MODEL = "model"


def walk(recipe: Recipe, data: Path, out: Path, command: str = "", output: Path | None = None) -> Path:
    """Make the model of a recipe, or go on making it; the path of its JSON is returned.

    output : where to write the model, without it ``out / NAME``.
    """
    _same_recipe(recipe, out)
    jobs: dict[str, Run] = {}
    models: dict[str, Model] = {}
    for number, stage in enumerate(recipe.stages, 1):
        job = _open(recipe, stage, data, out, command, models)
        title = f"stage {number} of {len(recipe.stages)}, {stage.name}"
        if job.ended:
            job.check_data()
            job.say(f"{title}: all {job.step} steps were made before")
        else:
            job.say(f"{title}: step {job.step} of {job.settings.steps}")
            job.train()
        owner = next(one for one in recipe.known() if one.name == stage.recipe)
        model = _of_recipe(job.model(f"{owner.name}-{stage.name}"), owner)
        if job.processes.first:
            save(model.about, model.weights, out / stage.name / MODEL)
        job.processes.wait()
        jobs[stage.name], models[stage.name] = job, load(str(out / stage.name / MODEL))
    return _export(recipe, jobs, models, output or out / recipe.export["name"])


def _open(recipe: Recipe, stage: Stage, data: Path, out: Path, command: str, models: dict[str, Model]) -> Run:
    """The run of a stage, from its start or as far as it had come."""
    settings = stage.settings
    start = models.get(stage.start)
    if start:
        settings = with_changes(like_model(PRESETS[settings.preset], start), stage.changes)
    if stage.teacher:
        settings = replace(settings, teacher=str(out / stage.teacher / f"{MODEL}.json"))
    job = Run(settings, data, out / stage.name, command, composed=out / "composed")
    if start:
        job.start_from(start)
    return job


def _export(recipe: Recipe, jobs: dict[str, Run], models: dict[str, Model], output: Path) -> Path:
    """Write the model: a stage, or the mean of several, checked against torch on a page first."""
    last = jobs[recipe.mean[-1]]
    terms = {name: recipe.export.get(name, "") for name in ("source", "licence", "copyright")}
    model = last.model(base_of(output).name, **terms)
    net = last.average
    if len(recipe.mean) > 1:
        model = mean_of(model, [models[name] for name in recipe.mean[:-1]])
        net = folded(last.settings, model)
    model = _of_recipe(model, recipe)
    if last.processes.first:
        path = last.a_page()
        page = read_image(path) if path else example()
        difference(net, model, page)
        single, model = model, in_eight_bits(model, last.settings, last.data, last.composed)
        last.say(f"{model.name}: {told_of_rounding(single, model, page)}")
        save(model.about, model.weights, output)
    last.processes.wait()
    return base_of(output).with_name(base_of(output).name + ".json")


def _of_recipe(model: Model, recipe: Recipe) -> Model:
    return Model({**model.about, "recipe": recipe.name, "recipe_sha256": recipe.digest}, model.weights)


def _same_recipe(recipe: Recipe, out: Path) -> None:
    """Note for which recipe the folder is; one that is for another, and not for one before this, is a UsageError."""
    path = out / OF_RECIPE
    now, *earlier = ({"recipe": one.name, "recipe_sha256": one.digest} for one in recipe.known())
    try:
        before = json.loads(path.read_text(encoding="utf-8")) if path.exists() else None
    except ValueError:
        raise BadData(f"{path}: damaged; use another --out") from None
    if before is None or before in earlier:
        with atomic(path) as file:
            file.write((json.dumps(now, indent=1) + "\n").encode())
    elif before != now:
        other = "an earlier form of it" if before.get("recipe") == recipe.name else f"recipe {before.get('recipe')}"
        raise UsageError(f"{out} is not a run of this recipe {recipe.name} but of {other}; use another --out")
