/// Counts connections that are being opened, or that have received nothing yet.
///
/// A server announces its stream limit when a connection stands, and libcurl does not wait for that: it starts a hundred
/// streams at once, and repeats refused ones on another connection, again a hundred at once. So for HTTP/2-only pools
/// ``HTTPPool`` allows one request on each connection until it has received something.
final class ConnectionsInHandshake {
    var count = 0
}
