"""Building blocks of the end-to-end tests: the gateway as a process, and three ways to talk to it.

`gateway` starts and stops the program, `client` speaks the Pusher protocol, `api` makes signed
calls, `wire` sends arbitrary bytes. Nothing here shares code with the gateway: signatures, frames
and HTTP are implemented again, so that a mistake on one side cannot hide a mistake on the other.
"""
