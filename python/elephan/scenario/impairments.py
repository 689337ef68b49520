"""Impairments of a link: conversion of the user's fields to the engine's form."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any, TypeVar

from elephan.scenario import channels, form
from elephan.scenario.document import Steps
from elephan.scenario.errors import ScenarioError
from elephan.scenario.fields import Channel
from elephan.scenario.link_tables import DelayStep, Jitter, RateStep
from elephan.scenario.schema import Impaired
from elephan.scenario.timed import TimedTable
from elephan.scenario.units import OPPORTUNITY_BYTES, format_offset, format_rate, format_time

S = TypeVar("S", form.RateStep, form.DelayStep)


class Impairments(Impaired):
    """The impairments of a link, or of the bottlenecks of a shorthand, in the user's form."""

    delays_only: bool = False
    """True if the link is the opposite direction of a link with a channel, and has only the channel's delays."""

    @classmethod
    def of(cls, table: Impaired) -> Impairments:
        """The impairments of a table of the scenario."""
        return cls.model_construct(**{field: getattr(table, field) for field in Impaired.model_fields})

    @property
    def reverse(self) -> Impairments:
        """The impairments of the opposite direction: only the delays of a channel, which are the same in both
        directions."""
        return STEADY if self.channel is None else Impairments.model_construct(channel=self.channel, delays_only=True)

    @property
    def changes_rate(self) -> bool:
        """True if the rate of the link changes during the run."""
        by_channel = self.channel and not self.delays_only
        return bool(self.rate_steps or self.rate_table or self.rate_trace or by_channel)

    def fastest_bps(self, rate_bps: int, duration_ps: int) -> int:
        """The highest rate that a link of ``rate_bps`` has in a run; for a trace, that of its fullest millisecond."""
        rates = [rate_bps, *(step.rate for step in self.rate_steps)]
        if self.rate_table:
            rates.append(self.rate_table.peak)
        opportunities = self.rate_trace or ()
        if self.channel and not self.delays_only:
            drawn = channels.draw(self.channel.model, self.channel.seed, self.channel.given, duration_ps)
            rates += [rate for _, rate in drawn.rates]
            opportunities = drawn.opportunities_ms
        fullest = max(Counter(opportunities).values(), default=0)
        return max(*rates, fullest * OPPORTUNITY_BYTES * 8 * 1000)

    @property
    def is_random(self) -> bool:
        """True if the impairments depend on the seed."""
        contends = self.aggregation is not None and self.aggregation.contention > 0
        drawn = self.jitter is not None or self.reorder is not None or self.retransmission is not None
        return drawn or contends or self.duplicate > 0


STEADY = Impairments.model_construct()
OVER_TIME = ("rate_table", "delay_table")
"""Fields of a link that are tables over time."""


def impairments_form(given: Impairments, delay_ps: int, duration_ps: int, field: str) -> form.Impairments | None:
    """The canonical form for a run of ``duration_ps``; ``None`` if there are no impairments.

    Raises:
        ScenarioError: steps out of order, a delay below zero, or fields that contradict each other.
    """
    if given == STEADY:
        return None
    if given.channel:
        return _channel_form(given, given.channel, delay_ps, duration_ps, field)
    _refuse_two(given, ("rate_steps", "rate_table", "rate_trace"), field)
    _refuse_two(given, ("delay_steps", "delay_table"), field)
    delay_steps = _delay_steps(given, delay_ps, duration_ps, field)
    if given.rate_trace and min([delay_ps, *(step.delay_ps for step in delay_steps)]) == 0:
        raise ScenarioError("needs a link with a delay, always above zero", path=f"{field}.rate_trace")
    made = form.Impairments(
        rate_steps=_rate_steps(given, duration_ps, field),
        rate_trace_ms=tuple(given.rate_trace or ()),
        delay_steps=delay_steps,
        steps_in_order=given.delay_table is not None and bool(delay_steps) and not given.delay_table.overtake,
        **_random_fields(given, field),
    )
    return None if made == form.Impairments() else made


def _refuse_two(given: Impairments, fields: tuple[str, ...], field: str) -> None:
    first, *others = [name for name in fields if getattr(given, name)] or [""]
    if others:
        there = "is" if first.endswith("table") else "are"
        raise ScenarioError(f"there {there} {first} too; write one of the two", path=f"{field}.{others[0]}")


