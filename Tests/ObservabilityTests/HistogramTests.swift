import Observability
import Testing

/// Exposition of histograms (Prometheus text format, version 0.0.4).
@Suite struct HistogramTests {
    @Test func writesBucketsSumAndCount() {
        let family = MetricFamily(
            "commit_seconds", help: "Commit latency.", buckets: [(0.001, 2), (0.005, 2), (1, 7)], sum: 3.25, count: 9)
        #expect(
            MetricFamily.text([family]) == """
                # HELP commit_seconds Commit latency.
                # TYPE commit_seconds histogram
                commit_seconds_bucket{le="0.001"} 2
                commit_seconds_bucket{le="0.005"} 2
                commit_seconds_bucket{le="1.0"} 7
                commit_seconds_bucket{le="+Inf"} 9
                commit_seconds_sum 3.25
                commit_seconds_count 9

                """)
    }

    @Test func writesAHistogramWithoutObservations() {
        let family = MetricFamily("m", help: "h", buckets: [(0.5, 0)], sum: 0, count: 0)
        #expect(
            MetricFamily.text([family]).hasSuffix("m_bucket{le=\"0.5\"} 0\nm_bucket{le=\"+Inf\"} 0\nm_sum 0.0\nm_count 0\n"))
    }

    @Test func writesAHistogramWithoutBounds() {
        let text = MetricFamily.text([MetricFamily("m", help: "h", buckets: [], sum: 1e-9, count: 1)])
        #expect(text.hasSuffix("# TYPE m histogram\nm_bucket{le=\"+Inf\"} 1\nm_sum 1e-09\nm_count 1\n"))
    }

    @Test func separatesFamilies() {
        let histogram = MetricFamily("a", help: "h", buckets: [(1, 1)], sum: 1, count: 1)
        let gauge = MetricFamily("b", .gauge, help: "h", value: 1)
        #expect(MetricFamily.text([histogram, gauge]) == MetricFamily.text([histogram]) + MetricFamily.text([gauge]))
    }
}

/// Observations, and families of several histograms that differ in their labels.
@Suite struct LabelledHistogramTests {
    @Test func boundsAreInclusive() {
        var histogram = Histogram(bounds: [0.5, 2])
        for value in [0.5, 0.50001, 2, 2.1, 0] { histogram.observe(value) }
        #expect(histogram.cumulative.map(\.count) == [2, 4])
        #expect(histogram.count == 5)
        #expect(abs(histogram.sum - 5.10001) < 1e-9)
    }

    @Test func writesLabelsBeforeTheBound() {
        var histogram = Histogram(bounds: [1])
        histogram.observe(0.5)
        let text = MetricFamily.text([
            MetricFamily("m", help: "h", histograms: [([("p", "a")], histogram), ([("p", "b")], Histogram(bounds: []))])
        ])
        #expect(
            text == """
                # HELP m h
                # TYPE m histogram
                m_bucket{p="a",le="1.0"} 1
                m_bucket{p="a",le="+Inf"} 1
                m_sum{p="a"} 0.5
                m_count{p="a"} 1
                m_bucket{p="b",le="+Inf"} 0
                m_sum{p="b"} 0.0
                m_count{p="b"} 0

                """)
    }
}
