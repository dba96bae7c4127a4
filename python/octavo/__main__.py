"""`python -m octavo` is the `octavo` command."""

from ._command import main

main()
