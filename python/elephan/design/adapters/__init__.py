"""The score behind the interfaces of design loops with language models: OpenEvolve's, and ADRS' problem folders.

An evaluator file of OpenEvolve is one line::

    from elephan.design.adapters import evaluate, evaluate_stage1, evaluate_stage2, evaluate_stage3
"""

from elephan.design.adapters.openevolve import evaluate as evaluate
from elephan.design.adapters.openevolve import evaluate_stage1 as evaluate_stage1
from elephan.design.adapters.openevolve import evaluate_stage2 as evaluate_stage2
from elephan.design.adapters.openevolve import evaluate_stage3 as evaluate_stage3
from elephan.design.adapters.problems import points as points
from elephan.design.adapters.problems import write_problem as write_problem
