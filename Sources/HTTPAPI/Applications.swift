/// All applications, found by id or key.
///
/// Ids and keys from outside are compared as bytes: hashing or comparing a string of combining marks takes quadratic
/// time. There are few applications, so searching them in an array is cheap.
package struct Applications {
    /// In the configured order.
    private let apps: [Application]

    package init(_ apps: [Application]) { self.apps = apps }

    /// The application whose paths are `/apps/ID/…`. Nil if there is none.
    func withID(_ id: PathSegment) -> Application? { apps.first { id == $0.id } }

    /// The application whose clients connect to `/app/KEY`. Nil if there is none.
    /// - Parameter key: in UTF-8.
    package func withKey(_ key: some Sequence<UInt8>) -> Application? { apps.first { $0.key.utf8.elementsEqual(key) } }
}
