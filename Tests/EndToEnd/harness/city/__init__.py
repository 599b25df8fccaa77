"""A city: drivers who drive past their pickups, customers who watch, and a judge of what the customers were told.

`plan` has the cars and what each does, `town` performs it and records what happens, `judge` has the rules.
"""
