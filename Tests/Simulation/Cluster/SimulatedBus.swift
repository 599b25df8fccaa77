import TestSupport

/// What a node asks its connection to do, as ``ClusterLink`` puts it out.
enum BusCommand {
    case subscribe(subject: String, token: UInt64)
    case unsubscribe(token: UInt64)
    case publish(subject: String, [UInt8])
}

/// What the connection reports to its node.
enum BusEvent {
    case up
    case down
    case granted([UInt64])
    case message(token: UInt64, [UInt8])
}

/// A bus with one server. It keeps the order of each node's commands, and of each sender's messages at each receiver;
/// everything else overtakes. Nothing that was under way survives the loss of a connection.
struct SimulatedBus {
    /// What is under way.
    enum Transit {
        /// To the server.
        case command(BusCommand, from: Int, session: Int)
        /// To a node.
        case event(BusEvent, to: Int, session: Int)
    }

    private struct Connection {
        /// Increases with each connection; what belongs to an earlier one is void.
        var session = 0
        var isConnected = false
        /// The subjects, by token, as the node wants them. The connection subscribes again after each reconnect.
        var wanted: [UInt64: String] = [:]
        /// Those that the server has.
        var taken: [UInt64: String] = [:]
        /// When the last command arrives at the server, and the last message of each sender at the node.
        var arrival: Int64 = 0
        var arrivals: [Int: Int64] = [:]
        /// The connections of processes that have ended: what they have written arrives.
        var ended: Set<Int> = []
        /// What a planted defect keeps during an outage.
        var late: [BusCommand] = []
    }

    private let scenario: ClusterScenario
    private let keepsLate: Bool
    private var connections: [Connection]
    private(set) var dropped = 0

    init(_ scenario: ClusterScenario, keepsLate: Bool) {
        self.scenario = scenario
        self.keepsLate = keepsLate
        connections = Array(repeating: Connection(), count: ClusterScenario.nodeCount)
    }

    func isConnected(_ node: Int) -> Bool { connections[node].isConnected }

    /// The subject that a node's token names.
    func subject(_ token: UInt64, of node: Int) -> String? { connections[node].wanted[token] }

    // MARK: Connections

    /// Connects a node, and subscribes to all that it wants.
    mutating func connect(_ node: Int, at now: Int64, using dice: inout SplitMix, _ send: (Transit, Int64) -> Void) {
        connections[node].isConnected = true
        if !keepsLate { connections[node].session += 1 }
        connections[node].taken = [:]
        let wanted = connections[node].wanted.sorted { $0.key < $1.key }
        for (token, subject) in wanted {
            pass(.subscribe(subject: subject, token: token), of: node, at: now, using: &dice, send)
        }
        for command in connections[node].late { pass(command, of: node, at: now, using: &dice, send) }
        connections[node].late = []
    }

    /// Cuts a node off. It learns that later.
    mutating func cut(_ node: Int) {
        connections[node].isConnected = false
        if !keepsLate { connections[node].session += 1 }
        connections[node].taken = [:]
    }

    /// A node's process has ended.
    mutating func end(_ node: Int) {
        var connection = Connection()
        connection.session = connections[node].session + 1
        connection.ended = connections[node].ended
        // Unless it was cut off.
        if connections[node].isConnected { connection.ended.insert(connections[node].session) }
        connections[node] = connection
    }

    // MARK: Commands

    /// A node sends a command.
    mutating func post(
        _ command: BusCommand, of node: Int, at now: Int64, using dice: inout SplitMix, _ send: (Transit, Int64) -> Void
    ) {
        switch command {
        case .subscribe(let subject, let token): connections[node].wanted[token] = subject
        case .unsubscribe(let token): connections[node].wanted[token] = nil
        case .publish: break
        }
        pass(command, of: node, at: now, using: &dice, send)
    }

    private mutating func pass(
        _ command: BusCommand, of node: Int, at now: Int64, using dice: inout SplitMix, _ send: (Transit, Int64) -> Void
    ) {
        guard connections[node].isConnected else {
            if keepsLate, case .publish = command { connections[node].late.append(command) }
            return
        }
        let arrival = max(connections[node].arrival, now + scenario.delay(using: &dice))
        connections[node].arrival = arrival
        send(.command(command, from: node, session: connections[node].session), arrival)
    }

    /// A command arrives at the server.
    /// - Parameter drops: whether this message to this node is to be lost.
    mutating func take(
        _ command: BusCommand, from node: Int, session: Int, at now: Int64, using dice: inout SplitMix,
        drops: (_ payload: [UInt8], _ receiver: Int) -> Bool, _ send: (Transit, Int64) -> Void
    ) {
        let hasEnded = connections[node].ended.contains(session)
        guard session == connections[node].session || hasEnded else { return }
        switch command {
        case .subscribe where hasEnded, .unsubscribe where hasEnded: break
        case .subscribe(let subject, let token):
            connections[node].taken[token] = subject
            let granted = now + scenario.delay(using: &dice) + scenario.grantDelay(using: &dice)
            send(.event(.granted([token]), to: node, session: session), granted)
        case .unsubscribe(let token): connections[node].taken[token] = nil
        case .publish(let subject, let payload):
            for receiver in connections.indices where receiver != node {
                for token in connections[receiver].taken.filter({ $0.value == subject }).keys.sorted() {
                    guard !drops(payload, receiver) else {
                        dropped += 1
                        continue
                    }
                    let arrival = max(connections[receiver].arrivals[node] ?? 0, now + scenario.delay(using: &dice))
                    connections[receiver].arrivals[node] = arrival
                    let event = BusEvent.message(token: token, payload)
                    send(.event(event, to: receiver, session: connections[receiver].session), arrival)
                }
            }
        }
    }

    /// Whether an event that has arrived at a node is to be reported.
    func reports(_ event: BusEvent, to node: Int, session: Int) -> Bool {
        guard session == connections[node].session else { return false }
        switch event {
        case .message(let token, _): return connections[node].wanted[token] != nil
        case .granted(let tokens): return tokens.allSatisfy { connections[node].wanted[$0] != nil }
        case .up, .down: return true
        }
    }

    /// The current session of a node.
    func session(of node: Int) -> Int { connections[node].session }
}
