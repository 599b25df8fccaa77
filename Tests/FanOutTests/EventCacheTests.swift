import FanOut
import PusherProtocol
import Testing

/// The last event of each cache channel (PROTOCOL K1–K5).
@Suite struct EventCacheTests {
    private var cache = EventCache(bytesMax: 10_000)
    private static let halfAnHour: Int64 = 1_800_000

    private func frame(_ text: String) -> Frame { Frame(text: Array(text.utf8)) }

    /// An event costs its frame, its channel's name and 128 bytes of overhead.
    private func cost(_ channel: String, _ text: String) -> Int { channel.utf8.count + frame(text).bytes.count + 128 }

    private func kept(_ channel: String, at now: Int64 = 0) -> Frame? { cache.event(on: name(channel), at: now)?.frame }

    private mutating func keep(_ text: String, on channel: String, at now: Int64 = 0) {
        cache.store(frame(text), on: name(channel), at: now)
    }

    @Test func k1IsEmptyAtFirst() {
        #expect(kept("cache-a") == nil)
        #expect(cache.evictions == 0)
    }

    @Test mutating func k2StoresTheLastEventOfEachChannel() {
        keep("1", on: "cache-a")
        keep("2", on: "cache-b")
        keep("3", on: "cache-a")
        #expect(kept("cache-a") == frame("3"))
        #expect(kept("cache-b") == frame("2"))
        #expect(kept("cache-c") == nil)
    }

    @Test mutating func k3EventExpiresAfterThirtyMinutes() {
        keep("1", on: "cache-a", at: 5)
        #expect(cache.event(on: name("cache-a"), at: 5)?.expiry == 5 + Self.halfAnHour)
        #expect(kept("cache-a", at: 4 + Self.halfAnHour) == frame("1"))
        #expect(kept("cache-a", at: 5 + Self.halfAnHour) == nil, "not even before it is swept")
        cache.expire(at: 4 + Self.halfAnHour)
        #expect(kept("cache-a", at: 5) == frame("1"))
        cache.expire(at: 5 + Self.halfAnHour)
        #expect(kept("cache-a", at: 5) == nil)
        #expect(cache.evictions == 0, "its time had come")
    }

    @Test mutating func k3ReplacingRestartsTheLifetime() {
        keep("1", on: "cache-a", at: 0)
        keep("2", on: "cache-b", at: 10)
        keep("3", on: "cache-a", at: 20)
        cache.expire(at: Self.halfAnHour)
        #expect(kept("cache-a", at: Self.halfAnHour) == frame("3"))
        cache.expire(at: Self.halfAnHour + 10)
        #expect(kept("cache-a", at: 0) == frame("3"))
        #expect(kept("cache-b", at: 0) == nil)
    }

    // MARK: Bytes

    @Test mutating func evictsTheOldestWhenFull() {
        cache = EventCache(bytesMax: 2 * cost("cache-a", "1"))
        keep("1", on: "cache-a")
        keep("2", on: "cache-b")
        #expect(cache.evictions == 0, "they fit exactly")
        keep("3", on: "cache-c")
        #expect(kept("cache-a") == nil && kept("cache-b") != nil && kept("cache-c") != nil)
        keep("4", on: "cache-b")
        keep("5", on: "cache-d")
        #expect(kept("cache-c") == nil, "a replaced event is the youngest")
        #expect(kept("cache-b") == frame("4") && kept("cache-d") == frame("5"))
        #expect(cache.evictions == 2)
    }

    @Test mutating func longEventEvictsSeveral() {
        cache = EventCache(bytesMax: 3 * cost("cache-a", "1"))
        for channel in ["cache-a", "cache-b", "cache-c"] { keep("1", on: channel) }
        keep(String(repeating: "x", count: 125), on: "cache-d")
        #expect(kept("cache-a") == nil && kept("cache-b") == nil && kept("cache-c") != nil && kept("cache-d") != nil)
        #expect(cache.evictions == 2)
    }

    @Test mutating func replacingIsNotCountedAsEviction() {
        cache = EventCache(bytesMax: 3 * cost("cache-a", "1"))
        keep("1", on: "cache-b")
        for text in ["2", "3", "4"] { keep(text, on: "cache-a") }
        keep("5", on: "cache-c")
        #expect(cache.evictions == 0)
        keep(String(repeating: "x", count: 120), on: "cache-d")
        #expect(kept("cache-b") == nil && kept("cache-a") == nil && kept("cache-c") != nil)
        #expect(cache.evictions == 2, "two channels lost their event, however often one had been replaced")
    }

    @Test mutating func eventLargerThanTheCacheIsNotStored() {
        cache = EventCache(bytesMax: 200)
        keep("1", on: "cache-a")
        keep(String(repeating: "x", count: 200), on: "cache-b")
        #expect(kept("cache-a") == nil && kept("cache-b") == nil)
        keep("2", on: "cache-a")
        #expect(kept("cache-a") == frame("2"), "and leaves its room")
    }

    @Test mutating func zeroBytesStoresNothing() {
        cache = EventCache(bytesMax: 0)
        keep("1", on: "cache-a")
        #expect(kept("cache-a") == nil)
    }

    @Test mutating func bytesAreReleasedOnEveryRemoval() {
        let room = cost("cache-a", "1")
        cache = EventCache(bytesMax: 2 * room)
        for round in Int64(0)..<200 {
            let now = round * Self.halfAnHour
            keep("1", on: "cache-a", at: now)
            keep("2", on: "cache-a", at: now)
            keep("3", on: "cache-b", at: now)
            #expect(kept("cache-a", at: now) != nil && kept("cache-b", at: now) != nil)
        }
        #expect(cache.evictions == 0)
        #expect(stored("bytes") as? Int == 2 * room)
    }

    @Test mutating func busyChannelUsesBoundedMemory() throws {
        keep("1", on: "cache-quiet")
        for _ in 0..<10_000 { keep("2", on: "cache-busy") }
        let places = try #require(stored("ages") as? [(channel: ChannelName, serial: UInt64)])
        #expect(places.count < 100)
        #expect(kept("cache-quiet") == frame("1") && kept("cache-busy") == frame("2"))
    }

    @Test mutating func manyChannelsAreAddedAndRemoved() throws {
        for index in 0..<5_000 { keep("1", on: "cache-\(index)", at: Int64(index) * 60_000) }
        let places = try #require(stored("ages") as? [(channel: ChannelName, serial: UInt64)])
        #expect(places.count <= 70)
        #expect(kept("cache-4999", at: 4_999 * 60_000) != nil && kept("cache-4960", at: 4_999 * 60_000) == nil)
    }

    private func stored(_ label: String) -> Any? { Mirror(reflecting: cache).children.first { $0.label == label }?.value }
}
