"""The async shell: it takes no decisions, it carries out the machine's orders."""
