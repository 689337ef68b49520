"""Loops around the evaluator: a score for candidates, a search for failures, and the tuning of parameters."""

from elephan.design.scoring import Score as Score
from elephan.design.scoring import score as score
from elephan.design.searching import Search as Search
from elephan.design.searching import search as search
from elephan.design.tuning import Tuning as Tuning
from elephan.design.tuning import tune as tune
