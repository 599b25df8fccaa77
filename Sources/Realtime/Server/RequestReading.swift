import HTTP
import HTTP1
import Threads

/// How far the current request of an HTTP connection has been read. A connection between two requests has none.
struct RequestReading {
    enum Stage {
        /// The head is incomplete.
        case head(RequestHeadParser)
        /// The delegate has not decided yet on the request with this head.
        case undecided(RequestHead, RequestID)
        /// The delegate has decided on the request after a wait.
        case decided(RequestHead, RequestID, HeadDecision)
        /// The body is incomplete.
        case body(RequestHead, RequestID, Body)
        /// The request is responded to; this many bytes of its body are still discarded.
        case discarding(Int)
        /// The request is complete and waits for its response from another thread.
        case responding(RequestID)
    }

    /// What is needed to find the end of a body.
    enum Body {
        /// The total length in bytes.
        case length(Int)
        /// The bytes after the head are decoded up to `ChunkedDecoder.bodyCount`.
        case chunked(ChunkedDecoder)
    }

    var stage: Stage
    /// What has arrived since the start of the current request and is not processed.
    var bytes: [UInt8] = []
    /// When the last of them was read, in nanoseconds of the monotonic clock.
    var readAt = Clock.monotonicNanoseconds()

    /// Whether nothing of a request has arrived, except perhaps the empty line that some clients send behind a body (RFC
    /// 9112 section 2.2).
    var isBetweenRequests: Bool {
        if case .head = stage { bytes.isEmpty || bytes == [0x0D, 0x0A] } else { false }
    }

    /// The number of bytes to keep, from the start of the request on. A chunked body is decoded in place, so what
    /// follows its decoded part is done with.
    var decodedBytesMax: Int {
        if case .body(let head, _, .chunked(let decoder)) = stage { head.byteCount + decoder.bodyCount } else { .max }
    }

    /// The size of what is kept of the request in bytes. The delegate has a copy of the head until the body is complete.
    var keptBytes: Int {
        switch stage {
        case .undecided(let head, _), .decided(let head, _, _), .body(let head, _, _): bytes.count + head.byteCount
        case .head, .discarding, .responding: bytes.count
        }
    }

    /// The head of the request that the bytes begin with, as far as it was read; nil if they begin with something else.
    var head: RequestHead? {
        switch stage {
        case .head(let parser): parser.head
        case .undecided(let head, _), .decided(let head, _, _), .body(let head, _, _): head
        case .discarding, .responding: nil
        }
    }

    init(_ stage: Stage) { self.stage = stage }

    /// The request that waits for its response or its body; nil while its head is read.
    var request: RequestID? {
        switch stage {
        case .head, .discarding: nil
        case .undecided(_, let id), .decided(_, let id, _), .body(_, let id, _), .responding(let id): id
        }
    }
}
