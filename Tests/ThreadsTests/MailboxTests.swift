import Glibc
import Synchronization
import Testing
import Threads

@Suite struct MailboxTests {
    @Test func drainsEachMessageOnceInOrder() {
        let mailbox = Mailbox<Int>(highWater: 10)
        var batch: [Int] = []
        for round in 0..<5 {
            for number in 0..<100 { _ = mailbox.append(round * 100 + number) }
            mailbox.drain(into: &batch)
            #expect(batch == Array(round * 100..<round * 100 + 100))
            mailbox.drain(into: &batch)
            #expect(batch == [])
        }
    }

    @Test func oneWakeUpPerBatchIsOwed() {
        let mailbox = Mailbox<String>(highWater: 1)
        var batch: [String] = []
        for _ in 0..<3 {
            #expect(mailbox.append("first"))
            #expect(mailbox.takeWakeUp())
            #expect(!mailbox.append("second"), "the owner was woken")
            #expect(!mailbox.takeWakeUp())
            mailbox.drain(into: &batch)
        }
    }

    /// A thread that is busy between its message and the wake-up does not hold back the messages of others.
    @Test func senderThatIsDoneFirstWakesTheOwner() {
        let mailbox = Mailbox<String>(highWater: 10)
        #expect(mailbox.append("of a busy thread"))
        #expect(mailbox.append("of another"), "nobody has woken the owner yet")
        #expect(mailbox.takeWakeUp(), "the other is done first")
        #expect(!mailbox.takeWakeUp(), "so the busy thread need not wake it")
        var batch: [String] = []
        mailbox.drain(into: &batch)
        #expect(batch == ["of a busy thread", "of another"])
    }

    @Test func wakeUpThatFindsNothingIsForgotten() {
        let mailbox = Mailbox<String>(highWater: 10)
        var batch: [String] = []
        #expect(mailbox.append("drained before the wake-up"))
        mailbox.drain(into: &batch)
        #expect(mailbox.takeWakeUp())
        mailbox.drain(into: &batch)
        #expect(batch == [])
        #expect(mailbox.append("next") && mailbox.takeWakeUp())
    }

    @Test func acceptsMessagesAboveTheHighWaterMark() {
        let mailbox = Mailbox<Int>(highWater: 3)
        var batch: [Int] = []
        for number in 0..<5 {
            #expect(mailbox.depth == number)
            #expect(mailbox.hasRoom == (number < 3))
            _ = mailbox.append(number)
        }
        #expect(mailbox.depth == 5 && !mailbox.hasRoom)
        mailbox.drain(into: &batch)
        #expect(batch == [0, 1, 2, 3, 4])
        #expect(mailbox.depth == 0 && mailbox.hasRoom)
    }

    @Test func highWaterMarkOf0LeavesNoRoom() {
        let mailbox = Mailbox<Int>(highWater: 0)
        #expect(!mailbox.hasRoom)
        #expect(mailbox.append(1))
    }

    @Test func drainEmptiesTheBatchEvenWithoutMessages() {
        let mailbox = Mailbox<Int>(highWater: 10)
        var batch = [7, 8, 9]
        mailbox.drain(into: &batch)
        #expect(batch == [])
    }

    /// The mailbox and the reader swap two arrays, so that nothing is allocated once both are large enough.
    @Test func reusesTheStorageOfThePreviousBatch() {
        let mailbox = Mailbox<Int>(highWater: 10)
        var batch: [Int] = []
        batch.reserveCapacity(1_000)
        let address = batch.withUnsafeBufferPointer(\.baseAddress)
        for round in 0..<6 {
            _ = mailbox.append(round)
            mailbox.drain(into: &batch)
            #expect(batch == [round])
            // Every second batch is the original array, which the mailbox has filled meanwhile.
            let isOriginal = batch.withUnsafeBufferPointer(\.baseAddress) == address && batch.capacity >= 1_000
            #expect(isOriginal == (round % 2 == 1), "\(round)")
        }
    }

    /// Like an event loop, the reader drains only after a wake-up. A missing wake-up would make this test time out.
    @Test(.timeLimit(.minutes(5))) func losesNoMessageAndKeepsEachSendersOrder() {
        let senders = 4
        let messagesEach = 20_000
        let mailbox = Mailbox<(sender: Int, number: Int)>(highWater: 10)
        let wakeUps = Atomic<Int>(0)
        let barrier = StartBarrier(senders)
        let wakeUp: @Sendable () -> Void = { wakeUps.add(1, ordering: .releasing) }
        let threads = (0..<senders).map { sender in
            Thread(name: "sender-\(sender)") {
                barrier.arriveAndWait()
                for number in 0..<messagesEach where mailbox.append((sender, number)) {
                    if mailbox.takeWakeUp() { wakeUp() }
                }
            }
        }
        for _ in 0..<senders { barrier.waitForArrival() }
        barrier.open()

        var next = Array(repeating: 0, count: senders)
        var batch: [(sender: Int, number: Int)] = []
        var isInOrder = true
        while next.reduce(0, +) < senders * messagesEach {
            guard wakeUps.exchange(0, ordering: .acquiring) > 0 else {
                sched_yield()
                continue
            }
            mailbox.drain(into: &batch)
            for message in batch {
                isInOrder = isInOrder && message.number == next[message.sender]
                next[message.sender] += 1
            }
        }
        for thread in threads { thread.join() }
        #expect(isInOrder)
        #expect(next == Array(repeating: messagesEach, count: senders))
        #expect(mailbox.depth == 0)
    }
}
