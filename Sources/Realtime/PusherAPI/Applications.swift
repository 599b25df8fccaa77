import Primitives

/// All applications, found by id or key.
///
/// Ids and keys from outside are compared as bytes: hashing or comparing a string of combining marks takes quadratic
/// time. There are few applications, so searching them in an array is cheap.
package struct Applications {
    /// In the configured order.
    let all: [Application]

    package init(_ apps: [Application]) { all = apps }

    /// The application whose paths are `/apps/ID/…`. Nil if there is none.
    func withID(_ id: PathSegment) -> Application? { all.first { id == $0.id } }

    /// The application whose clients connect to `/app/KEY`. Nil if there is none.
    package func withKey(_ key: String) -> Application? { all.first { $0.key.hasSameBytes(as: key) } }
}
