"""A store as a fleet leaves it after a year."""
