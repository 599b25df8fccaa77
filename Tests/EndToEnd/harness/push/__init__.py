"""Fakes of APNs and FCM: real TLS, real HTTP/2, stricter than the real services, and faulty on
command.

`server` is the common HTTP/2 server and `connection` one of its connections, `behavior` is what a
test can script it to do, `schema` checks JSON documents, `apns` and `fcm` are the two services,
`devices` the devices of users, `providers` all fakes with the gateway's settings, and `push_fleet` a
gateway that pushes to them.
"""
