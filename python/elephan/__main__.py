"""``python -m elephan``: the command line."""

from elephan.cli.main import main

main()
