"""What a dump is: its files, which tensors go into it, and what can be done with one."""
