"""Ranges of quantities: an interval must not contain values that its quantity cannot have."""

from __future__ import annotations

import math

Range = tuple[float, float]
"""Lowest and highest possible value of a quantity; either may be infinite."""
REAL: Range = (-math.inf, math.inf)
POSITIVE: Range = (0.0, math.inf)
SHARE: Range = (0.0, 1.0)
LOST: Range = (-math.inf, 1.0)
"""Range of a fraction that is lost: a gain is negative, and has no bound."""
