import HubFixture
import PusherProtocol
import Testing

@testable import FanOut

/// The last event of each cache channel (protocol points K1–K5).
@Suite struct EventCacheTests {
    private var cache = EventCache(bytesMax: 10_000)
    private static let halfAnHour: Int64 = 1_800_000

    private func frame(_ text: String) -> Frame { Frame(text: Array(text.utf8)) }

    /// The bytes that an event uses in the cache: its frame, its channel's name and 128 bytes of overhead.
    private func cost(_ channel: String, _ text: String) -> Int { channel.utf8.count + frame(text).bytes.count + 128 }

    private func cached(_ channel: String, at now: Int64 = 0) -> Frame? { cache.event(on: name(channel), at: now)?.frame }

    private mutating func store(_ text: String, on channel: String, at now: Int64 = 0) {
        cache.store(frame(text), on: name(channel), at: now)
    }

    @Test func k1IsEmptyAtFirst() {
        #expect(cached("cache-a") == nil)
        #expect(cache.evictions == 0)
    }

    @Test mutating func k2StoresTheLastEventOfEachChannel() {
        store("1", on: "cache-a")
        store("2", on: "cache-b")
        store("3", on: "cache-a")
        #expect(cached("cache-a") == frame("3"))
        #expect(cached("cache-b") == frame("2"))
        #expect(cached("cache-c") == nil)
    }

    @Test mutating func k3EventExpiresAfterThirtyMinutes() {
        store("1", on: "cache-a", at: 5)
        #expect(cache.event(on: name("cache-a"), at: 5)?.expiry == 5 + Self.halfAnHour)
        #expect(cached("cache-a", at: 4 + Self.halfAnHour) == frame("1"))
        #expect(cached("cache-a", at: 5 + Self.halfAnHour) == nil, "an expired event is not returned, even before it is removed")
        cache.expire(at: 4 + Self.halfAnHour)
        #expect(cached("cache-a", at: 5) == frame("1"))
        cache.expire(at: 5 + Self.halfAnHour)
        #expect(cached("cache-a", at: 5) == nil)
        #expect(cache.evictions == 0, "an expiry is no eviction")
    }

    @Test mutating func k3ReplacingRestartsTheLifetime() {
        store("1", on: "cache-a", at: 0)
        store("2", on: "cache-b", at: 10)
        store("3", on: "cache-a", at: 20)
        cache.expire(at: Self.halfAnHour)
        #expect(cached("cache-a", at: Self.halfAnHour) == frame("3"))
        cache.expire(at: Self.halfAnHour + 10)
        #expect(cached("cache-a", at: 0) == frame("3"))
        #expect(cached("cache-b", at: 0) == nil)
    }

    // MARK: Bytes

    @Test mutating func evictsTheOldestWhenFull() {
        cache = EventCache(bytesMax: 2 * cost("cache-a", "1"))
        store("1", on: "cache-a")
        store("2", on: "cache-b")
        #expect(cache.evictions == 0, "two events fit exactly")
        store("3", on: "cache-c")
        #expect(cached("cache-a") == nil && cached("cache-b") != nil && cached("cache-c") != nil)
        store("4", on: "cache-b")
        store("5", on: "cache-d")
        #expect(cached("cache-c") == nil, "replacing an event makes it the newest")
        #expect(cached("cache-b") == frame("4") && cached("cache-d") == frame("5"))
        #expect(cache.evictions == 2)
    }

    @Test mutating func longEventEvictsSeveral() {
        cache = EventCache(bytesMax: 3 * cost("cache-a", "1"))
        for channel in ["cache-a", "cache-b", "cache-c"] { store("1", on: channel) }
        store(String(repeating: "x", count: 125), on: "cache-d")
        #expect(cached("cache-a") == nil && cached("cache-b") == nil && cached("cache-c") != nil && cached("cache-d") != nil)
        #expect(cache.evictions == 2)
    }

    @Test mutating func replacingIsNotCountedAsEviction() {
        cache = EventCache(bytesMax: 3 * cost("cache-a", "1"))
        store("1", on: "cache-b")
        for text in ["2", "3", "4"] { store(text, on: "cache-a") }
        store("5", on: "cache-c")
        #expect(cache.evictions == 0)
        store(String(repeating: "x", count: 120), on: "cache-d")
        #expect(cached("cache-b") == nil && cached("cache-a") == nil && cached("cache-c") != nil)
        #expect(cache.evictions == 2, "replaced events do not count")
    }

