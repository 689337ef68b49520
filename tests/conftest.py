"""What all tests share: the settings of Hypothesis."""

from __future__ import annotations

from hypothesis import HealthCheck, settings

settings.register_profile("elephan", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("elephan")
