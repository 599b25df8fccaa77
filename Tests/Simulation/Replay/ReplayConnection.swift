import Fleet
import PusherProtocol

/// A WebSocket, byte by byte: what the loop has written to it, what the client has read of that, and what the client has
/// sent.
final class ReplayConnection {
    /// What a client sends.
    enum Message {
        case subscribe(ChannelName)
        case unsubscribe(ChannelName)
        case pong([UInt8])
    }

    /// A subscription as the gateway has opened it.
    struct Start {
        /// The replay begins behind this sequence number.
        let after: Int64
        /// What pongs of the device had confirmed before the gateway handled the subscription.
        let confirmed: Int64
    }

    /// The index in the list of all connections.
    let index: Int
    let socket: SocketID
    /// The index of the client in the scenario.
    let client: Int
    let answers: ReplayStep.Answers
    private(set) var written: [UInt8] = []
    /// The bytes that the client has read.
    private(set) var readTo = 0
    /// The end of the last frame that it has read.
    private var parsedTo = 0
    /// What the gateway has not handled yet, oldest first.
    var messages: [Message] = []
    /// Pongs that the client has not sent yet.
    var latePongs: [[UInt8]] = []
    /// Whether the client has lost the connection.
    private(set) var isCut = false
    /// Whether the gateway has closed it.
    var isClosed = false

    /// The names to which the client wants to be subscribed.
    var wanted: Set<ChannelName> = []
    /// The names to which the gateway has subscribed the connection.
    var joined: Set<ChannelName> = []
    /// What the gateway has opened, by name, and the client has not read yet.
    var starts: [ChannelName: [Start]] = [:]
    /// The subscriptions that the client has read.
    var current: [ChannelName: Start] = [:]
    /// The last sequence number that the client has read, by name.
    var last: [ChannelName: Int64] = [:]
    /// The notifications of the gaps that the gateway has announced, by name; the client has not read them yet.
    var gaps: [ChannelName: [[Int64]]] = [:]

    /// The number of gaps that the gateway has queued.
    var gapsQueued = 0
    /// What the gaps count that the client has read, by name.
    var announced: [ChannelName: Set<Int64>] = [:]

    init(index: Int, socket: SocketID, client: Int, answers: ReplayStep.Answers) {
        self.index = index
        self.socket = socket
        self.client = client
        self.answers = answers
    }

    /// Whether client and gateway have the connection.
    var isOpen: Bool { !isCut && !isClosed }
    var unread: Int { written.count - readTo }

    func write(_ bytes: [UInt8]) { written += bytes }

    /// The client loses the connection.
    func cut(keepsMessages: Bool) {
        isCut = true
        if !keepsMessages { messages = [] }
    }

    /// A frame as the client reads it.
    enum Received {
        /// A text message, with its header.
        case text([UInt8])
        case ping([UInt8])
    }

    /// The client reads so many bytes.
    /// - Returns: the frames that it has now read completely.
    func read(_ count: Int) -> [Received] {
        readTo = min(readTo + count, written.count)
        var received: [Received] = []
        while let (header, end) = nextFrame, end <= readTo {
            let isPing = written[parsedTo] == 0x89
            received.append(isPing ? .ping(Array(written[header..<end])) : .text(Array(written[parsedTo..<end])))
            parsedTo = end
        }
        return received
    }

    /// Where the payload of the next frame begins and ends; nil if its header is not read.
    private var nextFrame: (header: Int, end: Int)? {
        guard parsedTo + 2 <= readTo else { return nil }
        let short = Int(written[parsedTo + 1])
        guard short >= 126 else { return (parsedTo + 2, parsedTo + 2 + short) }
        let size = short == 126 ? 2 : 8
        guard parsedTo + 2 + size <= readTo else { return nil }
        let header = parsedTo + 2 + size
        return (header, header + written[(parsedTo + 2)..<header].reduce(0) { $0 << 8 | Int($1) })
    }
}