    @Test mutating func eventLargerThanTheCacheIsNotStored() {
        cache = EventCache(bytesMax: 200)
        store("1", on: "cache-a")
        store(String(repeating: "x", count: 200), on: "cache-b")
        #expect(cached("cache-a") == nil && cached("cache-b") == nil)
        store("2", on: "cache-a")
        #expect(cached("cache-a") == frame("2"), "the bytes of the rejected event are free again")
    }

    @Test mutating func zeroBytesStoresNothing() {
        cache = EventCache(bytesMax: 0)
        store("1", on: "cache-a")
        #expect(cached("cache-a") == nil)
    }

    @Test mutating func bytesAreReleasedOnEveryRemoval() {
        let cost = cost("cache-a", "1")
        cache = EventCache(bytesMax: 2 * cost)
        for round in Int64(0)..<200 {
            let now = round * Self.halfAnHour
            store("1", on: "cache-a", at: now)
            store("2", on: "cache-a", at: now)
            store("3", on: "cache-b", at: now)
            #expect(cached("cache-a", at: now) != nil && cached("cache-b", at: now) != nil)
        }
        #expect(cache.evictions == 0)
        #expect(property("bytes") as? Int == 2 * cost)
    }

    @Test mutating func busyChannelUsesBoundedMemory() throws {
        store("1", on: "cache-quiet")
        for _ in 0..<10_000 { store("2", on: "cache-busy") }
        #expect(try #require(property("entries") as? [Any]).count == 2)
        #expect(cached("cache-quiet") == frame("1") && cached("cache-busy") == frame("2"))
    }

    /// One event is stored per minute, so at most 30 events have not expired.
    @Test mutating func manyChannelsAreAddedAndRemoved() throws {
        for index in 0..<5_000 { store("1", on: "cache-\(index)", at: Int64(index) * 60_000) }
        #expect(try #require(property("entries") as? [Any]).count <= 31)
        #expect(cached("cache-4999", at: 4_999 * 60_000) != nil && cached("cache-4960", at: 4_999 * 60_000) == nil)
    }

    // MARK: Cost

    @Test mutating func removesNoMoreExpiredEventsThanAreAllowed() {
        cache = EventCache(bytesMax: .max)
        for index in 0..<10 { store("1", on: "cache-\(index)") }
        let count = cache.expire(at: Self.halfAnHour, removalsMax: 4)
        #expect(count == 4 && cache.channels.count == 6)
        #expect(cached("cache-9", at: Self.halfAnHour) == nil, "it has expired, although it is not removed")
        store("2", on: "cache-new", at: Self.halfAnHour)
        #expect(cache.channels.count == 5, "what is stored removes more than it adds")
        let rest = cache.expire(at: Self.halfAnHour)
        #expect(rest == 4 && cached("cache-new", at: Self.halfAnHour) == frame("2"))
    }

    @Test mutating func evictingAnExpiredEventIsNoEviction() {
        cache = EventCache(bytesMax: 4 * cost("cache-a", "1"))
        for channel in ["cache-a", "cache-b", "cache-c", "cache-d"] { store("1", on: channel) }
        store(String(repeating: "x", count: 300), on: "cache-e", at: Self.halfAnHour)
        #expect(cache.evictions == 0 && cached("cache-e", at: Self.halfAnHour) != nil)
    }

    @Test mutating func memoryIsGivenBackWhenFewAreLeft() throws {
        cache = EventCache(bytesMax: .max)
        for index in 0..<20_000 { store("1", on: "cache-\(index)", at: index < 19_990 ? 0 : Int64(index)) }
        let isEarly = cache.releaseMemory()
        #expect(!isEarly, "all are needed")
        cache.expire(at: Self.halfAnHour)
        let released = [cache.releaseMemory(), cache.releaseMemory()]
        #expect(released == [true, false])
        #expect(try #require(property("entries") as? [Any]).count == 10)
        #expect(cached("cache-19990", at: 0) == frame("1") && cached("cache-19989", at: 0) == nil)
        cache.expire(at: Self.halfAnHour + 19_992)
        #expect(cached("cache-19992", at: 0) == nil && cached("cache-19993", at: 0) != nil, "the order of their age is kept")
    }

    /// A private property of the cache.
    private func property(_ label: String) -> Any? { Mirror(reflecting: cache).children.first { $0.label == label }?.value }
}
