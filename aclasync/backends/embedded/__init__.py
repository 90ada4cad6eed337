"""A CPU device in this process that keeps the rules of the real one."""

from .backend import EmbeddedBackend as EmbeddedBackend