def _rate_steps(given: Impairments, duration_ps: int, field: str) -> tuple[form.RateStep, ...]:
    if given.rate_table is None:
        check_rate_steps(given.rate_steps, f"{field}.rate_steps")
        return tuple(form.RateStep(at_ps=step.at, rate_bps=step.rate) for step in given.rate_steps)
    steps = _table_steps(given.rate_table, duration_ps, _rate_step, f"{field}.rate_table")
    if steps and steps[-1].rate_bps == 0:
        raise ScenarioError(
            f"'{format_rate(0)}' would last for ever; the last rate is above zero, or the table repeats",
            path=f"{field}.rate_table",
        )
    return steps


def _delay_steps(given: Impairments, delay_ps: int, duration_ps: int, field: str) -> tuple[form.DelayStep, ...]:
    if given.delay_table is not None:
        return _table_steps(given.delay_table, duration_ps, _delay_step, f"{field}.delay_table")
    _check_rising(given.delay_steps, f"{field}.delay_steps")
    return tuple(
        form.DelayStep(at_ps=step.at, delay_ps=_delay(step, delay_ps, f"{field}.delay_steps[{i}].change"))
        for i, step in enumerate(given.delay_steps)
    )


def _table_steps(table: TimedTable, duration_ps: int, step: Callable[[int, int], S], where: str) -> Steps[S]:
    try:
        return table.made((step, duration_ps), lambda: Steps(step(at, value) for at, value in table.steps(duration_ps)))
    except ScenarioError as error:
        raise error.located(path=where) from None


def _rate_step(at_ps: int, rate_bps: int) -> form.RateStep:
    return form.RateStep(at_ps=at_ps, rate_bps=rate_bps)


def _delay_step(at_ps: int, delay_ps: int) -> form.DelayStep:
    return form.DelayStep(at_ps=at_ps, delay_ps=delay_ps)


def _channel_form(
    given: Impairments, channel: Channel, delay_ps: int, duration_ps: int, field: str
) -> form.Impairments | None:
    """The canonical form with the values that a channel's model draws for the run."""
    for other in ("rate_steps", "rate_table", "rate_trace", "delay_steps", "delay_table"):
        if getattr(given, other):
            raise ScenarioError(f"there is {other} too; write one of the two", path=f"{field}.channel")
    try:
        drawn = channels.draw(channel.model, channel.seed, channel.given, duration_ps)
    except channels.TooManyChangesError as error:
        raise ScenarioError(str(error), path=f"{field}.channel") from None
    delay_steps = tuple(form.DelayStep(at_ps=at, delay_ps=delay_ps + more) for at, more in drawn.delays)
    if given.delays_only:
        return form.Impairments(delay_steps=delay_steps) if delay_steps else None
    if drawn.opportunities_ms and delay_ps == 0:
        raise ScenarioError("needs a link with a delay above zero", path=f"{field}.channel")
    return form.Impairments(
        rate_steps=tuple(form.RateStep(at_ps=at, rate_bps=rate) for at, rate in drawn.rates),
        rate_trace_ms=drawn.opportunities_ms,
        delay_steps=delay_steps,
        **_random_fields(given, field),
    )


def _random_fields(given: Impairments, field: str) -> dict[str, Any]:
    reorder, bursts, again = given.reorder, given.aggregation, given.retransmission
    by_trace = given.rate_trace or (given.channel and given.channel.model == "sprout")
    for name, radio in (("aggregation", bursts), ("retransmission", again)):
        if radio is not None and by_trace:
            raise ScenarioError("needs a rate; a trace itself determines the departures", path=f"{field}.{name}")
    if again is not None and again.loss >= 1:
        raise ScenarioError("1 lets no packet through; it is below 100%", path=f"{field}.retransmission.loss")
    return {
        "jitter": None if given.jitter is None else _jitter(given.jitter, f"{field}.jitter"),
        "reorder": None if reorder is None else form.ReorderSpec(p=reorder.share, delay_ps=reorder.delay),
        "duplicate": given.duplicate,
        "aggregation": bursts
        and form.AggregationSpec(packets=bursts.packets, access_ps=bursts.access, contention_ps=bursts.contention),
        "retransmission": again
        and form.RetransmissionSpec(p=again.loss, tries=again.tries, delay_ps=again.delay, in_order=again.in_order),
    }


def check_rate_steps(steps: tuple[RateStep, ...], field: str) -> None:
    """Reject steps that are out of order or end with a rate of 0.

    Raises:
        ScenarioError: a step is wrong; the message names the step.
    """
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
