"""What a link does besides carrying steadily: from what a user wrote to what the engine runs."""

from __future__ import annotations

from dataclasses import dataclass

from elephan.scenario import form
from elephan.scenario.errors import ScenarioError
from elephan.scenario.schema import DelayStep, Jitter, Link, Path, RateStep, Reorder
from elephan.scenario.units import format_offset, format_rate, format_time


@dataclass(frozen=True)
class Impairments:
    """The fields of a link, or of the bottlenecks of a shorthand, as they were written."""

    jitter: Jitter | None = None
    reorder: Reorder | None = None
    duplicate: float = 0.0
    rate_steps: tuple[RateStep, ...] = ()
    rate_trace: tuple[int, ...] | None = None
    delay_steps: tuple[DelayStep, ...] = ()

    @classmethod
    def of(cls, table: Path | Link) -> Impairments:
        """Those of a table of the scenario."""
        return cls(**{field: getattr(table, field) for field in cls.__dataclass_fields__})

    @property
    def is_random(self) -> bool:
        """Whether they depend on the seed."""
        return self.jitter is not None or self.reorder is not None or self.duplicate > 0


STEADY = Impairments()


def impairments_form(given: Impairments, delay_ps: int, field: str) -> form.Impairments | None:
    """The canonical form; ``None`` where nothing is given.

    Raises:
        ScenarioError: steps out of order, a delay below zero, or fields that contradict each other.
    """
    _check_rate_steps(given.rate_steps, f"{field}.rate_steps")
    _check_rising(given.delay_steps, f"{field}.delay_steps")
    delay_steps = tuple(
        form.DelayStep(at_ps=step.at, delay_ps=_delay(step, delay_ps, f"{field}.delay_steps[{i}].change"))
        for i, step in enumerate(given.delay_steps)
    )
    if given.rate_trace:
        if given.rate_steps:
            raise ScenarioError("there are rate_steps too; write one of the two", path=f"{field}.rate_trace")
        if min([delay_ps, *(step.delay_ps for step in delay_steps)]) == 0:
            raise ScenarioError("needs a link with a delay, always above zero", path=f"{field}.rate_trace")
    reorder = given.reorder
    made = form.Impairments(
        rate_steps=tuple(form.RateStep(at_ps=step.at, rate_bps=step.rate) for step in given.rate_steps),
        rate_trace_ms=tuple(given.rate_trace or ()),
        delay_steps=delay_steps,
        jitter=None if given.jitter is None else _jitter(given.jitter, f"{field}.jitter"),
        reorder=None if reorder is None else form.ReorderSpec(p=reorder.share, delay_ps=reorder.delay),
        duplicate=given.duplicate,
    )
    return None if made == form.Impairments() else made


def _check_rate_steps(steps: tuple[RateStep, ...], field: str) -> None:
    _check_rising(steps, field)
    if steps and steps[-1].rate == 0:
        raise ScenarioError(
            f"'{format_rate(0)}' would last for ever; the last rate is above zero",
            path=f"{field}[{len(steps) - 1}].rate",
        )


def _check_rising(steps: tuple[RateStep, ...] | tuple[DelayStep, ...], field: str) -> None:
    for i in range(1, len(steps)):
        if steps[i].at <= steps[i - 1].at:
            raise ScenarioError(
                f"'{format_time(steps[i].at)}' is not after the step before, {format_time(steps[i - 1].at)}",
                path=f"{field}[{i}].at",
            )


def _delay(step: DelayStep, delay_ps: int, where: str) -> int:
    changed_ps = delay_ps + step.change
    if changed_ps < 0:
        raise ScenarioError(
            f"'{format_offset(step.change)}' is more than the link's own delay, {format_time(delay_ps)}", path=where
        )
    return changed_ps


def _jitter(jitter: Jitter, field: str) -> form.JitterSpec:
    kinds = [kind for kind in ("uniform", "normal", "exponential", "samples") if getattr(jitter, kind) is not None]
    if len(kinds) != 1:
        raise ScenarioError("write one distribution: uniform, normal, exponential or samples", path=field)
    if (jitter.normal is None) != (jitter.deviation is None):
        raise ScenarioError("a normal jitter has its mean in normal and its deviation in deviation", path=field)
    if jitter.uniform is not None:
        return form.UniformJitter(max_ps=jitter.uniform)
    if jitter.normal is not None and jitter.deviation is not None:
        return form.NormalJitter(mean_ps=jitter.normal, deviation_ps=jitter.deviation)
    if jitter.exponential is not None:
        return form.ExponentialJitter(mean_ps=jitter.exponential)
    return form.SamplesJitter(samples_ps=tuple(jitter.samples or ()))
