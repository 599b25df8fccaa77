import Realtime

extension FullQueue {
    static let storeWriter = FullQueue("store writer")
    static let storeReader = FullQueue("store reader", .storeReaderQueue)
    static let tokenKeys = FullQueue("token key fetcher", .tokenKeysQueue)
    static let introspectedTokens = FullQueue("token introspection", .introspectedTokens)
    static let introspectionWaiters = FullQueue("token introspection of one token", .introspectionWaiters)
}
