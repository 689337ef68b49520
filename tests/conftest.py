"""Setup that all tests share: the settings of Hypothesis, and a Ctrl-C that is heard."""

from __future__ import annotations

import signal

from hypothesis import HealthCheck, settings

settings.register_profile("elephan", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("elephan")

# A shell's background job has SIGINT ignored, and Python then leaves it so; some tests press Ctrl-C.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
