"""Fakes of APNs and FCM: real TLS, real HTTP/2, stricter than the real services, and faulty on
command.

`server` is the common HTTP/2 server, `behavior` what it can be scripted to do, `schema` checks JSON
documents, `apns` and `fcm` are the two services, `devices` the devices of users, and `providers`
all of it with the gateway's settings.
"""
