"""A thousand drivers who listen, confirm, leave and come back, and a judge of what they have received.

`connection` has the drivers' connections, `crowd` what the drivers do and the process that they run in,
`judge` the rules of guaranteed delivery.
"""
