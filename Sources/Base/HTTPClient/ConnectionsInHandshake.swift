/// The number of a pool's connections that are being opened, or that have received no response header yet.
///
/// An HTTP/2 server announces its stream limit once a connection is established, but libcurl does not wait for the
/// announcement: it starts a hundred streams at once. If the server refuses some of them, libcurl opens another
/// connection and repeats them there, again a hundred at once. So while this count is above 0, a pool with
/// ``HTTPPool/Options/requiresHTTP2`` allows a single request at a time on each connection.
final class ConnectionsInHandshake {
    var count = 0
}
