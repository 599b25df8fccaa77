import Observability
import Testing

@Suite struct CounterTests {
    private enum Colour: String, CaseIterable { case red, blue }

    private func samples(_ family: MetricFamily) -> [String] {
        MetricsRegistry(prefix: "p", [{ [family] }]).text.split(separator: "\n").dropFirst(2).map(String.init)
    }

    @Test func countsFromSeveralThreads() async {
        let (counter, labelled) = (Counter("m", "h"), LabelledCounter<String>("m", "h", by: "l"))
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<8 {
                group.addTask {
                    for _ in 0..<500 {
                        counter.add(2)
                        labelled.add(to: "a")
                    }
                }
            }
        }
        #expect(samples(counter.family) == ["p_m 8000"] && samples(labelled.family) == [#"p_m{l="a"} 4000"#])
    }

    @Test func showsAllValuesThatAreKnown() {
        let counter = LabelledCounter<Colour>("m", "h", by: "colour")
        counter.add([.blue: 2])
        counter.add([:])
        #expect(samples(counter.family) == [#"p_m{colour="red"} 0"#, #"p_m{colour="blue"} 2"#])
        #expect(counter.counts == [.blue: 2])
    }

    @Test func showsOthersOnceTheyHaveCountedInTheOrderOfTheLabels() {
        let counter = LabelledCounter<Int>("m", "h") { [("tens", String($0 / 10)), ("ones", String($0 % 10))] }
        #expect(samples(counter.family).isEmpty)
        counter.add([21: 1, 12: 2, 11: 0, 19: 3])
        #expect(
            samples(counter.family) == [
                #"p_m{tens="1",ones="2"} 2"#, #"p_m{tens="1",ones="9"} 3"#, #"p_m{tens="2",ones="1"} 1"#,
            ])
    }
}
