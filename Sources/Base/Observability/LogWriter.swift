import Glibc
import Synchronization
import Threads

/// Writes log lines to a descriptor on a thread of its own, so that a reader that stalls (a full pipe, a stopped
/// terminal) blocks only this thread.
///
/// Between ``start()`` and ``stop(withinMilliseconds:)``, lines wait in a bounded queue. If the queue is full, further
/// lines are dropped and counted, and a line `log_lines_dropped` states their number where they are missing. Lines of
/// one thread keep their order.
package final class LogWriter: Sendable {
    /// Lines beyond this number are dropped.
    private let linesMax: Int
    /// Lines that would make the queue larger than this are dropped, in bytes. The batch being written counts, too.
    private let bytesMax: Int
    private let descriptor: Int32
    private let format: Log.Format
    private let queue = Monitor(Queue())
    private let phase = Atomic<Phase>(.idle)
    private let thread = Lock<Thread?>(nil)
    /// Gets an item when the thread has written the last line.
    private let finished = WorkQueue<Void>(capacity: 1)

    private static let pauseMicroseconds: UInt32 = 1_000

    /// The lines that wait, and the count of those that did not fit. They stand under one lock, because the thread must
    /// know which lines were dropped before it took a batch: the notice of them follows that batch.
    private struct Queue {
        var lines: [String] = []
        /// The size of the waiting lines and of the batch being written.
        var bytes = 0
        /// Lines dropped since the start.
        var dropped = 0
        /// The part of `dropped` that notices have stated.
        var reported = 0
        var isClosed = false
    }

    private enum Phase: UInt8, AtomicRepresentable {
        /// The thread has not started. Lines wait.
        case idle
        /// The thread writes, until the queue is closed and empty.
        case running
        /// All lines were written and the thread has ended. Callers write their own lines.
        case stopped
    }

    /// - Parameters:
    ///   - format: the format of the line `log_lines_dropped`.
    ///   - descriptor: not closed by this class.
    ///   - linesMax: the most lines that wait.
    ///   - bytesMax: the most bytes that wait.
    package init(
        format: Log.Format, descriptor: Int32 = STDERR_FILENO, linesMax: Int = 8_192, bytesMax: Int = 4_194_304
    ) {
        self.format = format
        self.descriptor = descriptor
        self.linesMax = linesMax
        self.bytesMax = bytesMax
    }

    /// The number of lines dropped since the start, for the metric `log_lines_dropped_total`.
    package var droppedCount: Int { queue.withLock { $0.dropped } }

    package var family: MetricFamily {
        MetricFamily(
            "log_lines_dropped_total", .counter, "Log lines dropped because the log's queue was full.", droppedCount)
    }

    /// Queues a line, which ends with a newline, or drops it. Any thread may call this at any time; it never blocks.
    package func write(_ line: String) {
        if phase.load(ordering: .acquiring) == .stopped { return writeWithoutBlocking(line) }
        let size = line.utf8.count
        queue.withLock { queue in
            if !queue.isClosed, queue.lines.count < linesMax, queue.bytes + size <= bytesMax {
                queue.lines.append(line)
                queue.bytes += size
            } else {
                queue.dropped += 1
            }
            // Later lines need no signal: the thread sleeps only while no line waits.
            if queue.lines.count <= 1 { self.queue.signal() }
        }
    }

    /// The number of lines that wait for the thread.
    package var depth: Int { queue.withLock { $0.lines.count } }

    /// Starts the thread, which writes the lines queued so far first. Call once, or never: `stop` also writes them. The
    /// thread inherits the caller's signal mask.
    package func start() {
        guard phase.compareExchange(expected: .idle, desired: .running, ordering: .relaxed).exchanged else { return }
        thread.withLock { $0 = Thread(name: "log") { self.writeLines() } }
    }

    /// Writes the queued lines, and ends the thread. If that takes longer than `milliseconds`, because the reader
    /// stalls, the rest is lost: the process must be able to end. Later lines are written by the threads that log them.
    package func stop(withinMilliseconds milliseconds: Int64 = 1_000) {
        if phase.load(ordering: .acquiring) == .stopped { return }
        start()
        queue.withLock { $0.isClosed = true }
        queue.signal()
        var batch: [Void] = []
        // The thread may be stuck in a write that never ends, so it is joined only once it has reported its end.
        guard finished.take(into: &batch, most: 1, waiting: milliseconds) == .items else { return }
        thread.withLock { $0.take() }?.join()
        phase.store(.stopped, ordering: .releasing)
    }

    private func writeLines() {
        var batch: [String] = []
        var bytes: [UInt8] = []
        while true {
            batch.removeAll(keepingCapacity: true)
            // The batch is the whole queue. So the lines that were dropped until now come after it.
            let (dropped, isClosed) = queue.wait(
                milliseconds: nil, until: { !$0.lines.isEmpty || $0.dropped > $0.reported || $0.isClosed },
                then: { queue in
                    swap(&batch, &queue.lines)
                    defer { queue.reported = queue.dropped }
                    return (queue.dropped - queue.reported, queue.isClosed)
                })
            if isClosed, batch.isEmpty, dropped == 0 { break }
            bytes.removeAll(keepingCapacity: true)
            for line in batch { bytes.append(contentsOf: line.utf8) }
            let size = bytes.count
            if dropped > 0 { bytes.append(contentsOf: Self.dropNotice(dropped, format).utf8) }
            bytes.withUnsafeBytes { write($0) }
            queue.withLock { $0.bytes -= size }
            // Waking this thread costs the logging thread more than the line. So lines of the same millisecond are
            // written together.
            if !isClosed { usleep(Self.pauseMicroseconds) }
        }
        _ = finished.post(())
    }

    private static func dropNotice(_ count: Int, _ format: Log.Format) -> String {
        Log.line(.warning, "log_lines_dropped", ["count": .number(count)], format)
    }

    /// Writes all bytes, normally with one system call. Errors are ignored: a broken standard error must not stop the
    /// service.
    private func write(_ bytes: UnsafeRawBufferPointer) {
        var rest = bytes[...]
        while !rest.isEmpty {
            let written = Glibc.write(descriptor, UnsafeRawBufferPointer(rebasing: rest).baseAddress, rest.count)
            if written > 0 {
                rest = rest.dropFirst(written)
            } else if errno == EAGAIN {  // another process has made the pipe non-blocking for all who share it
                var writable = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
                poll(&writable, 1, -1)
            } else if errno != EINTR {
                return
            }
        }
    }

    /// Writes a line unless that would block. `poll` reports a pipe as writable if it has room for PIPE_BUF bytes.
    private func writeWithoutBlocking(_ line: String) {
        var line = line
        line.withUTF8 { bytes in
            var rest = UnsafeRawBufferPointer(bytes)[...]
            while !rest.isEmpty {
                var writable = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
                let part = UnsafeRawBufferPointer(rebasing: rest.prefix(Int(PIPE_BUF)))
                guard poll(&writable, 1, 0) == 1, Glibc.write(descriptor, part.baseAddress, part.count) == part.count else {
                    queue.withLock { $0.dropped += 1 }
                    return
                }
                rest = rest.dropFirst(part.count)
            }
        }
    }
}
