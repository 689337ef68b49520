"""From a capture to its path: what limited a flow, and when.

import elephan

found = elephan.explain("server.pcap")
found.text  # the answer in words
found.limits.shares  # limits by their share of time, with their evidence
found.connection.segments  # a Polars table: what the host A sent
found.connection.acks  # what the host B acknowledged
"""

from elephan.explanation.algorithm import Followed as Followed
from elephan.explanation.algorithm import Replays as Replays
from elephan.explanation.algorithm import fit_algorithm as fit_algorithm
from elephan.explanation.capture import Capture as Capture
from elephan.explanation.capture import open_capture as open_capture
from elephan.explanation.capture import read_connection as read_connection
from elephan.explanation.connection import ACKS as ACKS
from elephan.explanation.connection import SEGMENTS as SEGMENTS
from elephan.explanation.connection import Connection as Connection
from elephan.explanation.connection import Flow as Flow
from elephan.explanation.connection import Handshake as Handshake
from elephan.explanation.connection import Position as Position
from elephan.explanation.events import Events as Events
from elephan.explanation.events import events_of as events_of
from elephan.explanation.explaining import Explanation as Explanation
from elephan.explanation.explaining import explain as explain
from elephan.explanation.limits import find_limits as find_limits
from elephan.explanation.path import fit_path as fit_path
from elephan.explanation.replaying import Replay as Replay
from elephan.explanation.replaying import Stretch as Stretch
from elephan.explanation.results import AlgorithmFit as AlgorithmFit
from elephan.explanation.results import Estimate as Estimate
from elephan.explanation.results import Interval as Interval
from elephan.explanation.results import Limit as Limit
from elephan.explanation.results import Limits as Limits
from elephan.explanation.results import Match as Match
from elephan.explanation.results import PathDraw as PathDraw
from elephan.explanation.results import PathFit as PathFit
from elephan.explanation.results import Share as Share
