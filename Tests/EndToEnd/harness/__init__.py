"""What the end-to-end tests stand on: the gateway as a process, and three ways to talk to it.

`gateway` starts and stops the program, `client` speaks the Pusher protocol, `api` makes signed calls,
`wire` sends any bytes at all. Nothing here shares code with the gateway: signatures, frames and HTTP
are done again, so that a mistake on one side cannot hide itself on the other.
"""
