import FanOut
import Fleet
import PusherProtocol

/// One step of a run of a delivery world.
///
/// Connections are named by their index in the list of all connections of the run, clients by theirs in the scenario.
/// A client, a loop and the store's threads do one thing at a time, and any other may act in between.
enum ReplayStep {
    /// How a connection answers pings.
    enum Answers: CaseIterable { case atOnce, late, never, wrongly }

    /// The client connects and, if it is quick, subscribes to all its channels.
    case connect(client: Int, loop: Int, Answers, isQuick: Bool)
    case subscribe(connection: Int, ChannelName)
    case unsubscribe(connection: Int, ChannelName)
    /// The client reads so many bytes, and answers the pings in them.
    case read(connection: Int, bytes: Int)
    /// The gateway handles so many of the client's messages.
    case answer(connection: Int, messages: Int)
    /// A client that answers late sends one of the pongs that it owes.
    case sendLatePong(connection: Int, index: Int)
    /// The client loses the connection: it reads nothing more, and what it has sent may be lost, too.
    case cut(connection: Int, keepsMessages: Bool)
    /// The gateway notices that the connection is lost.
    case notice(connection: Int)
    case announce(Announcement.Audience, lifetime: String)
    case acknowledge(driver: String, channel: String, sequence: Int, TelemetryEvent.Kind)
    case markRead(driver: String)
    /// The store executes so many requests of each priority in one transaction.
    case write(most: Int)
    /// The store's writer passes on so many results of its last transaction.
    case publish(most: Int)
    /// The store's reader reads the pages for so many requests.
    case readPages(most: Int)
    /// It passes on so many pages.
    case deliverPages(most: Int)
    case drain(loop: Int)
    /// A loop ends its turn: it writes what is queued, and posts the receipts.
    case turn(loop: Int, writesMax: Int)
    case tick(loop: Int)
    /// The store and all loops do all that they have to do.
    case round
    case wait(milliseconds: Int64)
    /// The process is killed, and another is started.
    case kill
    /// The process drains and ends, and another is started.
    case stop
    /// The store's disk becomes full, or has space again.
    case fill(Bool)
    /// All clients connect anew and answer at once, until everything is done.
    case settle
}

extension ReplayStep: CustomStringConvertible {
    var description: String {
        switch self {
        case .connect(let client, let loop, let answers, _): "client \(client) connects to loop \(loop), answers \(answers)"
        case .subscribe(let connection, let name): "connection \(connection) subscribes to \(name.text)"
        case .unsubscribe(let connection, let name): "connection \(connection) unsubscribes from \(name.text)"
        case .read(let connection, let bytes): "connection \(connection) reads \(bytes) bytes"
        case .answer(let connection, let messages): "\(messages) messages of connection \(connection) are handled"
        case .sendLatePong(let connection, let index): "connection \(connection) sends late pong \(index)"
        case .cut(let connection, _): "connection \(connection) is cut"
        case .notice(let connection): "the cut of connection \(connection) is noticed"
        case .announce(let audience, let lifetime): "announce(\(audience), \(lifetime))"
        case .acknowledge(let driver, let channel, let sequence, let kind):
            "driver \(driver) reports \(kind) of \(channel) \(sequence)"
        case .markRead(let driver): "driver \(driver) marks all as read"
        case .write(let most): "write(\(most))"
        case .publish(let most): "publish(\(most))"
        case .readPages(let most): "readPages(\(most))"
        case .deliverPages(let most): "deliverPages(\(most))"
        case .drain(let loop): "drain(\(loop))"
        case .turn(let loop, _): "turn(\(loop))"
        case .tick(let loop): "tick(\(loop))"
        case .round: "round"
        case .wait(let milliseconds): "wait(\(milliseconds))"
        case .kill: "kill"
        case .stop: "stop"
        case .fill(let isFull): isFull ? "the disk is full" : "the disk has space"
        case .settle: "settle"
        }
    }
}
