"""Everything a run depends on, one commented line each; a checkpoint stores it and describes itself."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from typing import Any

from ..errors import BadData, BadModel, UnknownName, UsageError
from ..net.architecture import PAPER, Architecture
from ..net.inputs import check_scaling
from ..options import Option
from ..page.margins import Margins, margins_from_json
from ..page.reading import Reading, reading_from_json
from ..score.datasets import KEPT
from .composed import check_composed

SWIFT = Architecture(
    kind="u", widths=((16, 16), (24, 24), (32, 32), (48,)), dilations=((1, 1), (1, 1), (1, 1), (1,)), norm="batch",
    features=("gray", "mean", "deviation"), fold=2, head=1, refine=(8,), view=(16, 16, 16, 16, 8),
    windows=(7, 15, 31, 63, 127),
    constants=(-0.2, 1.0),  # the first below every gray, so that it means paper even where it is not chosen alone
)  # fmt: skip


@dataclass(frozen=True)
class Settings:
    """A training run. Changing any of these makes another run."""

    preset: str = "paper"
    architecture: Architecture = PAPER
    # data
    train: tuple[str, ...] = ("stated-train",)  # sets or groups to train on
    validate: tuple[str, ...] = ("validate",)  # sets or groups to choose by
    kinds: tuple[str, ...] = ()  # kinds of pages beside the sets; those kept for the panel are never trained on
    composed: dict[str, Any] = field(default_factory=dict)  # pages of real paper and real ink: see train/composed.py
    hold_out: bool = False  # keep the listed pages of the training sets for validation (see score/validation.json)
    leave_out: tuple[str, ...] = ()  # sets removed from training
    test: tuple[str, ...] = ()  # sets or groups to score once, at the end
    seed: int = 1
    patch: int = 256  # side of a training patch
    rim: int = 0  # pixels along the sides of a patch that do not count where the page goes on; patches reach its ends more often
    least_text: float = 0.0  # smallest share of ink in a patch
    text_share: float = 1.0  # how many of the patches must have that
    flips: bool = True  # mirror and turn upside down
    transpose: bool = False  # also exchange rows and columns
    scaling: dict[str, Any] = field(default_factory=lambda: {"kind": "minmax"})  # of the page's gray
    margins: Margins | None = None  # the rules about a page's sides; None: the page as it is
    reading: Reading | None = None  # how a page is put before the network; None: as it is
    habit_known: float = 0.6  # share of patches with which a network that has this feature is told the truth's habit
    # {start of a set's name: habit}: patches of these sets that are told a habit are told this one, not the measured one.
    # Within such a set edges are drawn by one convention, whatever a patch measures, and the network finds them itself; so
    # the number stands for the convention. Patches reduced below CONVENTION_SIZE keep what was measured: there thin
    # strokes fill whole pixels or none, and the truth no longer follows the convention
    conventions: dict[str, float] = field(default_factory=dict)
    patch_scaling: bool = False  # scale each patch by its own numbers, as the authors did
    set_weights: dict[str, float] = field(default_factory=dict)  # weight of a set in the mix, 1 unless given
    by_pages: bool = False  # a set weighs as many times as it has pages
    rescale: float = 0.0  # share of patches that are enlarged or reduced
    rescale_range: tuple[float, float] = (0.7, 1.5)
    thin_at_half: bool = (
        False  # strokes that become thin in a reduced patch: truth at half coverage (not with a teacher)
    )
    tone: float = 0.0  # share of patches with another gamma, contrast and offset
    colour: float = 0.0  # share of colour patches with another mixture of red, green and blue
    noise: float = 0.0  # share of patches with noise
    blur: float = 0.0  # share of patches that are blurred
    show_through: float = 0.0  # share of patches through which another page shows from behind
    border: float = 0.0  # share of patches in which the page ends, and the scanner's bed or a desk begins
    headline: float = 0.0  # share of patches with letters as large as in a headline
    turn: float = 0.0  # share of patches that are turned by some degrees
    rules: float = 0.0  # share of patches with rules of a form, as dark as the ink
    fade: float = 0.0  # share of patches whose ink is paler here and darker there
    paper: float = 0.0  # share of patches that are laid on another paper, of those that composed pages are made of
    view_noise: float = 0.0  # deviation of the noise in what is seen of the whole page, so that no page is known by it
    synthetic: float = 0.0  # share of patches cut from synthetic pages
    teacher: str = ""  # a model: the truth is mixed with the probability of ink that it gives each pixel
    taught: float = 0.5  # the teacher's part of the mixture
    # optimisation
    steps: int = 8000
    batch: int = 32
    accumulate: int = 1  # the batch is walked through in this many parts
    optimizer: str = "adam"  # "adam" as in the paper, or "muon": orthogonalised momentum for the convolutions
    rate: float = 1e-3  # learning rate
    warmup: int = 0  # steps of linear warm-up
    decay: float = 0.0  # last share of the steps in which the rate falls to zero (cosine); 0 = never
    weight_decay: float = 0.0
    epsilon: float = 1e-7  # Adam's
    clip: float = 0.0  # largest norm of the gradient; 0 = any
    average: float = 0.0  # decay of the averaged weights; 0 = none
    # loss
    loss: str = "hinge"  # "hinge" as in the paper, or on α·(T − D) "dice": cross-entropy and soft F, "page": the same, weighed by page
    writing: float = 0.1  # weight of the loss of a view's own map: where is writing at all
    alpha: float = 16.0
    train_alpha: bool = False
    k: float | tuple[float, ...] = 0.2
    r: float | tuple[float, ...] = 0.5
    train_k: bool = True
    train_r: bool = True
    frozen: bool = False  # train with the normalisation folded into the weights, as a model runs; for runs with --init
    positive: str = "clamp"  # how k and r are kept positive: "clamp" or "softplus"
    # book-keeping
    validate_every: int = 500
    checkpoint_every: int = 200

    def __post_init__(self) -> None:
        for name, known in _CHOICES.items():
            if getattr(self, name) not in known:
                raise UnknownName(f"setting {name}", getattr(self, name), known)
        for name, option in _NUMBERS.items():
            option.parse(getattr(self, name))
        for name, weight in self.set_weights.items():
            Option(f"setting set_weights: {name}", float, 1.0, 0).parse(weight)
        for name, habit in self.conventions.items():
            Option(f"setting conventions: {name}", float, 0.5, 0, 1).parse(habit)
        check_composed(self.composed)
        check_scaling(self.scaling)
        numbers = [v for v in self.rescale_range if isinstance(v, (int, float)) and 0.1 <= v <= 10]
        if len(self.rescale_range) != 2 or sorted(numbers) != list(self.rescale_range):
            raise UsageError(
                f"setting rescale_range must be like [0.7, 1.5], from 0.1 to 10, not {list(self.rescale_range)}"
            )
        for name in ("train", "kinds", "validate", "leave_out", "test"):
            if not all(isinstance(value, str) for value in getattr(self, name)):
                raise UsageError(f"setting {name} must be names of sets, not {list(getattr(self, name))}")
        for name in self.kinds:
            if name not in KEPT:
                raise UnknownName("kind of page to train on", str(name), [n for n, kept in KEPT.items() if kept])
            if KEPT[name] is None:
                raise UsageError(f"setting kinds: {name} is kept for judging and never trained on")
        windows, multiple = len(self.architecture.windows), self.architecture.multiple
        for name in ("k", "r"):
            value = getattr(self, name)
            values = value if isinstance(value, tuple) else (value,) * windows
            if len(values) != windows or not all(isinstance(v, (int, float)) and v >= 0 for v in values):
                raise UsageError(
                    f"setting {name} must be a number, at least 0, or one for each of the {windows} windows, not {value!r}"
                )
        if 2 * self.rim >= self.patch:
            raise UsageError(f"setting rim must be below half of the patch ({self.patch}), not {self.rim}")
        if self.patch % multiple:  # the kernels rely on it
            raise UsageError(f"setting patch must be a multiple of {multiple} for this network, not {self.patch}")

    def to_json(self) -> dict[str, Any]:
        """All settings; those that came later where they do something, so that what was known of other runs stays valid."""
        idle = {"teacher", "taught"} if not self.teacher else set()
        idle |= {
            name
            for name in ("rim", "thin_at_half", "turn", "rules", "fade", "paper", "view_noise")
            if not getattr(self, name)
        }
        idle |= {name for name in ("margins", "reading") if getattr(self, name) is None}
        idle |= {name for name in ("kinds", "composed", "conventions") if not getattr(self, name)}
        idle |= {"habit_known"} if not self.architecture.is_told_habit else set()
        idle |= {"writing"} if not self.architecture.view else set()
        data = {n: v for n, v in asdict(self).items() if n not in idle}
        if not self.architecture.view:
            del data["architecture"]["view"]
        return data


_CHOICES = {"loss": ("hinge", "dice", "page"), "optimizer": ("adam", "muon"), "positive": ("clamp", "softplus")}
_WHOLE = {"seed": 0, "patch": 32, "rim": 0, "steps": 1, "batch": 1, "accumulate": 1, "warmup": 0, "validate_every": 1,
          "checkpoint_every": 1}  # fmt: skip
_SHARES = ("least_text", "text_share", "rescale", "tone", "colour", "noise", "blur", "show_through", "border", "headline", "turn", "rules", "fade", "paper",
           "view_noise", "synthetic", "taught", "decay", "average", "habit_known")  # fmt: skip
_FROM = {"rate": 0, "weight_decay": 0, "epsilon": 0, "clip": 0, "alpha": 1e-3, "writing": 0}
_NUMBERS = {
    **{name: Option(f"setting {name}", int, 0, low, 2**31) for name, low in _WHOLE.items()},
    **{name: Option(f"setting {name}", float, 0.0, 0, 1) for name in _SHARES},
    **{name: Option(f"setting {name}", float, 0.0, low, 1e6) for name, low in _FROM.items()},
}


def settings_from_json(data: dict[str, Any]) -> Settings:
    """Settings as a checkpoint or manifest stores them; one that is not known here is a BadData."""
    unknown = data.keys() - {f.name for f in fields(Settings)}
    if unknown:
        raise BadData(f"a run of another version of sauvolanet, with unknown settings: {', '.join(sorted(unknown))}")
    data = dict(data)
    arch = {n: _tuples(v) for n, v in data.pop("architecture").items()}
    margins = margins_from_json(data.pop("margins", None))
    reading = reading_from_json(data.pop("reading", None))
    return Settings(architecture=Architecture(**arch), margins=margins, reading=reading,
                    **{n: _tuples(v) for n, v in data.items()})  # fmt: skip


def _tuples(value: Any) -> Any:
    return tuple(_tuples(v) for v in value) if isinstance(value, (list, tuple)) else value


PRESETS: dict[str, Settings] = {
    # the paper's text, with the min–max scaling that the published figures need
    "paper": Settings(preset="paper", by_pages=True),
    # what the checkpoint's own file name and repository say
    "authors": Settings(
        preset="authors", batch=8, by_pages=True, transpose=True, patch_scaling=True, least_text=0.02, train_alpha=True,
        steps=32_000,
    ),
    # the paper's network with our recipe; two windows begin as what the attention wants beside thresholds: "paper" and
    # "ink" whatever the gray (threshold below black on flat paper; above white)
    "better": Settings(
        preset="better", train=("wide-train",), validate=(), hold_out=True, batch=8, transpose=True, least_text=0.01,
        text_share=0.7, rescale=0.1, tone=0.1, colour=0.15, noise=0.03, blur=0.02, show_through=0.05, steps=4_000,
        optimizer="muon", rate=3e-3, warmup=100, decay=0.7, weight_decay=1e-3, epsilon=1e-8, clip=1.0, average=0.998,
        loss="dice", alpha=8.0, train_alpha=True, k=(1.5, 0.25, 0.2, 0.2, 0.2, 0.2, 0.2, 0.2),
        r=(1.0, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.02), positive="softplus",
        set_weights={"PHIBD": 0.3, "Bickley": 0.2, "Synchromedia": 0.15, "Monk": 0.15}, validate_every=800,
        checkpoint_every=200,
    ),
    # the second network
    "swift": Settings(
        preset="swift", architecture=SWIFT, train=("wide-train",), validate=(), hold_out=True, batch=8, transpose=True,
        least_text=0.01, text_share=0.7, scaling={"kind": "percentile", "low": 0.5, "high": 99.0, "least": 16.0},
        margins=Margins(), reading=Reading(),
        rescale=0.12, tone=0.12, colour=0.2, noise=0.06, blur=0.04, show_through=0.12, border=0.05, headline=0.03, synthetic=0.12, steps=9_000,
        optimizer="muon", rate=3e-3, warmup=200, decay=0.6, weight_decay=1e-3, epsilon=1e-8, clip=1.0, average=0.999, loss="dice", alpha=10.0, train_alpha=True,
        k=(0.05, 0.1, 0.15, 0.2, 0.25), r=0.4, positive="softplus",
        # where the edges of strokes are drawn differs between sets: those of one habit weigh most
        set_weights={"PHIBD": 0.4, "Bickley": 0.15, "Synchromedia": 0.15, "Monk": 0.2}, validate_every=1000,
        checkpoint_every=500,
    ),
}  # fmt: skip


def with_changes(settings: Settings, changes: Mapping[str, Any]) -> Settings:
    """Settings with some values given as text (``rate=2e-3``, ``architecture.refine=[16]``), JSON where it is a list.

    What is no text is taken as it is.

    They change together: what fits one of them may contradict the settings before.
    """
    known = {f.name for f in fields(Settings)} - {"preset", "architecture"}
    of_network = {f"architecture.{f.name}" for f in fields(Architecture)}
    new: dict[str, Any] = {}
    network: dict[str, Any] = {}
    for name, given in changes.items():
        if name not in known | of_network:
            raise UnknownName("setting", name, known | of_network)
        try:
            value = _tuples(json.loads(given) if isinstance(given, str) else given)
        except ValueError:
            value = given
        if name in of_network:
            short = name.partition(".")[2]
            network[short] = _fit(name, getattr(settings.architecture, short), value)
        elif name == "margins":
            new[name] = margins_from_json(_rules(name, value, Margins().to_json()))
        elif name == "reading":
            new[name] = reading_from_json(_rules(name, value, Reading().to_json()))
        else:
            new[name] = _fit(name, getattr(settings, name), value)
    if network:
        try:
            new["architecture"] = replace(settings.architecture, **network)
        except (BadModel, TypeError):
            raise UsageError(f"no network is like that: {', '.join(n for n in changes if n in of_network)}") from None
    return replace(settings, **new)


def _rules(name: str, value: Any, usual: dict[str, Any]) -> dict[str, Any] | None:
    """The rules that a setting gives: null for none, or an object like a model's, the rules it leaves out as usual."""
    if value is not None and not isinstance(value, dict):
        like = json.dumps(dict([next(iter(usual.items()))]))
        raise UsageError(f"setting {name} must be null or like {like}, not {json.dumps(value)}")
    return None if value is None else {**usual, **value}


def _fit(name: str, old: Any, value: Any) -> Any:
    """The value, if it is of the old one's kind; one value stands for a list of one."""
    if isinstance(old, tuple) and isinstance(value, str):
        value = tuple(value.split(","))
    elif isinstance(old, tuple) and not isinstance(value, tuple):
        value = (value,)
    if isinstance(old, float) and isinstance(value, int) and not isinstance(value, bool):
        value = float(value)
    if type(old) is not type(value) and name not in ("k", "r"):
        raise UsageError(f"setting {name} must be like {json.dumps(old)}, not {json.dumps(value)}")
    return value
