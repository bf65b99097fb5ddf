"""The training loop, read from top to bottom: patches in, steps, validation, checkpoints, a model out.

Everything random is a function of (seed, step, patch), so a run that is killed and started again goes on to the same
weights, bit for bit, as one that was never interrupted (on one kind of processor, with the same versions).
"""

from __future__ import annotations

import contextlib
import copy
import io
import math
import os
import sys
import time
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from tqdm import tqdm

from ..api import Binarizer
from ..core.atomic import atomic
from ..errors import BadData, InputError, RunFailed, SauvolanetError, UsageError
from ..net.model import Model, load
from ..score import datasets
from ..score.evaluation import score_pages
from . import optimizers, record
from .build import build, calibrate, from_model, tensors
from .composed import digest_of_materials, make_composed, shares_of_papers
from .export import to_model
from .feed import Feed
from .interrupts import Interrupts, Stopped
from .loss import LOSSES, writing
from .patches import Batch, Patches, TrainingPage, load_pages, taught, usable
from .processes import Processes
from .schedule import fitted_steps, measured, schedule
from .settings import Settings, settings_from_json
from .split import documents, pages_of_the_end, split

CHECKPOINT = "checkpoint.pt"


class Run:
    """A training run in its folder: make it, `train` it, `model` it."""

    def __init__(self, settings: Settings, data: str | Path, folder: str | Path, command: str = "",
                 other_length: bool = False, composed: Path | None = None) -> None:  # fmt: skip
        """other_length : ``settings.steps`` counts even where ``minutes`` has fixed the length of the run before.

        composed : the folder of the composed pages, which runs may share; without it one in the run's own.
        """
        self.folder, self.data = Path(folder), Path(data)
        self.composed = composed or self.folder / "composed"
        self.other_length = other_length
        self.settings = settings
        self.command = command
        self.step, self.seconds = 0, 0.0
        self.longer = False  # whether the run goes on with another length than it began with
        self.calibrate = False  # whether weights with a folded normalisation have just been put in
        self.fitted = False  # whether --minutes has fixed the number of steps
        self.origin: dict[str, str] | None = None  # name, partition and digest of the model that the run began with
        self.teacher: dict[str, str] | None = None  # the same of the model that teaches
        self.materials = ""  # the digest of what the composed pages are made of
        self.history: list[dict[str, Any]] = []
        self.losses: list[float] = []  # since the last row of the log
        self.processes = Processes.join()
        self.parts = self.processes.parts(settings)
        torch.manual_seed(settings.seed)
        self.net = build(settings)
        self.average = copy.deepcopy(self.net)
        trained = [p for p in self.net.parameters() if p.requires_grad]
        self.optimizers = optimizers.make(
            settings.optimizer, trained, settings.rate, settings.epsilon, settings.weight_decay
        )
        if (self.folder / CHECKPOINT).exists():
            self._resume()

    def start_from(self, model: Model) -> None:
        """Begin with a model's weights (fine-tuning); its architecture must be the run's."""
        if self.step:  # a resumed run has its own weights
            origin = self.origin or {"name": "no model"}
            if origin["name"] != model.name:
                raise UsageError(
                    f"{self.folder} holds a run that began with {origin['name']}, not {model.name}; use another --out"
                )
            if origin.get("digest", model.digest) != model.digest:  # older runs know the name only
                raise UsageError(f"{self.folder} holds a run that began with another {model.name}; use another --out")
            return
        if model.architecture != self.settings.architecture:
            raise UsageError(
                f"model {model.name} has another architecture than this run of preset {self.settings.preset}"
            )
        from_model(self.net, model)
        self.calibrate = model.architecture.norm == "batch" and not self.settings.frozen
        self.origin = record.known_of(model)

    # -- the loop ------------------------------------------------------------------------------------------------

    def train(self, minutes: float | None = None, stop_after: int | None = None) -> None:
        """Train to the end of the schedule, or until ``stop_after`` steps; checkpoints as it goes.

        Asked to stop by Ctrl-C or SIGTERM it ends its step, saves and raises `Stopped`.

        minutes : fit the schedule to this time: the number of steps is fixed from the speed of the first steps.
        """
        s = self.settings
        if minutes is not None and not 0 < minutes < math.inf:
            raise UsageError(f"a run of {minutes:g} minutes cannot be made")
        if s.frozen and self.origin is None:
            raise UsageError("a run with frozen normalisation needs weights to begin with: --init MODEL")
        test = pages_of_the_end(s, self.data)
        if self.step == s.steps:  # another --minutes would change nothing either
            self.say(f"{self.folder} holds a run that has made all of its {s.steps} steps; --steps makes it longer")
        patches, training, validation = self._pages()
        if self.calibrate:
            calibrate(self.net, patches.batch(0, range(CALIBRATION_PATCHES)))
        if not self.step:
            self.average = copy.deepcopy(self.net)
        loss_of = LOSSES[s.loss]
        net = self._distributed()
        self.net.train()
        times: list[float] = []  # of this process's steps
        # the signals come last: worker processes must not inherit what is done about them
        with (
            Feed(patches, self.parts, self.step) as feed,
            self._bar() as bar,
            Interrupts(self.processes.world > 1) as signals,
        ):
            if self.losses and self._to_validate():  # it was killed between a checkpoint and the row of the log
                self.log_validation(validation)
                self.save()
            begun = time.perf_counter()
            while self.step < self.settings.steps and self.step != stop_after:
                loss = self._step(net, feed.get(self.step), loss_of)
                feed.done(self.step)
                self.step += 1
                now = time.perf_counter()
                times.append(now - begun)
                self.seconds += now - begun
                begun = now
                rate = f"{self.step * s.batch / self.seconds:.1f}"
                bar.set_postfix({"loss": f"{loss:.4f}", "patches/s": rate}, refresh=False)
                bar.update()
                self.losses.append(loss)
                if minutes and not self.fitted and self._measured(minutes, times):
                    self.fit_length(minutes, times)
                    bar.total = self.settings.steps
                    if self.processes.first:
                        self._write_manifest(training, validation)
                last = self.step == self.settings.steps
                to_validate = self._to_validate()
                if to_validate or self.step % s.checkpoint_every == 0:
                    self.save()  # before validation, so that no page of it can cost the run
                if to_validate:
                    self.log_validation(validation)
                    self.save()
                    begun = time.perf_counter()  # the clock counts training only
                if self.processes.total(signals.asked, self.device) and not last:  # all stop after the same step
                    self.save()
                    raise Stopped
            ended = self.step == self.settings.steps and (times or not (self.folder / record.TEST).exists())
            if ended and test and self.processes.first:
                record.write_test(self.folder, validate(self.model("test"), usable(test, self.say)))

    def _to_validate(self) -> bool:
        return self.step % self.settings.validate_every == 0 or self.step == self.settings.steps

    def _pages(self) -> tuple[Patches, list[datasets.Page], list[datasets.Page]]:
        """What the steps draw from, its pages and those to validate on; what cannot be used is named and skipped."""
        s = self.settings
        training, validation = split(s, self.data, self.composed)
        self._compose()
        pages = load_pages(training, s.colour > 0, s.patch, self.say, s.reading)
        if s.teacher:
            pages = self._teach(load(s.teacher), pages)
        shares = {(page.set, page.id): page.share for page in pages}
        training = [p for p in training if (p.set, p.id) in shares]
        for page in training:
            for doubt in datasets.doubts(page, shares[page.set, page.id]):
                self.say(f"doubtful {page.set} {page.id}: {doubt}")
        if self.step:
            record.check_pages(self.folder, training, self.materials)
        judged = sorted({p.set for p in validation}.intersection(datasets.GROUPS["test"]))
        if judged and self.processes.first:
            self.say(
                f"validation on {', '.join(judged)}: a test set of the paper; what is chosen by it cannot be judged by it"
            )
        if self.processes.first:
            validation = usable(validation, self.say)
            if not self.step or self.longer or record.read_manifest(self.folder) is None:
                self._write_manifest(training, validation)
        papers = shares_of_papers(self.data) if s.paper else ()
        return Patches(pages, s, papers), training, validation

    def _write_manifest(self, training: list[datasets.Page], validation: list[datasets.Page]) -> None:
        record.write_manifest(self.folder, self.settings, self.command, training, validation, self.origin, self.teacher,
                              self.materials)  # fmt: skip

    def _compose(self) -> None:
        """Note what pages are composed of; make those that are not there yet, of several processes in the first one."""
        if not self.settings.composed:
            if self.settings.paper:
                self.materials = digest_of_materials(self.data)
            return
        if not self.processes.first:
            self.processes.wait()
        bar = partial(tqdm, desc="composing", unit="page", leave=False)
        self.materials = make_composed(self.settings.composed, self.data, self.composed, bar)
        if self.processes.first:
            self.processes.wait()

    @property
    def ended(self) -> bool:
        """Whether nothing is left to do: all steps are made, validated and written."""
        test = not self.settings.test or (self.folder / record.TEST).exists()
        return self.step == self.settings.steps and not self.losses and test

    def check_data(self) -> None:
        """Refuse other training pages than those that the run, which has ended, was made with; none is decoded."""
        manifest = record.read_manifest(self.folder)
        if manifest is None:
            raise BadData(f"{self.folder}: no {record.MANIFEST} there, so nobody knows what the run was made with")
        self._compose()
        there = {f"{p.set}/{p.id}": p for p in split(self.settings, self.data, self.composed)[0]}
        used = [there[name] for name in manifest["train_pages"] if name in there]
        if self.processes.first:
            record.check_pages(self.folder, used, self.materials)

    def _teach(self, teacher: Model, pages: list[TrainingPage]) -> list[TrainingPage]:
        """The pages with the teacher's ink in their targets."""
        known = record.known_of(teacher)
        if self.step and self.teacher != known:
            raise UsageError(f"{self.folder} holds a run that another {teacher.name} taught; use another --out")
        self.teacher = known
        bar = tqdm(pages, f"ink of {teacher.name}", unit="page", disable=not self.processes.first, leave=False)
        return [taught(page, teacher, self.settings.taught) for page in bar]

    def say(self, text: str) -> None:
        """A line for the person at the terminal; of several processes the first one says it."""
        if self.processes.first:
            tqdm.write(text, file=sys.stderr)

    def _step(self, net: torch.nn.Module, batches: list[Batch[np.ndarray]], loss_of: Any) -> float:
        s = self.settings
        for optimizer in self.optimizers:
            for group in optimizer.param_groups:
                group["lr"] = s.rate * schedule(self.step, s)
        self.net.zero_grad(set_to_none=True)
        total = 0.0
        for batch in batches:
            b = tensors(batch, self.device)
            threshold, seen = net(**b.inputs)
            loss = loss_of(b.gray, threshold, b.target, self.net.alpha, b.weight)
            if seen is not None:
                loss = loss + s.writing * writing(seen, b.target)
            loss = loss / len(batches)
            loss.backward()
            total += loss.item()
        total = self.processes.total(total, self.device) / self.processes.world
        norm = torch.nn.utils.clip_grad_norm_(self.net.parameters(), s.clip or math.inf)
        if not math.isfinite(total + float(norm)):
            kept = f"the checkpoint in {self.folder} is from before, " if (self.folder / CHECKPOINT).exists() else ""
            raise RunFailed(
                f"the loss or its gradient is not a number at step {self.step}; {kept}a smaller --set rate=… may help"
            )
        for optimizer in self.optimizers:
            optimizer.step()
        self.net.sauvola.clamp()
        self.update_average()
        return total

    @torch.no_grad()
    def update_average(self) -> None:
        decay = min(self.settings.average, self.step / (self.step + 10))  # short runs must not average their beginning
        torch._foreach_lerp_(list(self.average.state_dict().values()), list(self.net.state_dict().values()), 1 - decay)

    # -- book-keeping --------------------------------------------------------------------------------------------

    def model(self, name: str, source: str = "", licence: str = "", copyright: str = "") -> Model:
        """The averaged weights as a model of the runtime; without a ``source`` it says how the weights began."""
        s = self.settings
        seen = record.provenance(s, record.read_manifest(self.folder), self.origin)
        training = {
            "partition": seen["partition"], "train": seen["train"], "validate": seen["validate"], "preset": s.preset,
            "seed": s.seed, "steps": self.step, "patches": self.step * s.batch, "command": self.command,
            "data_sha256": seen["data_sha256"], "versions": record.versions(),
        }  # fmt: skip
        known = {"start": self.origin, "teacher": self.teacher}
        if digests := {role: m["digest"] for role, m in known.items() if m and "digest" in m}:
            training["digests"] = digests
        if self.teacher is not None:
            training["teacher"] = self.teacher["name"]
            training["partition"] = record.together(training["partition"], self.teacher["partition"])
        begun = f", starting from {self.origin['name']}" if self.origin else " from scratch"
        return to_model(self.average, name, s.scaling, s.margins, training,
                        source or f"trained with sauvolanet{begun}", licence, copyright, s.reading)  # fmt: skip

    def log_validation(self, pages: list[datasets.Page]) -> None:
        row: dict[str, Any] = {
            "step": self.step,
            "seconds": round(self.seconds),
            "loss": round(sum(self.losses) / max(len(self.losses), 1), 5),
            "alpha": round(float(self.net.alpha.detach()), 3),
        }
        self.losses = []
        if self.processes.first:
            row |= validate(self.model("validation"), pages)
            self.history.append(row)
            record.write_log(self.folder, self.history)
            self.say(" · ".join(f"{k} {v:.2f}" if isinstance(v, float) else f"{k} {v}" for k, v in row.items()))
        self.processes.wait()

    def a_page(self) -> Path | None:
        """A page that the run watched or learnt from, if its data are where they were."""
        manifest = record.read_manifest(self.folder) or {}
        known: dict[str, Path] = {}
        if self.data.name:
            with contextlib.suppress(InputError):
                known = {f"{p.set}/{p.id}": p.image for p in datasets.find(documents(self.data))}
        pages = [*manifest.get("validation_pages", ()), *manifest.get("train_pages", ())]
        return next((known[page] for page in pages if page in known), None)

    def save(self) -> None:
        """Write the checkpoint: under another name first, so that the last good one is never lost.

        Of several processes the first one writes; the others have the same weights.
        """
        if not self.processes.first:
            return
        state = {
            "settings": self.settings.to_json(), "step": self.step, "seconds": self.seconds, "history": self.history,
            "net": self.net.state_dict(), "average": self.average.state_dict(), "optimizers": [o.state_dict() for o in self.optimizers],
            "command": self.command, "fitted": self.fitted, "origin": self.origin, "losses": self.losses,
            "teacher": self.teacher, "data": str(self.data.resolve()),
        }  # fmt: skip
        data = io.BytesIO()  # torch reports a failed write in its own way
        torch.save(state, data)
        with atomic(self.folder / CHECKPOINT) as file:
            file.write(data.getbuffer())

    def _resume(self) -> None:
        state = read_checkpoint(self.folder)
        old = settings_from_json(state["settings"])
        free = ("steps", "warmup", "validate_every") if state["fitted"] else ("steps",)
        if old.teacher and self.settings.teacher:
            free = (*free, "teacher")  # which may have moved: it is known by its digest
        different = [n for n, v in vars(old).items() if v != getattr(self.settings, n) and n not in free]
        if different:
            raise UsageError(
                f"{self.folder} holds a run with other settings ({', '.join(different)}); use another --out"
            )
        asked = self.settings.steps
        if state["fitted"]:  # --minutes fixed the length
            self.settings, self.fitted = replace(old, steps=asked) if self.other_length else old, True
        self.step, self.seconds, self.history = state["step"], state["seconds"], state["history"]
        self.losses = state.get("losses", [])
        self.net.load_state_dict(state["net"])
        self.average.load_state_dict(state["average"])
        for optimizer, saved in zip(self.optimizers, state["optimizers"], strict=True):
            optimizer.load_state_dict(saved)
        if self.step > self.settings.steps:
            raise UsageError(
                f"{self.folder} holds a run that has made {self.step} steps; for {self.settings.steps} use another --out"
            )
        self.longer = old.steps != self.settings.steps
        if self.longer:
            self.command = f"{state['command']}; from step {self.step} on: {self.command}"
        else:
            self.command = state["command"]
        self.origin, self.teacher = state.get("origin"), state.get("teacher")

    def _measured(self, minutes: float, times: list[float]) -> bool:
        """Whether enough steps were made to know how long a step takes; the first process decides, by its own clock."""
        return bool(self.processes.of_first(int(measured(minutes, times)), self.device))

    def fit_length(self, minutes: float, times: list[float]) -> None:
        """Fix the length of the run; the first process decides, by its own clock."""
        steps = self.processes.of_first(fitted_steps(minutes, self.step, self.seconds, times), self.device)
        warmup = min(self.settings.warmup, steps // 10)
        every = min(self.settings.validate_every, max(steps // 10, 1))
        self.settings = replace(self.settings, steps=steps, warmup=warmup, validate_every=every)
        self.fitted = True

    def _bar(self) -> Any:
        return tqdm(
            total=self.settings.steps,
            initial=self.step,
            unit="step",
            disable=not self.processes.first,
            dynamic_ncols=True,
            mininterval=2,
        )

    # -- devices and processes -----------------------------------------------------------------------------------

    @property
    def device(self) -> torch.device:
        return next(self.net.parameters()).device

    def _distributed(self) -> torch.nn.Module:
        if torch.cuda.is_available():
            self.move(torch.device("cuda", int(os.environ.get("LOCAL_RANK", 0))))
        elif torch.backends.mps.is_available():
            self.move(torch.device("mps"))
        if self.processes.world == 1:
            return self.net
        return torch.nn.parallel.DistributedDataParallel(self.net)

    def move(self, device: torch.device) -> None:
        self.net.to(device)
        self.average.to(device)
        for optimizer in self.optimizers:
            for state in optimizer.state.values():
                state.update({n: v.to(device) for n, v in state.items()})


CALIBRATION_PATCHES = 16


def validate(model: Model, pages: list[datasets.Page]) -> dict[str, float]:
    """FM of a model on pages: the mean of every set, and the mean of the sets' means."""
    if not pages:
        return {}
    found = score_pages(pages, Binarizer(model=model, invert="no"), ("fm",))
    for row in found["pages"]:
        if row["status"] == "failed":
            raise BadData(row["error"])
    means = {name: scores["fm"] for name, scores in found["datasets"].items()}
    return {"fm": sum(means.values()) / len(means), **means}


def read_checkpoint(folder: Path) -> dict[str, Any]:
    """A run's checkpoint; one that cannot be read is a BadData."""
    try:
        state = torch.load(folder / CHECKPOINT, map_location="cpu", weights_only=True)
    except (FileNotFoundError, NotADirectoryError):
        raise BadData(f"{folder}: no {CHECKPOINT} there") from None
    except Exception as problem:
        raise BadData(f"{folder / CHECKPOINT}: damaged ({type(problem).__name__})") from None
    if not isinstance(state, dict) or not state.keys() >= {"settings", "step", "net", "average", "optimizers"}:
        raise BadData(f"{folder / CHECKPOINT}: not the checkpoint of a run")
    return state


def open_run(folder: str | Path) -> Run:
    """A run from its folder alone, to export it."""
    state = read_checkpoint(Path(folder))
    try:
        return Run(settings_from_json(state["settings"]), state.get("data", ""), folder)
    except SauvolanetError:
        raise
    except Exception as problem:  # torch and its dicts fail in many ways
        raise BadData(f"{Path(folder) / CHECKPOINT}: not the checkpoint of a run ({type(problem).__name__})") from None
