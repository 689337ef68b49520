"""Random scenarios over the whole schema: ``python -m tests.fuzz`` runs them for as long as it is told."""
