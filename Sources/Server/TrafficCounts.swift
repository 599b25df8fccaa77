import PusherProtocol

/// What a loop counts while it works: plain numbers, taken over once per turn by whoever publishes them.
package struct TrafficCounts {
    package var messagesReceived = 0
    package var messagesSent = 0
    package var bytesReceived = 0
    package var bytesSent = 0
    package var requests = 0
    package var requestBytes = 0
    package var responseBytes = 0
    /// The change of what waits in outboxes.
    package var outboxBytes = 0
    package var slowConsumers = 0
    /// How often accepting paused for want of descriptors.
    package var acceptPauses = 0
    package var closes: [CloseCode: Int] = [:]

    package init() {}
}
