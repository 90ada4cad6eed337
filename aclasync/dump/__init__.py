"""What dumps are: their files, and how they are read."""
