"""The pure lifecycle core: state and event in, state and effects out."""
