/// Counts connections that are being opened, or that have received nothing yet.
///
/// A server announces its stream limit once a connection is established, and libcurl does not wait for that: it starts
/// a hundred streams at once, and repeats refused ones on another connection, again a hundred at once. So in
/// HTTP/2-only pools ``HTTPPool`` allows one request on each connection until all have received something.
final class ConnectionsInHandshake {
    var count = 0
}
