import Glibc
import Testing

@testable import Observability

@Suite struct ProcessStatisticsTests {
    @Test func cpuTimeGrowsWithWork() {
        let before = ProcessStatistics.cpuSeconds
        var sum = 0.0
        while ProcessStatistics.cpuSeconds < before + 0.01 { sum += before.squareRoot() }
        #expect(before > 0 && sum > 0)
    }

    @Test func residentMemoryIsThatOfATestProcess() {
        #expect((1_000_000..<10_000_000_000).contains(ProcessStatistics.residentBytes))
    }

    @Test func descriptorsAreCounted() {
        let descriptors = (0..<100).map { _ in open("/dev/null", O_RDONLY) }
        defer { for descriptor in descriptors { close(descriptor) } }
        #expect(ProcessStatistics.openDescriptors >= 103)
    }

    @Test func startTimeIsBeforeNow() {
        let age = Double(time(nil)) - ProcessStatistics.startTime
        #expect((-1..<86_400).contains(age))
    }

    @Test func familiesHaveThePrefix() {
        let text = MetricsRegistry(prefix: "x", [{ ProcessStatistics.families }]).text
        for name in ["cpu_seconds_total counter", "resident_memory_bytes gauge", "open_fds gauge", "start_time_seconds gauge"] {
            #expect(text.contains("# TYPE x_process_\(name)\n"))
        }
    }
}
