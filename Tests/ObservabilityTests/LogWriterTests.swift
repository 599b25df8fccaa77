import Glibc
import Observability
import Testing
import Threads

@Suite struct LogWriterTests {
    /// A pipe whose reader the test controls.
    private struct Pipe {
        let input: Int32
        let output: Int32

        init() {
            var ends: [Int32] = [0, 0]
            precondition(pipe(&ends) == 0, "no descriptors left")
            (output, input) = (ends[0], ends[1])
        }

        /// Fills the pipe's buffer, so that the next write blocks.
        func fill() -> Int {
            let flags = fcntl(input, F_GETFL)
            _ = fcntl(input, F_SETFL, flags | O_NONBLOCK)
            var count = 0
            while write(input, [UInt8(ascii: "\n")], 1) == 1 { count += 1 }
            _ = fcntl(input, F_SETFL, flags)
            return count
        }

        /// Reads at least `count` bytes.
        func read(atLeast count: Int) -> [UInt8] {
            var bytes: [UInt8] = []
            var part = [UInt8](repeating: 0, count: 65_536)
            while bytes.count < count {
                let size = Glibc.read(output, &part, part.count)
                precondition(size > 0, "the pipe has ended")
                bytes += part.prefix(size)
            }
            return bytes
        }

        /// The lines in the pipe, up to its end.
        func lines() -> [String] {
            close(input)
            var bytes: [UInt8] = []
            var part = [UInt8](repeating: 0, count: 65_536)
            while case let size = Glibc.read(output, &part, part.count), size > 0 { bytes += part.prefix(size) }
            close(output)
            return String(decoding: bytes, as: UTF8.self).split(separator: "\n").map(String.init)
        }
    }

    /// The count of a line `log_lines_dropped` in the text format; nil for other lines.
    private func droppedCount(_ line: String) -> Int? {
        let parts = line.split(separator: " warning log_lines_dropped count=")
        return parts.count == 2 ? Int(parts[1]) : nil
    }

    @Test func linesBeforeTheStartAndAfterTheStopStayInOrder() {
        let pipe = Pipe()
        let writer = LogWriter(format: .text, descriptor: pipe.input)
        writer.write("before\n")
        writer.start()
        for number in 0..<1_000 { writer.write("\(number)\n") }
        writer.stop()
        writer.write("after\n")
        writer.write("last\n")
        #expect(writer.droppedCount == 0)
        #expect(pipe.lines() == ["before"] + (0..<1_000).map { "\($0)" } + ["after", "last"])
    }

    @Test func stopWritesTheLinesOfAWriterThatNeverStarted() {
        let pipe = Pipe()
        let writer = LogWriter(format: .text, descriptor: pipe.input)
        writer.write("one\n")
        writer.stop()
        writer.stop()
        #expect(pipe.lines() == ["one"])
    }

    @Test func dropsLinesBeyondTheLimitOfLinesAndReportsTheirNumber() {
        let pipe = Pipe()
        let writer = LogWriter(format: .text, descriptor: pipe.input, linesMax: 10)
        for number in 0..<15 { writer.write("\(number)\n") }
        #expect(writer.droppedCount == 5)
        writer.stop()
        let lines = pipe.lines()
        #expect(lines.prefix(10) == (0..<10).map { "\($0)" }[...])
        #expect(lines.count == 11 && lines.last.flatMap(droppedCount) == 5)
    }

    @Test func dropsLinesBeyondTheLimitOfBytes() {
        let pipe = Pipe()
        let writer = LogWriter(format: .json, descriptor: pipe.input, bytesMax: 20)
        writer.write("12345678\n")
        writer.write("a line that does not fit\n")
        writer.write("abcdefgh\n")
        writer.write("xy\n")  // the 21st byte
        #expect(writer.droppedCount == 2)
        writer.stop()
        let lines = pipe.lines()
        #expect(lines.prefix(2) == ["12345678", "abcdefgh"] && lines.count == 3)
        #expect(lines[2].hasSuffix(#""level":"warning","event":"log_lines_dropped","count":2}"#))
    }

    @Test func writtenLinesMakeRoomAgain() {
        let pipe = Pipe()
        let writer = LogWriter(format: .text, descriptor: pipe.input, linesMax: 2, bytesMax: 20)
        writer.start()
        for number in 10..<60 {
            writer.write("\(number)------\n")
            #expect(pipe.read(atLeast: 9) == Array("\(number)------\n".utf8))
        }
        writer.stop()
        #expect(writer.droppedCount == 0 && pipe.lines() == [])
    }

