"""Quantities: what a user may write, what it is in base units, and what is refused."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from elephan.scenario import losses, units
from elephan.scenario.errors import ScenarioError
from elephan.scenario.losses import Loss
from elephan.scenario.units import Amount, Buffer


@pytest.mark.parametrize(
    ("parse", "text", "value"),
    [
        (units.parse_rate, "622 Mbit/s", 622_000_000),
        (units.parse_rate, "622Mbps", 622_000_000),
        (units.parse_rate, "2.5 Gbit/s", 2_500_000_000),
        (units.parse_rate, "1e3 bit/s", 1000),
        (units.parse_rate, "10_000 kbit/s", 10_000_000),
        (units.parse_time, "48 ms", 48_000_000_000),
        (units.parse_time, "0.1 s", 100_000_000_000),
        (units.parse_time, "20.8 µs", 20_800_000),
        (units.parse_time, "2 min", 120 * 10**12),
        (units.parse_time, "0 s", 0),
        (units.parse_size, "1.5 kB", 1500),
        (units.parse_size, "64 KiB", 65536),
        (units.parse_buffer, "1555 packets", Buffer(packets=1555)),
        (units.parse_buffer, "1 packet", Buffer(packets=1)),
        (units.parse_buffer, "2 MB", Buffer(octets=2_000_000)),
        (units.parse_buffer, "20% BDP", Buffer(bdp_share=Decimal("0.2"))),
        (units.parse_buffer, "12.5 % BDP", Buffer(bdp_share=Decimal("0.125"))),
        (units.parse_buffer, "2 BDP", Buffer(bdp_share=Decimal(2))),
        (units.parse_buffer, "1bdp", Buffer(bdp_share=Decimal(1))),
        (units.parse_buffer, "Unlimited", Buffer(unlimited=True)),
        (units.parse_amount, "10 segments", Amount(segments=10)),
        (units.parse_amount, "10 MB", Amount(octets=10_000_000)),
        (losses.parse_loss, 1e-4, Loss(probability=1e-4)),
        (losses.parse_loss, "0.01%", Loss(probability=1e-4)),
        (losses.parse_loss, 0, Loss()),
        (losses.parse_loss, {"packets": [3, 9]}, Loss(packets=(3, 9))),
    ],
)
def test_a_quantity_has_one_meaning(parse: Callable[[object], object], text: object, value: object) -> None:
    assert parse(text) == value


@pytest.mark.parametrize(
    ("parse", "text"),
    [
        (units.parse_rate, 622),
        (units.parse_rate, "622"),
        (units.parse_rate, "622 MB/s"),
        (units.parse_rate, "0 Mbit/s"),
        (units.parse_rate, "-5 Mbit/s"),
        (units.parse_rate, "0.5 bit/s"),
        (units.parse_rate, "1000 Tbit/s"),
        (units.parse_rate, "nan Mbit/s"),
        (units.parse_rate, float("nan")),
        (units.parse_rate, True),
        (units.parse_rate, []),
        (units.parse_time, "1e-13 s"),
        (units.parse_time, "-1 ms"),
        (units.parse_time, "1e30 s"),
        (units.parse_positive_time, "0 s"),
        (units.parse_size, "1.5 B"),
        (units.parse_buffer, "0 packets"),
        (units.parse_buffer, "0.5 packets"),
        (units.parse_buffer, "0% BDP"),
        (units.parse_buffer, "-1% BDP"),
        (units.parse_buffer, "20 %"),
        (units.parse_buffer, "1e9% BDP"),
        (units.parse_amount, "0 segments"),
        (units.parse_amount, "1.5 segments"),
        (losses.parse_loss, 1.0),
        (losses.parse_loss, -0.1),
        (losses.parse_loss, float("nan")),
        (losses.parse_loss, float("inf")),
        (losses.parse_loss, True),
        (losses.parse_loss, "100%"),
        (losses.parse_loss, {"packets": []}),
        (losses.parse_loss, {"packets": [0]}),
        (losses.parse_loss, {"packets": [4, 4]}),
        (losses.parse_loss, {"packet": [4]}),
    ],
)
def test_what_means_nothing_is_refused_in_one_line(parse: Callable[[object], object], text: object) -> None:
    with pytest.raises(ScenarioError) as caught:
        parse(text)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) > 10


@given(st.integers(units.MIN_RATE_BPS, units.MAX_RATE_BPS))
def test_a_rate_survives_being_written_and_read(rate_bps: int) -> None:
    assert units.parse_rate(units.format_rate(rate_bps)) == rate_bps


@given(st.integers(0, units.MAX_TIME_PS))
def test_a_time_survives_being_written_and_read(time_ps: int) -> None:
    assert units.parse_time(units.format_time(time_ps)) == time_ps


@given(st.integers(0, units.MAX_BYTES))
def test_a_size_survives_being_written_and_read(octets: int) -> None:
    assert units.parse_size(units.format_size(octets)) == octets


@given(
    st.one_of(
        st.builds(Buffer, packets=st.integers(1, 2**40)),
        st.builds(Buffer, octets=st.integers(1, units.MAX_BYTES)),
        st.builds(Buffer, bdp_share=st.decimals("0.001", 1000, allow_nan=False, places=5).filter(lambda d: d > 0)),
        st.just(Buffer(unlimited=True)),
    )
)
def test_a_buffer_survives_being_written_and_read(buffer: Buffer) -> None:
    assert units.parse_buffer(str(buffer)) == buffer


@pytest.mark.parametrize(
    ("written", "unit"),
    [("622 Mbits", "Mbit/s"), ("1 gbit/s", "Gbit/s"), ("10 Mbit", "Mbit/s"), ("10 MBit/s", "Mbit/s")],
)
def test_a_misspelled_unit_names_the_right_one(written: str, unit: str) -> None:
    with pytest.raises(ScenarioError, match=f"did you mean '{unit}'"):
        units.parse_rate(written)
