"""One head against many at the same number of parameters: an experiment small enough to run while you watch.

The task is a scrambled *Anna introduced Ben to Clara with David*. A sample has four clauses, each of one verb and four
participants: subject, object, recipient, companion. Any name can fill any role, and the tokens are shuffled and carry no
position. A token is the sum of a verb mark (which clause), a role mark, and its name vector. At each verb the model must
give back the name vectors of that verb's own four participants; the answer counts as right when the nearest of the 48 names
is the right one.

The model is one multi-head attention (Vaswani et al. 2017, section 3.2.2) with a linear read-out. d_model is fixed, so the
number of parameters is the same for every num_heads; only the split differs.

    python -m manyheads.learn.experiment sweep        trains all settings again and writes data/sweep.json
"""

import contextlib
import json
import math
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import Generator, Tensor

from .mode import demonstration, live
from .pictures import NOTEBOOK_WIDTH, figure_png, new_figure, show_png

ROLES = ("subject", "object", "recipient", "companion")
NAMES, NAME_SIZE, VERBS, CLAUSES = 48, 8, 24, 4
D_MODEL = 32
BATCH, LEARNING_RATE, STEPS = 64, 5e-3, 1000

#: Vaswani et al. 2017, Table 3, base and rows (A): (num_heads, perplexity, BLEU), English-German, newstest2013.
TABLE_3A = ((1, 5.29, 24.9), (4, 5.00, 25.5), (8, 4.92, 25.8), (16, 4.91, 25.8), (32, 5.01, 25.4))

_STORE = Path(__file__).parent / "data" / "sweep.json"
_SWEEP_HEADS, _SWEEP_SEEDS = (1, 2, 4, 8, 16, 32), (0, 1, 2)
_BELOW = "number of heads h, and below it d_k"
_WITHOUT_OUTPUT = (4, 1, STEPS)  # trained with W_O left out
_MORE_SEEDS = range(3, 10)  # for 1 and 4 heads, so that ten seeds stand behind the limits


@dataclass(frozen=True, eq=False)
class Trained:
    """What one training run learned; measured on samples that training did not see."""

    num_heads: int
    seed: int
    steps: int
    accuracy: float  #: share of participants named right, chance 1/48
    centred_r2: float  #: share of the variance of the name vectors explained, mean over the roles
    accuracy_by_role: dict[str, float]
    weights: Tensor  #: (num_heads, 4): mean weight that a verb puts on its own participant of each role, per head
    ablated: Tensor  #: (num_heads + 1, 4): accuracy for each role; row 0 whole, row j with head j cut
    parameters: int
    with_output: bool = True  #: False: trained without W_O, the concatenated heads go straight to the read-out

    @property
    def d_k(self) -> int:
        return D_MODEL // self.num_heads

    @property
    def purity(self) -> float:
        """Mean over heads of the largest role's share: 1/4 means no preference, 1 means one role a head."""
        return (self.weights.max(dim=1).values / self.weights.sum(dim=1)).mean().item()

    @property
    def focus(self) -> float:
        """Mean weight, over heads, on the verb's own participants; the rest is wasted."""
        return self.weights.sum(dim=1).mean().item()

    @property
    def role_of_head(self) -> tuple[str, ...]:
        """The role that each head looks at most."""
        return tuple(ROLES[i] for i in self.weights.argmax(dim=1).tolist())

    def ablation(self) -> Tensor:
        """Accuracy for each role (num_heads + 1, 4): row 0 with all heads, row j with head j cut."""
        return self.ablated

    def __str__(self) -> str:
        heads = "1 head" if self.num_heads == 1 else f"{self.num_heads} heads"
        roles = ", ".join(f"{role} {accuracy:.2f}" for role, accuracy in self.accuracy_by_role.items())
        return f"{heads}, d_k = {self.d_k}, {self.parameters:,} parameters: accuracy {self.accuracy:.2f}\n  {roles}"

    __repr__ = __str__


# --- the data ---------------------------------------------------------------------------------------------------


