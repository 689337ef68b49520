def variants(setup, measurer): return ()
