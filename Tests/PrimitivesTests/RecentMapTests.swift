import Primitives
import TestSupport
import Testing

@Suite struct RecentMapTests {
    private var map = RecentMap<Int, String>(countMax: 8)

    /// The keys that have values. Asking does not use them.
    private var keys: [Int] {
        (0..<100).filter { key in
            var copy = map
            return copy.use(key) != nil
        }
    }

    @Test mutating func hasTheLastValueOfAKey() {
        #expect(map.use(1) == nil)
        map.store("a", for: 1)
        map.store("b", for: 1)
        #expect(map.use(1) == "b" && map.count == 1)
        map.remove(1)
        #expect(map.use(1) == nil && map.count == 0)
    }

    @Test mutating func forgetsTheEarlierHalfWhenHalfOfThePlacesAreTaken() {
        for key in 0..<8 { map.store("\(key)", for: key) }
        #expect(map.count == 8 && keys == Array(0..<8))
        map.store("8", for: 8)
        #expect(map.count == 5 && keys == Array(4...8), "the first four were not used since")
        for key in 9...12 { map.store("\(key)", for: key) }
        #expect(keys == Array(8...12))
    }

    @Test mutating func keepsWhatIsUsed() {
        for key in 0..<8 { map.store("\(key)", for: key) }
        #expect(map.use(1) == "1")
        #expect(keys == [1, 4, 5, 6, 7], "the first half has gone, but what was used")
        for key in 8...11 { map.store("\(key)", for: key) }
        #expect(keys == [1, 8, 9, 10, 11])
        #expect(map.use(2) == nil)
    }

    @Test mutating func settingAKnownKeyForgetsNothing() {
        for key in 0..<8 { map.store("\(key)", for: key) }
        for _ in 0..<100 { for key in 4..<8 { map.store("new", for: key) } }
        #expect(map.count == 8 && map.use(0) == "0" && map.use(7) == "new")
    }

    /// Compared with a list of the keys by last use, removed ones included.
    @Test mutating func keepsAtLeastHalfOfThePlacesForTheLastUsed() {
        var random = SplitMix(seed: 1)
        var lastUsed: [Int] = []
        var removed: Set<Int> = []
        for number in 0..<20_000 {
            let key = random.below(20)
            switch random.below(4) {
            case 0:
                map.remove(key)
                removed.insert(key)
                continue
            case 1:
                let isKept = map.use(key) != nil
                let mustBe = lastUsed.suffix(4).contains(key) && !removed.contains(key)
                #expect(isKept || !mustBe, "\(number)")
                #expect(!isKept || !removed.contains(key), "\(number)")
                guard isKept else { continue }
            default:
                map.store("\(number)", for: key)
                removed.remove(key)
            }
            #expect(map.count <= 8)
            lastUsed.removeAll { $0 == key }
            lastUsed.append(key)
        }
    }
}
