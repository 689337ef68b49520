"""Reports: HTML pages that can be opened without a network, and figures for print."""

from elephan.report.board import scoreboard
from elephan.report.paper import PaperPage, paper_report
from elephan.report.run import run_report

__all__ = ["PaperPage", "paper_report", "run_report", "scoreboard"]
