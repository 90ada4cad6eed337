"""The two devices behind the runtime, and the protocol they share."""
