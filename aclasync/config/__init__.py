"""The pure configuration core: bytes, environment and product in, a `Resolution` out."""
