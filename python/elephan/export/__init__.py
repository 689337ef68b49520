"""Export of a run to files for other programs."""

from elephan.export.events import ack_departures, events_of
from elephan.export.guest_pcapng import write_guest_pcapng
from elephan.export.pcapng import write_pcapng
from elephan.export.qlog import size_bytes as qlog_bytes
from elephan.export.qlog import write_qlog
from elephan.export.quinn_qlog import write_quinn_qlog

__all__ = [
    "ack_departures", "events_of", "qlog_bytes", "write_guest_pcapng", "write_pcapng", "write_qlog", "write_quinn_qlog",
]  # fmt: skip
