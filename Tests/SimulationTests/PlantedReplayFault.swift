import Fleet
import Simulation
import Testing

/// A fault of guaranteed delivery, and a part of the problem that the checkers must report.
struct PlantedReplayFault: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let problem: String
    let fault: @Sendable () -> ReplayFault

    /// - Parameter plant: changes the fault of a run, which begins as none.
    init(_ name: String, problem: String, _ plant: @escaping @Sendable (inout ReplayFault) -> Void) {
        testDescription = name
        self.problem = problem
        fault = {
            var fault = ReplayFault()
            plant(&fault)
            return fault
        }
    }

    static let all = ofConfirmations + ofReplays + ofLiveEvents

    // MARK: Confirmations

    private static let ofConfirmations = [
        PlantedReplayFault("a successful write confirms", problem: ", but not received it") { $0.writesConfirm = true },
        PlantedReplayFault("a ping precedes its notifications", problem: ", but not received it") {
            $0.write = { bytes in
                guard bytes.count > 18, bytes[bytes.count - 18] == 0x89 else { return bytes }
                return bytes.suffix(18) + bytes.dropLast(18)
            }
        },
        PlantedReplayFault("all pings have the same payload", problem: ", but not received it") {
            $0.random = { _ in 7 }
        },
        PlantedReplayFault("a pong confirms the notification after", problem: ", but not received it") {
            $0.receipts = { $0.map { changed($0, key: $0.key, upTo: $0.confirmedAt == nil ? $0.upTo : $0.upTo + 1) } }
        },
        PlantedReplayFault("one device's pong confirms for another", problem: " has not received ") {
            $0.receipts = { receipts in
                receipts.map { receipt in
                    let key = receipt.key
                    let other = ReceiptKey(channel: key.channel, owner: key.owner, device: key.device == "a" ? "b" : "a")
                    return changed(receipt, after: receipt.upTo, key: other, upTo: receipt.upTo)
                }
            }
        },
        PlantedReplayFault("a drain loses the last pongs", problem: " the store has only ") { $0.postsAtEnd = false },
        PlantedReplayFault("what a full disk refuses is forgotten", problem: ", which the device had confirmed") {
            $0.keepsRefused = false
        },
    ]

    private static func changed(_ receipt: Receipt, after: Int64? = nil, key: ReceiptKey, upTo: Int64) -> Receipt {
        Receipt(
            key: key, after: after ?? receipt.after, upTo: upTo, writtenAt: receipt.writtenAt,
            confirmedAt: receipt.confirmedAt)
    }

    // MARK: Replays

    private static let ofReplays = [
        PlantedReplayFault("the cursor is ignored", problem: ", which the device had confirmed") { $0.cursor = { _ in 0 } },
        PlantedReplayFault("a device starts at the present", problem: " has lost ") { $0.cursor = { $0.last } },
        PlantedReplayFault("a replay ends with its first page", problem: " was left out") {
            $0.page = { page($1, isComplete: true) }
        },
        PlantedReplayFault("a page lacks its first notification", problem: " was left out") {
            $0.page = { page($1, $1.notifications.count > 1 ? Array($1.notifications.dropFirst()) : $1.notifications) }
        },
        PlantedReplayFault("a page has the wrong order", problem: " behind ") {
            $0.page = { page($1, $1.notifications.reversed()) }
        },
        PlantedReplayFault("a gap is not announced", problem: " was left out") { $0.page = { page($1, gap: .some(nil)) } },
        PlantedReplayFault("a gap counts one too many", problem: " got a gap of ") {
            $0.page = { _, read in
                page(
                    read,
                    gap: read.gap.map { ReplayGap(count: $0.count + 1, from: $0.from, to: $0.to, upTo: $0.upTo) })
            }
        },
    ]

    private static func page(
        _ page: ReplayPage, _ notifications: [ReplayedNotification]? = nil, isComplete: Bool? = nil, gap: ReplayGap?? = nil
    ) -> ReplayPage {
        ReplayPage(
            notifications: notifications ?? page.notifications, upTo: page.upTo,
            isComplete: isComplete ?? page.isComplete, gap: gap ?? page.gap)
    }

    // MARK: Live events

    private static let ofLiveEvents = [
        PlantedReplayFault("a live notification overtakes the replay", problem: " was left out") {
            $0.excluded = { _ in [] }
        },
        PlantedReplayFault("a live notification is lost, others follow", problem: " was left out") {
            $0.loses = { $0 % 5 == 0 }
        },
        PlantedReplayFault("a notification is written twice", problem: " behind ") { $0.write = { $0 + $0 } },
    ]
}
