/// How many connections are being opened, or have been and nothing came back over them yet.
///
/// A server says how many streams it takes only when a connection stands, and libcurl does not wait for that: it begins a
/// hundred at once. What is refused it repeats on another connection, a hundred at once. So the pool lets one request go
/// ahead on each new connection where that matters.
final class ConnectionsInHandshake {
    var count = 0
}
