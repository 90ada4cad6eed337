"""`python -m aclasync` is the `aclasync` command."""

from aclasync.cli import main

main()