@cache
def _name_table() -> Tensor:
    """One fixed random vector of length √8 for each name; the last row, of zeros, is for verbs, which have no name."""
    names = torch.randn(NAMES, NAME_SIZE, generator=Generator().manual_seed(0))
    return torch.cat([F.normalize(names, dim=1) * math.sqrt(NAME_SIZE), torch.zeros(1, NAME_SIZE)])


def _samples(count: int, generator: Generator) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Scrambled samples.

    tokens (count, 20, 3): verb mark, role mark, name of each token; verb_at (count, 4): where the verbs are;
    names (count, 4, 4): the right names by clause and role; names_at (count, 4, 4): where these stand.
    """
    roles = len(ROLES)
    verbs = torch.rand(count, VERBS, generator=generator).argsort(1)[:, :CLAUSES]
    names = torch.rand(count, CLAUSES, NAMES, generator=generator).argsort(2)[..., :roles]
    tokens = torch.zeros(count, CLAUSES, roles + 1, 3, dtype=torch.long)
    tokens[..., 0] = verbs[..., None]
    tokens[..., 1] = torch.arange(roles + 1)
    tokens[..., 2] = NAMES
    tokens[:, :, :roles, 2] = names
    length = CLAUSES * (roles + 1)
    order = torch.rand(count, length, generator=generator).argsort(1)
    tokens = tokens.view(count, length, 3).gather(1, order[..., None].expand(-1, -1, 3))
    places = order.argsort(1).view(count, CLAUSES, roles + 1)
    return tokens, places[..., roles], names, places[..., :roles]


# --- the model --------------------------------------------------------------------------------------------------


class _Model:
    """Embedding, one multi-head attention asked by the verbs only, linear read-out; its own random numbers."""

    def __init__(self, num_heads: int, generator: Generator, with_output: bool):
        self.num_heads, self.with_output = num_heads, with_output
        d = D_MODEL

        def matrix(rows: int, columns: int) -> Tensor:
            return torch.empty(rows, columns).uniform_(-1, 1, generator=generator) / math.sqrt(columns)

        self.verb = torch.randn(VERBS, d, generator=generator)
        self.role = torch.randn(len(ROLES) + 1, d, generator=generator)
        self.name = matrix(d, NAME_SIZE)
        self.W_q, self.W_k, self.W_v, self.W_o = (matrix(d, d) for _ in range(4))
        if not with_output:
            self.W_o = None
        self.read = matrix(len(ROLES) * NAME_SIZE, d)
        self.read_bias = matrix(1, len(ROLES) * NAME_SIZE)[0]
        self.parameters = [p.requires_grad_() for p in vars(self).values() if isinstance(p, Tensor)]

    def __call__(self, tokens: Tensor, verb_at: Tensor, keep: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """Name vectors (count, 4, roles, 8) told by the verbs, and their weights (count, num_heads, 4, 20)."""
        x = self.verb[tokens[..., 0]] + self.role[tokens[..., 1]] + _name_table()[tokens[..., 2]] @ self.name.T
        asking = x[torch.arange(len(x))[:, None], verb_at]
        q, k, v = (
            (of @ W.T).unflatten(-1, (self.num_heads, -1)).movedim(-2, 1)
            for of, W in ((asking, self.W_q), (x, self.W_k), (x, self.W_v))
        )
        weights = (q @ k.mT / math.sqrt(q.shape[-1])).softmax(-1)
        blends = weights @ v if keep is None else weights @ v * keep.view(-1, 1, 1)
        out = blends.movedim(1, -2).flatten(-2)
        if self.with_output:
            out = out @ self.W_o.T
        return (out @ self.read.T + self.read_bias).unflatten(-1, (len(ROLES), NAME_SIZE)), weights


@contextlib.contextmanager
def _fast_for_small_tensors() -> Iterator[None]:
    """One thread (two on busy cores are ten times slower here) and no denormal numbers; both put back afterwards."""
    threads = torch.get_num_threads()
    flushed = (torch.tensor(1e-310, dtype=torch.float64) * 1).item() == 0
    torch.set_num_threads(1)
    torch.set_flush_denormal(True)
    try:
        yield
    finally:
        torch.set_num_threads(threads)
        torch.set_flush_denormal(flushed)


def _train(
    num_heads: int, seed: int, steps: int, each_step=lambda step: None, with_output: bool = True
) -> Trained:
    with _fast_for_small_tensors():
        model = _Model(num_heads, Generator().manual_seed(seed), with_output)
        generator = Generator().manual_seed(1000 + seed)
        optimiser = torch.optim.Adam(model.parameters, LEARNING_RATE)
        schedule = torch.optim.lr_scheduler.OneCycleLR(optimiser, LEARNING_RATE, total_steps=steps, pct_start=0.1)
        with torch.enable_grad():
            for step in range(steps):
                tokens, verb_at, names, _ = _samples(BATCH, generator)
                loss = F.mse_loss(model(tokens, verb_at)[0], _name_table()[names])
                optimiser.zero_grad()
                loss.backward()
                optimiser.step()
                schedule.step()
                each_step(step + 1)
        return _measure(model, seed, steps)


@torch.no_grad()
def _measure(model: _Model, seed: int, steps: int, count: int = 1024) -> Trained:
    tokens, verb_at, names, names_at = _samples(count, Generator().manual_seed(7))
    table = _name_table()

    def accuracy(told: Tensor) -> Tensor:
        return ((told @ table[:-1].T).argmax(-1) == names).float().mean((0, 1))

    told, weights = model(tokens, verb_at)
    target = table[names]
    missed = (told - target).square().mean((0, 1, 3))
    spread = (target - table[:-1].mean(0)).square().mean((0, 1, 3))
    on_own = weights.gather(3, names_at[:, None].expand(-1, model.num_heads, -1, -1)).mean((0, 2))
    whole = accuracy(told)
    cut = []
    for head in range(model.num_heads):
        keep = torch.ones(model.num_heads)
        keep[head] = 0
        cut.append(accuracy(model(tokens, verb_at, keep)[0]))
    return Trained(
        num_heads=model.num_heads,
        seed=seed,
        steps=steps,
        accuracy=whole.mean().item(),
        centred_r2=(1 - missed / spread).mean().item(),
        accuracy_by_role=dict(zip(ROLES, whole.tolist(), strict=True)),
        weights=on_own,
        ablated=torch.stack([whole, *cut]),
        parameters=sum(p.numel() for p in model.parameters),
        with_output=model.with_output,
    )


# --- what a lesson calls ----------------------------------------------------------------------------------------


def train_heads(num_heads: int, seed: int = 1, steps: int = STEPS) -> Trained:
    """Train the model with this many heads and say how well it does; 2 to 10 seconds, with a progress bar.

    d_model is 32, so num_heads must divide 32; else ValueError. The state of torch (threads, random numbers) is left as it was.
    While a notebook is graded or validated, the stored run of that many heads (of seed 1, if this seed is not stored)
    comes back without training.
    """
    if not isinstance(num_heads, int) or num_heads < 1 or D_MODEL % num_heads:
        raise ValueError(f"num_heads must divide d_model = {D_MODEL}, and {num_heads!r} does not")
    if not live():
        by_seed = {run.seed: run for run in stored_sweep() if run.num_heads == num_heads}
        return by_seed.get(seed, by_seed[1])
    with _progress(num_heads, steps) as bar:
        trained = _train(num_heads, seed, steps, bar.step)
        bar.done = str(trained)
    return trained


class Stopped(Exception):
    """Raised by ``each_step`` to end a training early."""


def train_in_background(num_heads: int, seed: int, steps: int, each_step: Callable[[int], None]) -> Trained:
    """As ``train_heads``, for a thread of an explorer: no progress bar of its own, ``each_step(step)`` may raise Stopped."""
    return _train(num_heads, seed, steps, each_step)


def stored_sweep() -> list[Trained]:
    """The stored runs with 1, 2, 4, 8, 16 and 32 heads, three seeds each."""
    return [run for run in _stored() if run.seed in _SWEEP_SEEDS and run.steps == STEPS]


def stored_without_output() -> Trained:
    """The stored run with four heads and no W_O: the concatenated heads go straight to the linear read-out."""
    return next(run for run in _all_stored() if not run.with_output)


def _stored() -> list[Trained]:
    return [run for run in _all_stored() if run.with_output]


@cache
def _all_stored() -> list[Trained]:
    return [
        Trained(**{**run, "weights": torch.tensor(run["weights"]), "ablated": torch.tensor(run["ablated"])})
        for run in json.loads(_STORE.read_text())
    ]


class _Bar:
    """A progress bar in a notebook; when it is done, one line of text takes its place in the saved output."""

    def __init__(self, what: str, steps: int, handle):
        self.what, self.steps, self.handle, self.done = what, steps, handle, ""

    def step(self, step: int) -> None:
        if self.handle and (step % 50 == 0):
            text = f"{self.what}: step {step} of {self.steps}"
            html = f'<progress value="{step}" max="{self.steps}" aria-label="{text}"></progress> {text}'
            self.handle.update({"text/html": html, "text/plain": text}, raw=True)


@contextlib.contextmanager
def _progress(num_heads: int, steps: int) -> Iterator[_Bar]:
    from IPython import get_ipython
    from IPython.display import display

    shell = get_ipython()
    what = f"training {num_heads} head{'s' if num_heads > 1 else ''}"
    in_notebook = shell is not None and hasattr(shell, "kernel")
    handle = display({"text/plain": what}, raw=True, display_id=True) if in_notebook else None
    bar = _Bar(what, steps, handle)
    try:
        yield bar
    finally:
        if handle:
            handle.update({"text/plain": bar.done or f"{what}: stopped"}, raw=True)
        elif bar.done:
            print(bar.done)


@demonstration
def plot_sweep() -> None:
    """Draw the stored sweep with its bound, Table 3 (A) of the paper beside it, and tell both with their limits."""
    figure = new_figure(NOTEBOOK_WIDTH, 420)
    left, right = figure.subfigures(1, 2, width_ratios=(3, 2), wspace=0.04)
    _draw_sweep(left.subplots())
    left.suptitle("this experiment: 6,336 parameters throughout", fontsize=11, fontweight="bold")
    upper, lower = right.subplots(2, 1, sharex=True)
    _draw_loss(upper, [bleu for _, _, bleu in TABLE_3A], max, "BLEU points\nbelow the best row", 1)
    _draw_loss(lower, [perplexity for _, perplexity, _ in TABLE_3A], min, "perplexity\nabove the best row", 2)
    lower.set_xticks(range(len(TABLE_3A)), [f"{h}\n{512 // h}" for h, _, _ in TABLE_3A])
    lower.set_xlabel(_BELOW)
    right.suptitle("translation: Vaswani et al. 2017,\nTable 3, base and rows (A)", fontsize=11, fontweight="bold")
    show_png(figure_png(figure), _sweep_words())


def _bound(num_heads: int) -> float:
    return min(num_heads, len(ROLES)) / len(ROLES)


def _by_heads() -> dict[int, list[Trained]]:
    return {h: [run for run in stored_sweep() if run.num_heads == h] for h in _SWEEP_HEADS}


def _draw_sweep(axis) -> None:
    runs = _by_heads()
    at = range(len(runs))
    for measure, label, marker, line, colour, aside in (
        ("accuracy", "accuracy (chance 0.02)", "o", "-", "#00224E", -0.06),
        ("centred_r2", "centred R²", "s", "--", "#8A6D00", 0.06),
    ):
        values = [[getattr(run, measure) for run in of_h] for of_h in runs.values()]
        axis.plot(at, [sum(v) / len(v) for v in values], line, color=colour, linewidth=1.6, zorder=2)
        for x, several in zip(at, values, strict=True):
            axis.plot(
                [x + aside] * len(several), several, marker, color=colour, markersize=5.5, markerfacecolor="white"
            )
        axis.plot(
            [], [], line, marker=marker, color=colour, markerfacecolor="white", label=f"{label}: mean and 3 seeds"
        )
    bound = "bound on R², min(h, 4) / 4: weights that do not\ndepend on the names, linear read-out"
    axis.plot(at, [_bound(h) for h in runs], ":", color="black", linewidth=2, label=bound, zorder=1)
    axis.set_ylim(0, 1.06)
    axis.set_xticks(at, [f"{h}\n{D_MODEL // h}" for h in runs])
    axis.set_xlabel(_BELOW)
    axis.set_ylabel("accuracy, centred R²")
    axis.grid(axis="y", alpha=0.3)
    axis.legend(fontsize=9, loc="lower center", framealpha=1)


def _draw_loss(axis, values: list[float], best, label: str, digits: int) -> None:
    """Bars from zero: how much worse than the best row; the paper's own number stands on each bar."""
    losses = [abs(value - best(values)) for value in values]
    axis.bar(range(len(values)), losses, width=0.6, color="#7B7B78")
    for x, (loss, value) in enumerate(zip(losses, values, strict=True)):
        axis.annotate(f"{value:.{digits}f}", (x, loss), (0, 3), textcoords="offset points", ha="center", fontsize=9)
    axis.set_ylim(0, max(losses) * 1.25)
    axis.set_ylabel(label, fontsize=9)


