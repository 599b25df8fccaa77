import FanOut
import PusherProtocol
import Testing

/// One loop's turn as a table: instructions in, writes out.
@Suite struct LoopFanOutTests {
    /// A turn and its writes: those forced by a change of a channel's subscribers, and those at its end.
    struct Turn: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let instructions: [Instruction]
        let forced: [Write]
        let atItsEnd: [Write]

        init(_ name: String, _ instructions: [Instruction], forced: [Write] = [], atItsEnd: [Write]) {
            testDescription = name
            self.instructions = instructions
            self.forced = forced
            self.atItsEnd = atItsEnd
        }
    }

    @Test(arguments: events + subscribers + order + exclusion)
    func turn(_ turn: Turn) {
        var loop = LoopFanOut(x, y, z)
        #expect(loop.apply(turn.instructions) == turn.forced)
        #expect(loop.flush() == turn.atItsEnd)
        #expect(!loop.isPending)
        #expect(loop.flush() == [])
    }

    static let events = [
        Turn(
            "a channel's events reach its subscribers and no others",
            [.join(a, x), .join(a, y), .join(b, z), .fanOut(a1, a, except: nil)],
            atItsEnd: [Write(x, a1), Write(y, a1)]),
        Turn(
            "a turn's events leave in one write",
            [.join(a, x), .fanOut(a1, a, except: nil), .fanOut(a2, a, except: nil)],
            atItsEnd: [Write(x, a1, a2)]),
        Turn("a message for one reaches that one", [.send(s1, to: y)], atItsEnd: [Write(y, s1)]),
        Turn(
            "messages for one and events share a write",
            [.join(a, x), .fanOut(a1, a, except: nil), .send(s1, to: x), .fanOut(a2, a, except: nil)],
            atItsEnd: [Write(x, a1, s1, a2)]),
        Turn(
            "events without a subscriber cause nothing",
            [.fanOut(a1, a, except: nil), .join(b, x), .leave(b, x), .fanOut(b1, b, except: nil)],
            atItsEnd: []),
    ]

    static let subscribers = [
        Turn(
            "a new subscriber gets no older event",
            [.join(a, x), .fanOut(a1, a, except: nil), .join(a, y), .fanOut(a2, a, except: nil)],
            forced: [Write(x, a1)], atItsEnd: [Write(x, a2), Write(y, a2)]),
        Turn(
            "one who leaves gets what came before",
            [.join(a, x), .join(a, y), .fanOut(a1, a, except: nil), .leave(a, x), .fanOut(a2, a, except: nil)],
            forced: [Write(x, a1), Write(y, a1)], atItsEnd: [Write(y, a2)]),
        Turn(
            "coming and going elsewhere forces nothing",
            [.join(a, x), .fanOut(a1, a, except: nil), .join(b, y), .leave(b, y)],
            atItsEnd: [Write(x, a1)]),
        Turn(
            "what is forced out is all of the turn: another channel's event may be older",
            [.join(a, x), .join(b, x), .fanOut(b1, b, except: nil), .fanOut(a1, a, except: nil), .join(a, y)],
            forced: [Write(x, b1, a1)], atItsEnd: []),
        Turn(
            "a returning subscriber is a new one",
            [.join(a, x), .fanOut(a1, a, except: nil), .leave(a, x), .join(a, x), .fanOut(a2, a, except: nil)],
            forced: [Write(x, a1)], atItsEnd: [Write(x, a2)]),
        Turn(
            "the next channel in a slot gets nothing of the last",
            [.join(a, x), .fanOut(a1, a, except: nil), .leave(a, x), .join(a, y), .fanOut(b1, a, except: nil)],
            forced: [Write(x, a1)], atItsEnd: [Write(y, b1)]),
    ]

    static let order = [
        Turn(
            "A1 B1 A2: who subscribes to both gets them so, the others share",
            [
                .join(a, x), .join(b, x), .join(a, y), .join(b, z),
                .fanOut(a1, a, except: nil), .fanOut(b1, b, except: nil), .fanOut(a2, a, except: nil),
            ],
            atItsEnd: [Write(y, a1, a2), Write(z, b1), Write(x, a1, b1, a2)]),
        Turn(
            "a second subscription in the middle of a turn keeps the order",
            [
                .join(a, x), .fanOut(a1, a, except: nil), .join(b, x), .send(s1, to: x), .fanOut(b1, b, except: nil),
                .fanOut(a2, a, except: nil),
            ],
            atItsEnd: [Write(x, a1, s1, b1, a2)]),
        Turn(
            "leaving the second in the middle of a turn keeps the order",
            [
                .join(a, x), .join(b, x), .send(s1, to: x), .fanOut(a1, a, except: nil), .leave(b, x),
                .fanOut(a2, a, except: nil),
            ],
            atItsEnd: [Write(x, s1, a1, a2)]),
        Turn(
            "with a single channel in a turn all share, however many subscriptions they have",
            [.join(a, x), .join(b, x), .join(a, y), .fanOut(a1, a, except: nil), .fanOut(a2, a, except: nil)],
            atItsEnd: [Write(x, a1, a2), Write(y, a1, a2)]),
    ]

    static let exclusion = [
        Turn(
            "the excluded gets everything else, those who share get all",
            [.join(a, x), .join(a, y), .fanOut(a1, a, except: x), .fanOut(a2, a, except: nil)],
            atItsEnd: [Write(y, a1, a2), Write(x, a2)]),
        Turn(
            "the excluded gets everything else, in order across channels",
            [
                .join(a, x), .join(b, x), .fanOut(a1, a, except: x), .fanOut(b1, b, except: nil),
                .fanOut(a2, a, except: y),
            ],
            atItsEnd: [Write(x, b1, a2)]),
        Turn(
            "two excluded from one event each",
            [.join(a, x), .join(a, y), .join(a, z), .fanOut(a1, a, except: x), .fanOut(a2, a, except: y)],
            atItsEnd: [Write(z, a1, a2), Write(x, a2), Write(y, a1)]),
        Turn(
            "the only subscriber, excluded, is not written to",
            [.join(a, x), .fanOut(a1, a, except: x)], atItsEnd: []),
        Turn(
            "a stranger's exclusion changes nothing",
            [.join(a, x), .join(a, y), .fanOut(a1, a, except: z)], atItsEnd: [Write(x, a1), Write(y, a1)]),
        Turn(
            "excluding a slot's former connection does not exclude the next",
            [.join(a, x), .fanOut(a1, a, except: SocketID("999.0"))], atItsEnd: [Write(x, a1)]),
    ]

    // MARK: Sharing

    @Test func connectionsWithOneSubscriptionShareBytes() {
        var loop = LoopFanOut(x, y)
        let writes =
            loop.apply([.join(a, x), .join(a, y), .fanOut(a1, a, except: nil), .fanOut(a2, a, except: nil)]) + loop.flush()
        #expect(writes == [Write(x, a1, a2), Write(y, a1, a2)])
        #expect(writes[0].address == writes[1].address)
    }

    @Test func connectionsWithEqualGatheredFramesShareBytes() {
        var loop = LoopFanOut(x, y)
        let joins: [Instruction] = [.join(a, x), .join(b, x), .join(a, y), .join(b, y)]
        let writes = loop.apply(joins + [.fanOut(a1, a, except: nil), .fanOut(b1, b, except: nil)]) + loop.flush()
        #expect(writes == [Write(x, a1, b1), Write(y, a1, b1)])
        #expect(writes[0].address == writes[1].address)
    }

    @Test func singleFrameIsNotCopied() {
        var loop = LoopFanOut(x, y)
        let writes = loop.apply([.join(a, x), .fanOut(a1, a, except: nil), .send(s1, to: y)]) + loop.flush()
        #expect(writes.map(\.address) == [Write(x, a1).address, Write(y, s1).address])
    }

    // MARK: Turns and slots

    @Test func isPendingFromFirstFrameToFlush() {
        var loop = LoopFanOut(x)
        #expect(!loop.isPending)
        _ = loop.apply([.join(a, x)])
        #expect(!loop.isPending)
        _ = loop.apply([.fanOut(a1, a, except: nil)])
        #expect(loop.isPending)
        _ = loop.flush()
        #expect(!loop.isPending)
    }

    @Test func reusedSlotStartsEmpty() {
        var loop = LoopFanOut(x, y)
        let successor = socket(salt: 4, slot: x.slot)
        _ = loop.apply([.join(a, x), .join(b, x), .join(a, y), .fanOut(a1, a, except: nil), .leave(a, x), .leave(b, x)])
        _ = loop.apply([.send(s1, to: x), .fanOut(a2, a, except: nil)])
        loop.close(x)
        loop.open(successor)
        _ = loop.apply([.join(b, successor), .send(s1, to: successor), .fanOut(b1, b, except: x)])
        #expect(loop.flush() == [Write(y, a2), Write(successor, s1, b1)])
    }

    @Test func slotsOpenInAnyOrder() {
        var loop = LoopFanOut(z, x)
        #expect(loop.apply([.join(7, z), .join(7, x), .fanOut(a1, 7, except: nil)]) == [])
        #expect(loop.flush() == [Write(z, a1), Write(x, a1)])
    }

    // MARK: Programming errors

    @Test func closingWithSubscriptionsTraps() async {
        await #expect(processExitsWith: .failure) {
            var loop = LoopFanOut(x)
            _ = loop.apply([.join(a, x)])
            loop.close(x)
        }
    }

    @Test func leaveWithoutJoinTraps() async {
        await #expect(processExitsWith: .failure) {
            var loop = LoopFanOut(x, y)
            _ = loop.apply([.join(a, x), .leave(a, y)])
        }
    }
}

