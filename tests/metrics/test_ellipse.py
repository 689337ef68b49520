"""The ellipse of a trade-off beside its closed form."""

from __future__ import annotations

import math

import pytest

from elephan.metrics.ellipse import Ellipse


def test_points_on_the_axes_have_half_of_their_squares_as_variances() -> None:
    """(±a, 0) and (0, ±b): the mean is 0, the covariance diag(a²/2, b²/2), the semi-axes a/√2 and b/√2."""
    found = Ellipse.of([13.0, 7.0, 10.0, 10.0], [50.0, 50.0, 54.0, 46.0])
    assert found.mean == found.median == (10.0, 50.0)
    assert found.covariance == ((4.5, 0.0), (0.0, 8.0))
    xs, ys = found.contour(4001)
    assert max(xs) - 10 == pytest.approx(3 / math.sqrt(2), rel=1e-6)
    assert max(ys) - 50 == pytest.approx(4 / math.sqrt(2), rel=1e-6)
    assert (xs[0], ys[0]) == pytest.approx((xs[-1], ys[-1]))


def test_every_point_of_a_tilted_contour_is_one_sigma_from_the_mean() -> None:
    """Points with the covariance ((2, 1), (1, 2)): the axes are the diagonals, √3 and 1 long."""
    found = Ellipse.of([math.sqrt(3), -math.sqrt(3), 1, -1], [math.sqrt(3), -math.sqrt(3), -1, 1])
    assert found.covariance[0] == pytest.approx((2.0, 1.0))
    assert found.covariance[1] == pytest.approx((1.0, 2.0))
    for x, y in zip(*found.contour(), strict=True):
        assert (2 * x * x - 2 * x * y + 2 * y * y) / 3 == pytest.approx(1.0), "x' S^-1 x with the inverse of S"
    xs, ys = found.contour(4001)
    assert max(map(math.hypot, xs, ys)) == pytest.approx(math.sqrt(3), rel=1e-6)
    assert min(map(math.hypot, xs, ys)) == pytest.approx(1.0, rel=1e-6)


def test_points_on_a_line_have_an_ellipse_without_width() -> None:
    found = Ellipse.of([1.0, 2.0, 3.0], [10.0, 20.0, 30.0])
    assert found.covariance[0] == pytest.approx((2 / 3, 20 / 3))
    assert found.covariance[1] == pytest.approx((20 / 3, 200 / 3))
    assert all(y == pytest.approx(10 * x) for x, y in zip(*found.contour(), strict=True))


def test_a_coordinate_that_differs_by_rounding_alone_has_no_variance() -> None:
    found = Ellipse.of([1.0, 2.0, 3.0], [0.1 + 0.2, 0.3, 0.3])
    assert found.covariance[1] == (0.0, 0.0)


def test_the_median_is_not_the_mean() -> None:
    found = Ellipse.of([1.0, 2.0, 9.0], [5.0, 5.0, 8.0])
    assert (found.mean, found.median) == ((4.0, 6.0), (2.0, 5.0))


@pytest.mark.parametrize(
    ("xs", "ys", "said"),
    [
        ([1.0], [1.0], "1 run; an ellipse needs 3"),
        ([1.0, 2.0], [1.0, 2.0], "2 runs; an ellipse needs 3"),
        ([1.0, 1.0, 1.0], [2.0, 2.0, 2.0], "3 runs, all equal"),
        ([1.0, math.inf, 1.0], [2.0, 2.0, 2.0], "not finite"),
    ],
)
def test_too_little_for_an_ellipse_is_said(xs: list[float], ys: list[float], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        Ellipse.of(xs, ys)
