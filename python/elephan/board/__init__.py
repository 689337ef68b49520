"""The public board: verdicts of suites on algorithms, each with the runs that it comes from, and the runs again.

The board is a folder of data: verdicts and runs as Parquet, and a folder of each row that somebody added. A run is its
scenario, its seed and the SHA-256 of its tables, so that anybody can make it again and compare.
"""

from elephan.board.again import Again, reproduce
from elephan.board.contents import Board, BoardError
from elephan.board.rows import Row

__all__ = ["Again", "Board", "BoardError", "Row", "reproduce"]