    /// The writer's thread is stuck, so writing must neither block nor grow without bound; and every line is either
    /// written or counted in a notice that stands where the lines are missing.
    @Test func aStalledReaderBlocksNobodyAndEveryLineIsAccountedFor() {
        let pipe = Pipe()
        let filled = pipe.fill()
        let writer = LogWriter(format: .text, descriptor: pipe.input, linesMax: 100)
        writer.start()
        for number in 0..<1_000 { writer.write("\(number)\n") }
        #expect(writer.droppedCount >= 800)
        _ = pipe.read(atLeast: filled)
        writer.stop(withinMilliseconds: 60_000)
        expectComplete(pipe.lines(), count: 1_000)
    }

    /// The thread takes its batches while lines are dropped.
    @Test func everyNoticeStandsWhereItsLinesAreMissing() {
        for _ in 0..<300 {
            let pipe = Pipe()
            let writer = LogWriter(format: .text, descriptor: pipe.input, linesMax: 2)
            writer.start()
            for number in 0..<1_000 { writer.write("\(number)\n") }
            writer.stop(withinMilliseconds: 60_000)
            expectComplete(pipe.lines(), count: 1_000)
        }
    }

    /// Checks that each of the lines "0", "1", … is there, or counted in a notice that stands in its place.
    private func expectComplete(_ lines: [String], count: Int) {
        var expected = 0
        for line in lines {
            if let dropped = droppedCount(line) {
                expected += dropped
            } else {
                #expect(line == "\(expected)")
                expected += 1
            }
        }
        #expect(expected == count)
    }

    @Test func stopEndsInTimeAlthoughNobodyReads() {
        let pipe = Pipe()
        let filled = pipe.fill()
        let writer = LogWriter(format: .text, descriptor: pipe.input)
        writer.write("read too late\n")
        writer.start()
        let begin = Clock.monotonicMilliseconds()
        writer.stop(withinMilliseconds: 50)
        #expect(Clock.monotonicMilliseconds() - begin >= 50)
        writer.write("dropped\n")
        #expect(writer.droppedCount == 1)
        _ = pipe.read(atLeast: filled)
        writer.stop(withinMilliseconds: 60_000)  // the thread must not write to a descriptor of another test
        #expect(pipe.lines().first == "read too late")
    }

    @Test func afterTheStopALineThatWouldBlockIsDropped() {
        let pipe = Pipe()
        let writer = LogWriter(format: .text, descriptor: pipe.input)
        writer.stop()
        writer.write("fits\n")
        _ = pipe.fill()
        writer.write("does not fit\n")
        #expect(writer.droppedCount == 1)
        #expect(pipe.lines() == ["fits"])
    }

    @Test func aClosedReaderEndsNothing() {
        signal(SIGPIPE, SIG_IGN)
        let pipe = Pipe()
        close(pipe.output)
        let writer = LogWriter(format: .text, descriptor: pipe.input)
        writer.start()
        for number in 0..<100 { writer.write("\(number)\n") }
        writer.stop(withinMilliseconds: 60_000)
        writer.write("after\n")
        #expect(writer.droppedCount == 1)
        close(pipe.input)
    }

    @Test func keepsTheOrderOfEachThread() {
        let pipe = Pipe()
        let writer = LogWriter(format: .text, descriptor: pipe.input)
        let received = Lock<[String]>([])
        let reader = Thread(name: "reader") {
            let lines = String(decoding: pipe.read(atLeast: 4 * 1_000 * 6), as: UTF8.self).split(separator: "\n")
            received.withLock { $0 = lines.map(String.init) }
        }
        writer.start()
        let threads = (0..<4).map { thread in
            Thread(name: "logging-\(thread)") {
                for number in 1_000..<2_000 { writer.write("\(thread)\(number)\n") }
            }
        }
        for thread in threads { thread.join() }
        writer.stop(withinMilliseconds: 60_000)
        reader.join()
        let lines = received.withLock { $0 }
        #expect(writer.droppedCount == 0)
        for thread in 0..<4 {
            #expect(lines.filter { $0.hasPrefix("\(thread)") } == (1_000..<2_000).map { "\(thread)\($0)" })
        }
    }
}
