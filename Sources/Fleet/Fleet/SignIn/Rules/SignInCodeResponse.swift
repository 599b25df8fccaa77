import Access

/// What became of the SMS with a code.
package struct SignInCodeSMS: Equatable, Sendable {
    package let sessionID: String
    /// Identifies the code among those of the session.
    package let sendID: String
    /// Whether it is the answer to a ``ResendSignInCode``.
    package let isResent: Bool
    package let isSent: Bool
    /// Whether the SMS may have been sent although ``isSent`` is false: an attempt had no answer.
    package let mayBeSent: Bool

    package init(sessionID: String, sendID: String, isResent: Bool, isSent: Bool, mayBeSent: Bool = false) {
        self.sessionID = sessionID
        self.sendID = sendID
        self.isResent = isResent
        self.isSent = isSent
        self.mayBeSent = mayBeSent
    }
}

/// An SMS with a code, to be sent after the commit. The only place outside the adapter's request where the code is in
/// clear, so it must not be stored or logged.
package struct SignInCodeMessage: Equatable, Sendable {
    package let sessionID: String
    /// See ``SignInCodeSMS/sendID``.
    package let sendID: String
    package let isResent: Bool
    /// In E.164.
    package let phone: String
    package let code: String

    package init(sessionID: String, sendID: String, isResent: Bool, phone: String, code: String) {
        self.sessionID = sessionID
        self.sendID = sendID
        self.isResent = isResent
        self.phone = phone
        self.code = code
    }

    /// The result of sending it.
    package func result(isSent: Bool, mayBeSent: Bool = false) -> SignInCodeSMS {
        SignInCodeSMS(
            sessionID: sessionID, sendID: sendID, isResent: isResent, isSent: isSent, mayBeSent: mayBeSent)
    }
}

/// The response to a command of sign-in by code, and of the accounts of customers who have signed in so.
package struct SignInCodeResponse: Equatable, Sendable {
    package enum Content: Equatable, Sendable {
        /// A code is on its way. The seconds are those until its end, and until another one may be sent.
        case sent(sessionID: String, isResent: Bool, expiresIn: Int, cooldown: Int)
        case verified(Customer, token: String)
        case refreshed(token: String)
        case ended
        case details(CustomerRegistration)
        case payment(CustomerRegistration)
    }

    package let content: Content
    /// When the command was executed, in milliseconds since 1970.
    package let at: Int64

    package init(_ content: Content, at: Int64) {
        self.content = content
        self.at = at
    }
}

/// What the token of a customer says. The gateway signs it.
package struct CustomerTokenClaims: Equatable, Sendable {
    package let customer: Customer
    /// The references of the customer's open orders.
    package let bookings: [String]
    /// `jti`: see ``TokenSession``.
    package let id: String
    /// Seconds since 1970.
    package let issuedAt: Int64

    package init(customer: Customer, bookings: [String], id: String, issuedAt: Int64) {
        self.customer = customer
        self.bookings = bookings
        self.id = id
        self.issuedAt = issuedAt
    }

    /// Seconds for which a token is good.
    package static let lifetime: Int64 = 3_600
    /// Seconds after its end for which a token can be exchanged for a new one.
    package static let refreshTime: Int64 = 30 * 86_400

    /// The customer, as the token names the person.
    package var identity: Identity {
        Identity(role: .customer, id: String(customer.id), name: customer.name, bookings: bookings)
    }
}

/// Tokens that are refused from now on: those of one sign-in, or of one customer.
package struct EndedTokens: Equatable, Sendable {
    /// A ``TokenSession/id``, or the ``Identity/key`` of a customer.
    package let key: String
    /// From then on none of them can be refreshed any more: milliseconds since 1970.
    package let until: Int64

    package init(key: String, until: Int64) {
        self.key = key
        self.until = until
    }
}

/// What happened in a transaction, for the metrics and the operator.
package struct SignInCodeCounts: Equatable, Sendable {
    package var outcomes: [SignInCodeOutcome: Int] = [:]
    /// From the SMS to the right code, in seconds.
    package var verifySeconds: [Double] = []
    /// The refusals by each limit.
    package var limited: [SignInCodeLimit: Limited] = [:]
    /// The prefixes (``PhoneNumber/prefix(of:)``) that were stopped.
    package var stoppedPrefixes: [String] = []

    package struct Limited: Equatable, Sendable {
        package var count = 0
        /// The prefix of the last refused phone, if the limit is that of a prefix.
        package var prefix: String?

        package init(count: Int = 0, prefix: String? = nil) {
            self.count = count
            self.prefix = prefix
        }
    }

    package init() {}

    package var isEmpty: Bool {
        outcomes.isEmpty && verifySeconds.isEmpty && limited.isEmpty && stoppedPrefixes.isEmpty
    }

    package mutating func add(_ outcome: SignInCodeOutcome) { outcomes[outcome, default: 0] += 1 }

    /// Counts a refusal by a limit.
    /// - Parameter phone: in E.164; nil if the limit does not concern a phone.
    package mutating func add(_ limit: SignInCodeLimit, phone: String? = nil) {
        limited[limit, default: Limited()].count += 1
        if [.prefix, .stoppedPrefix].contains(limit) { limited[limit]?.prefix = phone.map(PhoneNumber.prefix(of:)) }
    }

    package mutating func add(_ later: SignInCodeCounts) {
        outcomes.merge(later.outcomes, uniquingKeysWith: +)
        verifySeconds += later.verifySeconds
        limited.merge(later.limited) { Limited(count: $0.count + $1.count, prefix: $1.prefix) }
        stoppedPrefixes += later.stoppedPrefixes
    }
}
