/// A device's address at a provider, as the app registers it.
package struct DeviceToken: Equatable, Sendable {
    /// The device's operating system.
    package enum Platform: String, CaseIterable, Sendable { case ios, android }
    /// The APNs environment: each has its own host and device tokens.
    package enum Environment: String, CaseIterable, Sendable { case production, sandbox }

    package let provider: PushProvider
    /// Nil for an FCM token whose app did not send the platform: FCM delivers to both platforms without it.
    package let platform: Platform?
    /// Nil for FCM, and for an APNs token whose environment is not known yet: an APNs token is valid in one environment
    /// only, but some apps do not send which.
    package let environment: Environment?
    /// The whole token. Secret: the gateway sends it only to the provider, and the store encrypts it.
    package let text: String

    /// A token of APNs: an even number of hexadecimal digits, from 16 to 400. Apple does not specify the length
    /// ("Registering your app with APNs").
    /// - Throws: `.invalid` (400) for anything else.
    package static func apns(_ text: String, _ environment: Environment? = nil) throws(RuleError) -> DeviceToken {
        let digits = text.utf8.map { $0 >= UInt8(ascii: "A") && $0 <= UInt8(ascii: "F") ? $0 | 0x20 : $0 }
        let isHexadecimal = digits.allSatisfy {
            $0 >= UInt8(ascii: "0") && $0 <= UInt8(ascii: "9") || $0 >= UInt8(ascii: "a") && $0 <= UInt8(ascii: "f")
        }
        guard isHexadecimal, (16...400).contains(digits.count), digits.count.isMultiple(of: 2) else {
            throw RuleError(.wrongAPNsToken)
        }
        return DeviceToken(
            provider: .apns, platform: .ios, environment: environment, text: String(decoding: digits, as: UTF8.self))
    }

    /// How languages write that there is no value. Apps send it when they have no token yet, each phone the same.
    private static let absences: Set = ["null", "(null)", "nil", "none", "undefined", "nan", "optional(nil)"]

    /// A token of FCM: 1 to 4,096 printable ASCII characters without spaces.
    /// - Throws: `.invalid` (400) for anything else.
    package static func fcm(_ text: String, _ platform: Platform? = nil) throws(RuleError) -> DeviceToken {
        if text.utf8.count <= 16, absences.contains(text.lowercased()) {
            throw RuleError(.absentFCMToken, text)
        }
        guard (1...4_096).contains(text.utf8.count), text.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F }) else {
            throw RuleError(.wrongFCMToken)
        }
        return DeviceToken(provider: .fcm, platform: platform, environment: nil, text: text)
    }

    package init(provider: PushProvider, platform: Platform?, environment: Environment?, text: String) {
        self.provider = provider
        self.platform = platform
        self.environment = environment
        self.text = text
    }

    /// The push lane (one per provider and APNs environment) that sends to this token. A token of an unknown
    /// environment is tried at production first, because most are released apps'.
    package var lane: PushLane {
        switch provider {
        case .fcm: .fcm
        case .apns: environment == .sandbox ? .apnsSandbox : .apns
        }
    }

    /// For logs and reports: the first four and the last four characters, as in `a1b2…9f0e`. A token of fewer than 16
    /// characters shows one character at each end.
    package var masked: String {
        let shown = text.utf8.count >= 16 ? 4 : 1
        return "\(text.prefix(shown))…\(text.suffix(shown))"
    }
}

extension RuleError.Code {
    package static let wrongAPNsToken = Self(
        "wrongAPNsToken", .invalid, "an iOS token is an even number of hexadecimal digits, from 16 to 400")
    package static let wrongFCMToken = Self(
        "wrongFCMToken", .invalid, "an FCM token is 1 to 4096 printable ASCII characters without spaces")
    /// The token says that there is none.
    package static let absentFCMToken = Self(
        "absentFCMToken", .invalid, "an FCM token is 1 to 4096 printable ASCII characters; found {}, which is no token")
}
