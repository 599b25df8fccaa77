import FanOut
import HubFixture
import PusherProtocol
import Testing

/// The writes that a loop's instructions cause. Each row is a turn: the instructions that the event loop applies in one
/// pass, at whose end it flushes.
@Suite struct LoopFanOutTests {
    /// A turn and its writes.
    struct Turn: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let instructions: [Instruction]
        let flushed: [Write]

        init(_ name: String, _ instructions: [Instruction], flushed: [Write]) {
            testDescription = name
            self.instructions = instructions
            self.flushed = flushed
        }
    }

    @Test(arguments: events + subscribers + order + exclusion)
    func turn(_ turn: Turn) {
        var loop = LoopFanOut(x, y, z)
        loop.apply(turn.instructions)
        #expect(loop.flush() == turn.flushed)
        #expect(!loop.isPending)
        #expect(loop.flush() == [])
    }

    static let events = [
        Turn(
            "a channel's events go to its subscribers and no other connections",
            [.join(a, x), .join(a, y), .join(b, z), .fanOut(a1, a, except: nil)],
            flushed: [Write(x, a1), Write(y, a1)]),
        Turn(
            "events of one turn are sent in one write",
            [.join(a, x), .fanOut(a1, a, except: nil), .fanOut(a2, a, except: nil)],
            flushed: [Write(x, a1, a2)]),
        Turn("a direct message goes to one connection only", [.send(s1, to: y)], flushed: [Write(y, s1)]),
        Turn(
            "direct messages and events are sent in one write, in order",
            [.join(a, x), .fanOut(a1, a, except: nil), .send(s1, to: x), .fanOut(a2, a, except: nil)],
            flushed: [Write(x, a1, s1, a2)]),
        Turn(
            "events without subscribers cause no writes",
            [.fanOut(a1, a, except: nil), .join(b, x), .leave(b, x), .fanOut(b1, b, except: nil)],
            flushed: []),
    ]

    static let subscribers = [
        Turn(
            "a new subscriber gets no earlier event",
            [.join(a, x), .fanOut(a1, a, except: nil), .join(a, y), .fanOut(a2, a, except: nil)],
            flushed: [Write(x, a1, a2), Write(y, a2)]),
        Turn(
            "a leaving subscriber gets the events before its leave",
            [.join(a, x), .join(a, y), .fanOut(a1, a, except: nil), .leave(a, x), .fanOut(a2, a, except: nil)],
            flushed: [Write(x, a1), Write(y, a1, a2)]),
        Turn(
            "joins and leaves of other channels change nothing",
            [.join(a, x), .fanOut(a1, a, except: nil), .join(b, y), .leave(b, y)],
            flushed: [Write(x, a1)]),
        Turn(
            "a join does not change the order across channels",
            [.join(a, x), .join(b, x), .fanOut(b1, b, except: nil), .fanOut(a1, a, except: nil), .join(a, y)],
            flushed: [Write(x, b1, a1)]),
        Turn(
            "a connection that leaves and joins gets the events before and after",
            [.join(a, x), .fanOut(a1, a, except: nil), .leave(a, x), .join(a, x), .fanOut(a2, a, except: nil)],
            flushed: [Write(x, a1, a2)]),
        Turn(
            "a slot's next channel gets no events of the previous one",
            [.join(a, x), .fanOut(a1, a, except: nil), .leave(a, x), .join(a, y), .fanOut(b1, a, except: nil)],
            flushed: [Write(x, a1), Write(y, b1)]),
    ]

    static let order = [
        Turn(
            "events A1 B1 A2: a subscriber of both channels gets them in this order, one of A gets A1 A2, one of B gets B1",
            [
                .join(a, x), .join(b, x), .join(a, y), .join(b, z),
                .fanOut(a1, a, except: nil), .fanOut(b1, b, except: nil), .fanOut(a2, a, except: nil),
            ],
            flushed: [Write(x, a1, b1, a2), Write(y, a1, a2), Write(z, b1)]),
        Turn(
            "joining a second channel within a turn preserves the order",
            [
                .join(a, x), .fanOut(a1, a, except: nil), .join(b, x), .send(s1, to: x), .fanOut(b1, b, except: nil),
                .fanOut(a2, a, except: nil),
            ],
            flushed: [Write(x, a1, s1, b1, a2)]),
        Turn(
            "leaving a second channel within a turn preserves the order",
            [
                .join(a, x), .join(b, x), .send(s1, to: x), .fanOut(a1, a, except: nil), .leave(b, x),
                .fanOut(a2, a, except: nil),
            ],
            flushed: [Write(x, s1, a1, a2)]),
        Turn(
            "if only one channel has events, all its subscribers get the same frames, whatever else they subscribe to",
            [.join(a, x), .join(b, x), .join(a, y), .fanOut(a1, a, except: nil), .fanOut(a2, a, except: nil)],
            flushed: [Write(x, a1, a2), Write(y, a1, a2)]),
    ]

    static let exclusion = [
        Turn(
            "an excluded connection gets all other events, the other connections get every event",
            [.join(a, x), .join(a, y), .fanOut(a1, a, except: x), .fanOut(a2, a, except: nil)],
            flushed: [Write(x, a2), Write(y, a1, a2)]),
        Turn(
            "an excluded connection gets all other events in order across channels",
            [
                .join(a, x), .join(b, x), .fanOut(a1, a, except: x), .fanOut(b1, b, except: nil),
                .fanOut(a2, a, except: y),
            ],
            flushed: [Write(x, b1, a2)]),
        Turn(
            "a client's event goes to all subscribers but its sender, encoded as the channel's",
            [
                .join(a, x), .join(a, y),
                .relay(
                    ClientEvent(name: "client-e", channel: "elsewhere", data: [0x31]), room, a, from: x, userID: "7",
                    hiding: []),
                .fanOut(a2, a, except: nil),
            ],
            flushed: [
                Write(x, a2),
                Write(y, Frame(text: Array(#"{"event":"client-e","channel":"presence-a","data":1,"user_id":"7"}"#.utf8)), a2),
            ]),
        Turn(
            "two connections are excluded from one event each",
            [.join(a, x), .join(a, y), .join(a, z), .fanOut(a1, a, except: x), .fanOut(a2, a, except: y)],
            flushed: [Write(x, a2), Write(y, a1), Write(z, a1, a2)]),
        Turn(
            "an event that excludes the only subscriber causes no write",
            [.join(a, x), .fanOut(a1, a, except: x)], flushed: []),
        Turn(
            "excluding a connection without a subscription has no effect",
            [.join(a, x), .join(a, y), .fanOut(a1, a, except: z)], flushed: [Write(x, a1), Write(y, a1)]),
        Turn(
            "excluding a slot's former connection does not exclude its current one",
            [.join(a, x), .fanOut(a1, a, except: SocketID("999.0"))], flushed: [Write(x, a1)]),
    ]

    // MARK: Sharing

    @Test func connectionsWithOneSubscriptionShareBytes() {
        var loop = LoopFanOut(x, y)
        loop.apply([.join(a, x), .join(a, y), .fanOut(a1, a, except: nil), .fanOut(a2, a, except: nil)])
        let writes = loop.flush()
        #expect(writes == [Write(x, a1, a2), Write(y, a1, a2)])
        #expect(writes[0].address == writes[1].address)
    }

    @Test func connectionsWithTheSameSubscriptionsShareBytes() {
        var loop = LoopFanOut(x, y)
        let joins: [Instruction] = [.join(a, x), .join(b, x), .join(a, y), .join(b, y)]
        loop.apply(joins + [.fanOut(a1, a, except: nil), .fanOut(b1, b, except: nil)])
        let writes = loop.flush()
        #expect(writes == [Write(x, a1, b1), Write(y, a1, b1)])
        #expect(writes[0].address == writes[1].address)
    }

    @Test func singleFrameIsNotCopied() {
        var loop = LoopFanOut(x, y)
        loop.apply([.join(a, x), .fanOut(a1, a, except: nil), .send(s1, to: y)])
        #expect(loop.flush().map(\.address) == [Write(y, s1).address, Write(x, a1).address])
    }

    // MARK: Turns and slots

    @Test func isPendingFromFirstFrameToFlush() {
        var loop = LoopFanOut(x)
        #expect(!loop.isPending)
        loop.apply([.join(a, x)])
        #expect(!loop.isPending)
        loop.apply([.fanOut(a1, a, except: nil)])
        #expect(loop.isPending)
        _ = loop.flush()
        #expect(!loop.isPending)
    }

    @Test func reusedSlotStartsEmpty() {
        var loop = LoopFanOut(x, y)
        let successor = socket(salt: 4, slot: x.slot)
        loop.apply([.join(a, x), .join(b, x), .join(a, y), .fanOut(a1, a, except: nil), .leave(a, x), .leave(b, x)])
        loop.apply([.send(s1, to: x), .fanOut(a2, a, except: nil)])
        loop.close(x)
        loop.open(successor)
        loop.apply([.join(b, successor), .send(s1, to: successor), .fanOut(b1, b, except: x)])
        #expect(loop.flush() == [Write(successor, s1, b1), Write(y, a1, a2)])
    }

    @Test func slotsOpenInAnyOrder() {
        var loop = LoopFanOut(z, x)
        loop.apply([.join(7, z), .join(7, x), .fanOut(a1, 7, except: nil)])
        #expect(loop.flush() == [Write(z, a1), Write(x, a1)])
    }

    // MARK: Programming errors

    @Test func closingWithSubscriptionsTraps() async {
        await #expect(processExitsWith: .failure) {
            var loop = LoopFanOut(x)
            loop.apply([.join(a, x)])
            loop.close(x)
        }
    }

    @Test func leaveWithoutJoinTraps() async {
        await #expect(processExitsWith: .failure) {
            var loop = LoopFanOut(x, y)
            loop.apply([.join(a, x), .leave(a, y)])
        }
    }
}

