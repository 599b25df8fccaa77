import Primitives

/// How many codes are sent: each costs money, and each gives an attacker five tries.
package struct SignInCodeLimits: Equatable, Sendable {
    /// Most codes to one phone in an hour, and in a day.
    package static let (hourMax, dayMax) = (5, 10)
    static let hour: Int64 = 3_600_000
    /// Milliseconds for which the times of sent codes must be kept.
    package static let day: Int64 = 86_400_000

    /// Most codes of all phones in a day.
    package var dailyMax: Int
    /// Most codes in a day to phones without an account whose numbers begin alike (``PhoneNumber/prefix(of:)``).
    package var prefixDailyMax: Int

    package init(dailyMax: Int = 10_000, prefixDailyMax: Int = 500) {
        self.dailyMax = dailyMax
        self.prefixDailyMax = prefixDailyMax
    }

    /// Most codes in a day to phones without an account. Anybody can ask for these, so half of all is kept for the others.
    package var newPhonesMax: Int { dailyMax - dailyMax / 2 }

    /// Most codes in a day to phones without an account that one client address asks for.
    package var addressMax: Int { max(1, dailyMax / 20) }

    // MARK: A phone's own addresses

    /// Milliseconds for which a phone's sign-in makes a client address the phone's own.
    package static let ownAddressTime: Int64 = 90 * day
    /// Most own addresses of a phone. The one not used for the longest time goes.
    package static let ownAddressesMax = 5

    /// Whether the sign-in from an address is not too long ago. Not ahead either, as before a clock correction.
    package static func isOwnAddress(signedInAt: Int64, now: Int64) -> Bool {
        (-SignInCodeSession.setBackMax..<ownAddressTime).contains(now - signedInAt)
    }

    // MARK: Decisions

    /// Codes of the last day that limit a further one.
    package struct Sent: Equatable, Sendable {
        /// When codes were sent to the phone, in milliseconds since 1970, in any order: those that it has asked for from its
        /// own addresses, or those from all other ones. Those that could not be sent do not count.
        package var toPhone: [Int64]
        /// Codes to all phones.
        package var toAll: Int
        /// Nil for a phone with an account: nothing else limits it.
        package var ofNewPhones: OfNewPhones?

        package init(toPhone: [Int64] = [], toAll: Int = 0, ofNewPhones: OfNewPhones? = nil) {
            self.toPhone = toPhone
            self.toAll = toAll
            self.ofNewPhones = ofNewPhones
        }
    }

    /// Codes of the last day to phones without an account.
    package struct OfNewPhones: Equatable, Sendable {
        package var all: Int
        /// Those to numbers that begin like the phone's.
        package var ofPrefix: Int
        /// Those that the client address has asked for.
        package var fromAddress: Int
        package var prefix: SignInCodePrefix

        package init(all: Int = 0, ofPrefix: Int = 0, fromAddress: Int = 0, prefix: SignInCodePrefix = SignInCodePrefix()) {
            self.all = all
            self.ofPrefix = ofPrefix
            self.fromAddress = fromAddress
            self.prefix = prefix
        }
    }

    /// Why no code may be sent now; nil if one may.
    package func refusal(_ sent: Sent, now: Int64) -> SignInCodeRefusal? {
        let waits = [(Self.hour, Self.hourMax), (Self.day, Self.dayMax)].compactMap { window, most in
            Self.wait(sent.toPhone, window: window, most: most, now: now)
        }
        if let wait = waits.max() { return SignInCodeRefusal(.phone, wait: wait) }
        if let new = sent.ofNewPhones {
            if let wait = new.prefix.stoppedSeconds(now: now) { return SignInCodeRefusal(.stoppedPrefix, wait: wait) }
            let limits = [
                (SignInCodeLimit.address, new.fromAddress, addressMax), (.prefix, new.ofPrefix, prefixDailyMax),
                (.newPhones, new.all, newPhonesMax),
            ]
            if let (limit, _, _) = limits.first(where: { $0.1 >= $0.2 }) {
                return SignInCodeRefusal(limit, wait: Self.retrySeconds)
            }
        }
        return sent.toAll >= dailyMax ? SignInCodeRefusal(.dailyMax, wait: Self.retrySeconds) : nil
    }

    /// Codes are counted by the hour, so no sooner is there room.
    private static let retrySeconds = 3_600

    /// Whether another code may be tried for a phone. Each code has five tries, but those of codes that were sent at the
    /// end of one hour and at the beginning of the next would add up.
    /// - Parameter wrong: when wrong codes were tried for the phone in the last day, in milliseconds since 1970.
    package func mayTry(wrong: [Int64], now: Int64) -> Bool {
        let tries = SignInCodeSession.triesMax
        return Self.wait(wrong, window: Self.hour, most: Self.hourMax * tries, now: now) == nil
            && Self.wait(wrong, window: Self.day, most: Self.dayMax * tries, now: now) == nil
    }

    /// The seconds until fewer than `most` times are within the window; nil if there are fewer now. Times over a
    /// minute ahead stem from before a clock correction: they must not block a phone until the clock is there again.
    static func wait(_ times: [Int64], window: Int64, most: Int, now: Int64) -> Int? {
        let inWindow = times.filter { $0 - now <= SignInCodeSession.setBackMax }.map { min($0, now) }.filter { now - $0 < window }
            .sorted()
        guard inWindow.count >= most else { return nil }
        let free = inWindow[inWindow.count - most] + window
        return max(1, Int((free - now + 999) / 1_000))
    }
}
