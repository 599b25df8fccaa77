import CNats

/// What cnats's delivery thread needs to know about a subscription. cnats holds the only reference.
final class SubscriptionContext: Sendable {
    private let token: UInt64
    private let session: Int
    private let inbox: Inbox

    init(token: UInt64, session: Int, inbox: Inbox) {
        self.token = token
        self.session = session
        self.inbox = inbox
    }

    /// Subscribes. Must be called by the thread that reads the connection, so that no message arrives before the end.
    func subscribe(_ connection: OpaquePointer, _ subject: String) -> (handle: OpaquePointer?, status: natsStatus) {
        let closure = Unmanaged.passRetained(self)
        var handle: OpaquePointer?
        let status = natsConnection_Subscribe(&handle, connection, subject, Self.onMessage, closure.toOpaque())
        guard status == NATS_OK, let handle else {
            closure.release()
            return (nil, status)
        }
        // Called by the delivery thread after the last message of a subscription that was ended.
        natsSubscription_SetOnCompleteCB(handle, Self.onComplete, closure.toOpaque())
        return (handle, status)
    }

    private static let onMessage: natsMsgHandler = { _, _, message, closure in
        guard let message, let closure else { return }
        let context = Unmanaged<SubscriptionContext>.fromOpaque(closure).takeUnretainedValue()
        let address = UInt(bitPattern: message)
        context.inbox.append(.message(token: context.token, session: context.session, address: address))
    }

    private static let onComplete: natsOnCompleteCB = { closure in
        guard let closure else { return }
        Unmanaged<SubscriptionContext>.fromOpaque(closure).release()
    }
}