// MARK: Fixtures

/// The slots of two channels, A and B.
private let a = 0
private let b = 1
private let x = socket(salt: 1, slot: 0)
private let y = socket(salt: 2, slot: 1)
private let z = socket(salt: 3, slot: 2)
private let a1 = Frame(text: Array("A1".utf8))
private let a2 = Frame(text: Array("A2".utf8))
private let b1 = Frame(text: Array("B1".utf8))
private let room = ChannelName("presence-a", lengthMax: 200) ?? .watchers
private let s1 = Frame(text: Array("S1".utf8))

private func socket(salt: Int, slot: Int) -> SocketID {
    guard let socket = SocketID("\(salt).\(slot)") else { preconditionFailure("invalid socket_id") }
    return socket
}

extension LoopFanOutTests {
    /// One write to one connection.
    struct Write: Equatable, Sendable, CustomTestStringConvertible {
        let socket: SocketID
        let frame: Frame

        /// A write of several concatenated frames.
        init(_ socket: SocketID, _ frames: Frame...) {
            self.socket = socket
            frame = frames.count == 1 ? frames[0] : Frame(joining: frames)
        }

        /// The address of the frame's bytes.
        var address: UnsafeRawPointer? { frame.bytes.withUnsafeBytes { $0.baseAddress } }

        var testDescription: String { "\(socket): \(String(decoding: frame.bytes, as: UTF8.self))" }
    }
}

extension LoopFanOut {
    fileprivate typealias Write = LoopFanOutTests.Write

    /// A loop with these open connections.
    init(_ sockets: SocketID...) {
        self.init()
        for socket in sockets { open(socket) }
    }

    mutating func apply(_ instructions: [Instruction]) {
        for instruction in instructions { apply(instruction) }
    }

    fileprivate mutating func flush() -> [Write] {
        var writes: [Write] = []
        let isUnfinished = flush(writesMax: 1_000) { writes.append(Write($0, $1)) }
        #expect(!isUnfinished)
        return writes
    }
}
