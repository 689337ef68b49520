"""The ellipse of a trade-off: the variation of two values of the same runs over replicates."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from elephan.metrics.statistics import ROUNDING

FEWEST = 3
"""Smallest number of points of an ellipse; two points always lie on a line."""

Pair = tuple[float, float]


@dataclass(frozen=True)
class Ellipse:
    """The 1-sigma contour of the bivariate normal distribution fitted to points by maximum likelihood.

    With the mean m and the covariance matrix S of n points, both divided by n, the contour is the set of points x with
    (x - m)' S^-1 (x - m) = 1. RFC 7928, section 2.7, after Winstein, "Transport Architectures for an Evolving
    Internet", MIT, 2014.

    Attributes:
        mean: mean of the points, the centre.
        median: median of each coordinate.
        covariance: matrix S, in the products of the coordinates' units.
    """

    mean: Pair
    median: Pair
    covariance: tuple[Pair, Pair]

    @classmethod
    def of(cls, xs: Sequence[float], ys: Sequence[float]) -> Ellipse:
        """The ellipse of the points (x, y).

        Raises:
            ValueError: there are fewer than three points, all points are equal, or a point is not finite.
        """
        points = np.array([xs, ys], dtype=np.float64)
        count = points.shape[1]
        if count < FEWEST:
            raise ValueError(f"{count} {'run' if count == 1 else 'runs'}; an ellipse needs {FEWEST}")
        if not np.isfinite(points).all():
            raise ValueError("a value is not finite")
        equal = np.ptp(points, axis=1) <= ROUNDING * np.abs(points).max(axis=1)
        if equal.all():
            raise ValueError(f"{count} runs, all equal")
        points[equal] = points[equal, :1]  # a variance due to rounding errors is zero
        (xx, xy), (yx, yy) = np.cov(points, ddof=0).tolist()
        mean, median = points.mean(axis=1).tolist(), np.median(points, axis=1).tolist()
        return cls((mean[0], mean[1]), (median[0], median[1]), ((xx, xy), (yx, yy)))

    def contour(self, count: int = 65) -> tuple[list[float], list[float]]:
        """Coordinates of points around the contour; the last point equals the first point.

        Each point is m + V sqrt(L) (cos t, sin t), with the eigenvalues L and eigenvectors V of S.
        """
        values, vectors = np.linalg.eigh(np.array(self.covariance))
        angles = np.linspace(0.0, 2 * np.pi, count)
        circle = np.array([np.cos(angles), np.sin(angles)])
        xs, ys = np.array(self.mean)[:, None] + vectors @ (np.sqrt(np.maximum(values, 0.0))[:, None] * circle)
        return xs.tolist(), ys.tolist()
