import Observability

/// A queue that was full when a request or client event needed it. Raw values appear in the log.
enum FullQueue: String {
    case mailbox = "loop mailbox"
    case storeWriter = "store writer"
    case storeReader = "store reader"
    case tokenKeys = "token key fetcher"
    case channelQueries = "channel queries"
    case introspectedTokens = "token introspection"
    case introspectionWaiters = "token introspection of one token"

    /// The limit that counts the rejections. Nil if they have a family of their own: commands and publishes.
    var limit: Limit? {
        switch self {
        case .mailbox, .storeWriter: nil
        case .storeReader: .storeReaderQueue
        case .tokenKeys: .tokenKeysQueue
        case .channelQueries: .channelQueriesQueue
        case .introspectedTokens: .introspectedTokens
        case .introspectionWaiters: .introspectionWaiters
        }
    }
}
