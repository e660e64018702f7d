"""``python -m mnemic``: the command."""

from mnemic.cli.main import main

if __name__ == "__main__":
    main()
