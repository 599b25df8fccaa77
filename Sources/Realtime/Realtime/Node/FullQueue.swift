import Observability

/// A queue that was full when a request or client event needed it.
package struct FullQueue: Hashable, Sendable {
    /// For the log.
    package let name: String
    /// The limit that counts the rejections. Nil if they have a family of their own: commands and publishes.
    package let limit: Limit?

    package init(_ name: String, _ limit: Limit? = nil) {
        self.name = name
        self.limit = limit
    }

    package static let mailbox = FullQueue("loop mailbox")
    static let channelQueries = FullQueue("channel queries", .channelQueriesQueue)
}
