import FanOut
import PusherProtocol

/// The statistics of a run without violations.
package struct Summary: Equatable, Sendable, CustomStringConvertible {
    /// The run's seed.
    package let seed: UInt64
    /// Steps performed, without the final settling.
    package let steps: Int
    /// Loops of this seed's world.
    package let loopCount: Int
    /// Connections opened.
    package internal(set) var connections = 0
    /// Publishes rejected because a required mailbox was above its high-water mark.
    package internal(set) var rejectedPublishes = 0
    /// Connections rejected because their application was at its limit.
    package internal(set) var rejectedConnections = 0
    /// Connections closed because their user was terminated.
    package internal(set) var terminated = 0
    /// Subscriptions that the server ended, because a job was lost or an identity was displaced.
    package internal(set) var revocations = 0
    /// The number of subscriptions, also refused ones, of owners of durable channels.
    package internal(set) var ownerships = 0
    /// The number of subscriptions that waited for a sign-in.
    package internal(set) var keptNames = 0
    /// Webhook events recorded.
    package internal(set) var webhookEvents = 0
    /// Instructions that passed through the mailboxes.
    package internal(set) var instructions = 0
    /// Writes to open connections.
    package internal(set) var writes = 0
    /// Frames in those writes.
    package internal(set) var frames = 0
    /// A digest of all instructions and writes in order. Runs of the same seed and steps have the same digest.
    package var digest: UInt64 { trace.value }

    var trace = RunDigest()

    /// One line for the terminal.
    package var description: String {
        let hexadecimal = String(digest, radix: 16)
        return "seed \(seed): \(steps) steps, \(loopCount) loops, \(connections) connections, \(instructions) instructions, "
            + "\(frames) frames in \(writes) writes, \(rejectedPublishes) rejected publishes, "
            + "\(rejectedConnections) rejected connections, \(terminated) terminated, \(revocations) revocations, "
            + "digest \(hexadecimal)"
    }
}

/// FNV-1a over words instead of bytes: fast and the same in every process, but not for untrusted data.
struct RunDigest: Equatable, Sendable {
    private(set) var value: UInt64 = 0xCBF2_9CE4_8422_2325

    mutating func add(_ word: UInt64) { value = (value ^ word) &* 0x100_0000_01B3 }

    mutating func add(_ text: String) {
        for byte in text.utf8 { add(UInt64(byte)) }
    }

    mutating func add(_ socket: SocketID) { add(UInt64(socket.salt) << 32 | UInt64(socket.place)) }

    mutating func add(_ frame: Frame) {
        add(UInt64(frame.bytes.count))
        frame.bytes.withUnsafeBytes { bytes in
            var offset = 0
            while offset + 8 <= bytes.count {
                add(bytes.loadUnaligned(fromByteOffset: offset, as: UInt64.self))
                offset += 8
            }
            while offset < bytes.count {
                add(UInt64(bytes[offset]))
                offset += 1
            }
        }
    }

    mutating func add(_ instruction: Instruction, for loop: Int) {
        add(UInt64(loop))
        switch instruction {
        case .join(let channel, let socket):
            add(1)
            add(UInt64(channel))
            add(socket)
        case .leave(let channel, let socket):
            add(2)
            add(UInt64(channel))
            add(socket)
        case .notify(let frame, let channel, let sequence):
            add(10)
            add(frame)
            add(UInt64(channel))
            add(UInt64(sequence))
        case .fanOut(let frame, let channel, let sender):
            add(3)
            add(UInt64(channel))
            if let sender { add(sender) }
            add(frame)
        case .fanOutHiding(let names, let frame, let name, let channel, let sender):
            add(11)
            add(UInt64(channel))
            if let sender { add(sender) }
            add(ServerMessage.event(frame, on: name, hiding: names))
        case .relay(let event, let name, let channel, let sender, let userID, let hidden):
            add(9)
            add(UInt64(channel))
            add(sender)
            for name in hidden { add(name) }
            add(ServerMessage.clientEvent(event, channel: name, userID: userID))
        case .send(let frame, let socket):
            add(4)
            add(socket)
            add(frame)
        case .sendPresence(let list, let socket):
            add(5)
            add(list.channel.text)
            for member in list.members { add(member.id) }
            add(socket)
        case .sendSigninSuccess(let user, let socket):
            add(7)
            add(user.id)
            add(socket)
        case .sendWatchlist(let online, let offline, let socket):
            add(8)
            for id in online + ["|"] + offline { add(id) }
            add(socket)
        case .openKeptNames(let socket):
            add(9)
            add(socket)
        case .close(let socket, let code):
            add(6)
            add(UInt64(code.rawValue))
            add(socket)
        }
    }
}
