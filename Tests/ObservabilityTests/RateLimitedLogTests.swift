import Testing
import Threads

@testable import Observability

@Suite struct RateLimitedLogTests {
    private let lines = Lock<[String]>([])

    private func log(_ level: Log.Level = .info) -> RateLimitedLog {
        let lines = lines
        let log = Log(level: level, format: .text) { line in
            // Without the time.
            lines.withLock { $0.append(line.split(separator: " ").dropFirst().joined(separator: " ")) }
        }
        return RateLimitedLog(log, .info, "refused")
    }

    private var written: [String] {
        lines.withLock { lines in
            defer { lines = [] }
            return lines.map { $0.filter { $0 != "\n" } }
        }
    }

    @Test func writesTenLinesASecondAndCountsTheRest() {
        let log = log()
        for number in 0..<25 { log.write(at: 7) { ["n": .number(number)] } }
        #expect(written == (0..<10).map { "info refused n=\($0)" })
        log.flush(at: 7)
        #expect(written == [], "the second is not over")
        log.write(at: 8) { ["n": 25] }
        #expect(written == ["info refused omitted=15", "info refused n=25"])
        for second in 8..<12 { log.flush(at: second) }
        #expect(written == [])
    }

    @Test func countsTheRestWithoutAFurtherLine() {
        let log = log()
        for second in [3, 4] { for _ in 0..<12 { log.write(at: second) { [:] } } }
        _ = written
        log.flush(at: 5)
        #expect(written == ["info refused omitted=2"])
    }

    @Test func writesNothingBelowTheLevel() {
        let log = log(.warning)
        for _ in 0..<20 {
            log.write(at: 1) {
                Issue.record("the fields are computed")
                return [:]
            }
        }
        log.flush(at: 2)
        #expect(written == [])
    }
}
