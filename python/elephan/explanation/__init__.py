"""From a capture to its path: what limited a flow, and when.

from elephan.explanation import open_capture, read_connection

connection = read_connection(open_capture("server.pcap"))
connection.segments  # a Polars table: what the host A sent
connection.acks  # what the host B acknowledged
"""

from elephan.explanation.capture import Capture as Capture
from elephan.explanation.capture import open_capture as open_capture
from elephan.explanation.capture import read_connection as read_connection
from elephan.explanation.connection import ACKS as ACKS
from elephan.explanation.connection import SEGMENTS as SEGMENTS
from elephan.explanation.connection import Connection as Connection
from elephan.explanation.connection import Flow as Flow
from elephan.explanation.connection import Handshake as Handshake
from elephan.explanation.connection import Position as Position
from elephan.explanation.results import AlgorithmFit as AlgorithmFit
from elephan.explanation.results import Match as Match
from elephan.explanation.results import PathDraw as PathDraw
from elephan.explanation.results import PathFit as PathFit
from elephan.explanation.results import Quantity as Quantity
