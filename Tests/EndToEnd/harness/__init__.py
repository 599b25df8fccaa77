"""Building blocks of the end-to-end tests.

`gateway` starts and stops the program, `client` speaks the Pusher protocol, `raw_client` does so
without threads, `api` makes signed calls, `fleet` calls the fleet's REST API, `wire` sends arbitrary
bytes. Nothing here shares code with the gateway: signatures, frames and HTTP are implemented again,
so that a defect on one side cannot hide a defect on the other.
"""
