"""``python -m gia_science`` is the command ``gia``."""

from gia_science.cli.main import main

if __name__ == "__main__":
    main()
