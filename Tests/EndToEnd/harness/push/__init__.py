"""APNs and FCM as servers of our own: real TLS, real HTTP/2, stricter than the real ones, and rude on command.

`server` is what both stand on, `conduct` what they can be told to do, `schema` what a JSON document must look like, `apns` and `fcm`
what each checks, `phones` devices with their people, and `providers` all of it together with the gateway's settings.
"""
