"""An evolution of formulas for growth and decrease, which begins with Reno, and the export of what it finds."""

from elephan.design.evolution.evolve import Individual as Individual
from elephan.design.evolution.evolve import Lineage as Lineage
from elephan.design.evolution.evolve import evolve as evolve
from elephan.design.evolution.exporting import export as export
