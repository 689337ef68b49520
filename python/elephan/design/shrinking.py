"""The simplest form of a failure: first without factors, then with rounder numbers, as long as it still fails."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from elephan.design.space import Dimension, Point, Space

Fails = Callable[[Sequence[Point]], list[bool]]
"""Says for each point if it still fails."""

_ROUNDS = 4


def shrunk(point: Point, space: Space, fails: Fails) -> Point:
    """The simplest point that still fails: no factor can be left out, and no number made rounder, alone."""
    for _ in range(_ROUNDS):
        before = point
        point = _with_fewer_factors(point, space, fails)
        for dimension in space.dimensions:
            if dimension.name in point:
                point = _rounder(point, dimension, fails)
        if point == before:
            break
    return point


def _with_fewer_factors(point: Point, space: Space, fails: Fails) -> Point:
    """Leave out factors, the largest groups first: all, each half, each one."""
    present = [factor for factor in space.factors if any(_belongs(name, factor) for name in point)]
    size = len(present)
    while size >= 1 and present:
        groups = [present[i : i + size] for i in range(0, len(present), size)]
        tried = [{n: v for n, v in point.items() if not any(_belongs(n, f) for f in group)} for group in groups]
        found = next((i for i, failed in enumerate(fails(tried)) if failed), None)
        if found is None:
            size //= 2
            continue
        point = tried[found]
        present = [factor for factor in present if factor not in groups[found]]
        size = min(size, len(present))
    return point


def _belongs(name: str, factor: str) -> bool:
    return name.startswith(f"{factor}.")


def _rounder(point: Point, dimension: Dimension, fails: Fails) -> Point:
    """Replace a number by the roundest number near it with which the point still fails."""
    tried = [{**point, dimension.name: value} for value in dimension.rounder(point[dimension.name])]
    return next((other for other, failed in zip(tried, fails(tried), strict=True) if failed), point) if tried else point