def _sweep_words() -> str:
    lines = ["Heads against accuracy and centred R², mean of 3 seeds, every model with 6,336 parameters:"]
    for h, runs in _by_heads().items():
        accuracy = sum(run.accuracy for run in runs) / len(runs)
        r2 = sum(run.centred_r2 for run in runs) / len(runs)
        lines.append(f"- h = {h}, d_k = {D_MODEL // h}: accuracy {accuracy:.2f}, R² {r2:.2f}, bound {_bound(h):.2f}")
    ten = {h: [run for run in _stored() if run.num_heads == h and run.steps == STEPS] for h in (1, 4)}
    lowest, highest = (choose(run.centred_r2 for run in ten[1]) for choose in (min, max))
    lines.append(
        "The bound min(h, 4) / 4 holds for weights that do not depend on the names, with a linear read-out. Trained weights"
        f" do depend on them somewhat: over {len(ten[1])} seeds R² at h = 1 is {lowest:.2f} to {highest:.2f}."
        " At the other end, d_k = 1 lets a query only rank all keys one way or the other way round."
    )
    paper = "; ".join(f"h = {h}: BLEU {bleu}, perplexity {ppl:.2f}" for h, ppl, bleu in TABLE_3A)
    lines.append(f"Vaswani et al. 2017, Table 3, English-German, newstest2013, h = 8 is the base model: {paper}.")
    stuck = [run for run in ten[4] if run.accuracy < 0.95]
    longer = {run.num_heads: run for run in _stored() if run.steps > STEPS}
    lines.append(
        "Limits: the task is built for this effect, so it is far larger here than in translation."
        f" Of {len(ten[4])} seeds at h = 4, {len(stuck)} did not learn all four roles"
        + (f" (accuracy {', '.join(f'{run.accuracy:.2f}' for run in stuck)})" if stuck else "")
        + f". With {longer[1].steps // STEPS} times the steps h = 1 reaches {longer[1].accuracy:.2f}"
        f" and h = 16 {longer[16].accuracy:.2f}: the low value at h = 16 is slow learning, not a wall."
    )
    return "\n".join(lines)


def _write_sweep() -> None:
    """Train all settings; about two minutes on one core."""
    settings = [(h, seed, STEPS) for h in _SWEEP_HEADS for seed in _SWEEP_SEEDS]
    settings += [(h, seed, STEPS) for h in (1, 4) for seed in _MORE_SEEDS] + [(h, 1, 4 * STEPS) for h in (1, 16)]
    runs = []
    for setting in [*settings, _WITHOUT_OUTPUT]:
        run = _train(*setting, with_output=setting is not _WITHOUT_OUTPUT)
        print(f"seed {run.seed}, {run.steps} steps, R² {run.centred_r2:.3f}: {run}", flush=True)
        told = {name: getattr(run, name) for name in run.__dataclass_fields__}
        runs.append({name: value.tolist() if isinstance(value, Tensor) else value for name, value in told.items()})
    short = json.loads(json.dumps(runs), parse_float=lambda text: round(float(text), 4))
    _STORE.write_text("[\n" + ",\n".join(json.dumps(run) for run in short) + "\n]\n")


if __name__ == "__main__":
    if sys.argv[1:] != ["sweep"]:
        sys.exit("usage: python -m manyheads.learn.experiment sweep")
    _write_sweep()
