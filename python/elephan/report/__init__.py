"""Reports: HTML pages that can be opened without a network, and figures for print."""

from elephan.report.run import run_report

__all__ = ["run_report"]
