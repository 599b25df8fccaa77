import HTTP
import Primitives

/// The segments of a request's path, in order: `apps`, `1001` and `events` of `/apps/1001/events`. Allocates nothing.
///
/// Borrows the bytes of the request's head.
package struct PathSegments: Sequence, IteratorProtocol {
    /// Begins with the slash before the next segment. Empty at the end.
    private var rest: UnsafeRawBufferPointer

    /// - Parameter path: percent-encoded; begins with a slash.
    package init(_ path: UnsafeRawBufferPointer) { rest = path }

    /// The number of segments that follow.
    package var count: Int { rest.count { $0 == UInt8(ascii: "/") } }

    package mutating func next() -> PathSegment? {
        guard !rest.isEmpty else { return nil }
        let segment = UnsafeRawBufferPointer(rebasing: rest.dropFirst())
        let end = segment.offset(of: UInt8(ascii: "/")) ?? segment.count
        rest = UnsafeRawBufferPointer(rebasing: segment[end...])
        return PathSegment(raw: UnsafeRawBufferPointer(rebasing: segment[..<end]))
    }
}

/// A segment of a path. It is compared byte by byte with its escapes decoded, because comparing strings of combining
/// marks takes quadratic time.
package struct PathSegment {
    /// Percent-encoded.
    package let raw: UnsafeRawBufferPointer

    /// The segment, decoded.
    package var text: String { PercentDecoding.text(raw, .path) }

    package static func == (segment: PathSegment, text: String) -> Bool { PercentDecoding.equals(segment.raw, text, .path) }

    /// Lets a `switch` compare segments with literals.
    package static func ~= (text: StaticString, segment: PathSegment) -> Bool { PercentDecoding.equals(segment.raw, text) }
}
