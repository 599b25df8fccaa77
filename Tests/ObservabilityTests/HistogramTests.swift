import Observability
import Testing

/// Observations, and histograms in the exposition (Prometheus text format, version 0.0.4).
@Suite struct HistogramTests {
    private func text(_ family: MetricFamily) -> String { MetricsRegistry(prefix: "p", [{ [family] }]).text }

    @Test func boundsAreInclusive() {
        let histogram = SharedHistogram("m", "h", bounds: [0.5, 2])
        histogram.observe([0.5, 0.50001, 2, 2.125])
        histogram.observe(0)
        #expect(
            text(histogram.family) == """
                # HELP p_m h
                # TYPE p_m histogram
                p_m_bucket{le="0.5"} 2
                p_m_bucket{le="2.0"} 4
                p_m_bucket{le="+Inf"} 5
                p_m_sum 5.12501
                p_m_count 5

                """)
    }

    @Test func writesWhatWasCountedElsewhere() {
        let family = MetricFamily("m", "h", Histogram(bounds: [0.001, 0.005, 1], counts: [2, 0, 5, 2], sum: 3.25))
        #expect(
            text(family).hasSuffix(
                """
                p_m_bucket{le="0.001"} 2
                p_m_bucket{le="0.005"} 2
                p_m_bucket{le="1.0"} 7
                p_m_bucket{le="+Inf"} 9
                p_m_sum 3.25
                p_m_count 9

                """))
    }

    @Test func writesAHistogramWithoutObservations() {
        #expect(
            text(SharedHistogram("m", "h", bounds: [0.5]).family).hasSuffix(
                "p_m_bucket{le=\"0.5\"} 0\np_m_bucket{le=\"+Inf\"} 0\np_m_sum 0.0\np_m_count 0\n"))
    }

    @Test func writesAHistogramWithoutBounds() {
        let text = text(MetricFamily("m", "h", Histogram(bounds: [], counts: [1], sum: 1e-9)))
        #expect(text.hasSuffix("# TYPE p_m histogram\np_m_bucket{le=\"+Inf\"} 1\np_m_sum 1e-09\np_m_count 1\n"))
    }

    @Test func writesLabelsBeforeTheBound() {
        var histogram = Histogram(bounds: [1])
        histogram.observe(0.5)
        #expect(
            text(MetricFamily("m", "h", [([("p", "a")], histogram), ([("p", "b")], Histogram(bounds: []))])) == """
                # HELP p_m h
                # TYPE p_m histogram
                p_m_bucket{p="a",le="1.0"} 1
                p_m_bucket{p="a",le="+Inf"} 1
                p_m_sum{p="a"} 0.5
                p_m_count{p="a"} 1
                p_m_bucket{p="b",le="+Inf"} 0
                p_m_sum{p="b"} 0.0
                p_m_count{p="b"} 0

                """)
    }
}