// MARK: Fixtures

private let a = 0
private let b = 1
private let x = socket(salt: 1, slot: 0)
private let y = socket(salt: 2, slot: 1)
private let z = socket(salt: 3, slot: 2)
private let a1 = Frame(text: Array("A1".utf8))
private let a2 = Frame(text: Array("A2".utf8))
private let b1 = Frame(text: Array("B1".utf8))
private let s1 = Frame(text: Array("S1".utf8))

private func socket(salt: Int, slot: Int) -> SocketID {
    guard let socket = SocketID("\(salt).\(slot)") else { preconditionFailure("not a socket_id") }
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

        /// The address of its bytes.
        var address: UnsafeRawPointer? { frame.bytes.withUnsafeBytes { $0.baseAddress } }

        var testDescription: String { "\(socket): \(String(decoding: frame.bytes, as: UTF8.self))" }
    }
}

extension LoopFanOut {
    fileprivate typealias Write = LoopFanOutTests.Write

    /// A loop with these open connections.
    fileprivate init(_ sockets: SocketID...) {
        self.init()
        for socket in sockets { open(socket) }
    }

    fileprivate mutating func apply(_ instructions: [Instruction]) -> [Write] {
        var writes: [Write] = []
        for instruction in instructions { apply(instruction) { writes.append(Write($0, $1)) } }
        return writes
    }

    fileprivate mutating func flush() -> [Write] {
        var writes: [Write] = []
        flush { writes.append(Write($0, $1)) }
        return writes
    }
}
