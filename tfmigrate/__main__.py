"""`python -m tfmigrate`."""

from tfmigrate.cli import main

if __name__ == "__main__":
    main()
