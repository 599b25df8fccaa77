import Foundation
import Primitives
import Testing

@testable import Fleet
@testable import PusherAPI

/// The answers below `/api/mobile/v1`, byte for byte: Golden/codes has them as the contract writes them.
@Suite struct SignInCodeResponseTests {
    private static let time = Timestamp.milliseconds(iso8601: "2024-01-01T12:00:00.999Z") ?? 0

    private func golden(_ name: String) throws -> String {
        let file = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "Golden/codes/\(name)")
        return try String(contentsOf: file, encoding: .utf8)
    }

    private func body(_ content: SignInCodeResponse.Content) -> String {
        String(
            decoding: FleetResponses.body(of: .code(SignInCodeResponse(content, at: Self.time)), correlationID: "c-1"),
            as: UTF8.self)
            + "\n"
    }

    private func customer(isComplete: Bool) -> Customer {
        Customer(
            id: 12_345, phone: "+11234567890", name: "Ann", email: isComplete ? "a@b.example" : nil,
            payment: isComplete ? PaymentMethod(token: "t", brand: nil, last4: nil, expiryMonth: nil, expiryYear: nil) : nil,
            createdAt: 0, updatedAt: 0, lastLoginAt: Self.time)
    }

    @Test func codes() throws {
        for (isResent, name) in [(false, "sent.json"), (true, "resent.json")] {
            let content = SignInCodeResponse.Content.sent(
                sessionID: "temp_abcdefghijklmnopqrstuv", isResent: isResent, expiresIn: 300, cooldown: 60)
            #expect(body(content) == (try golden(name)))
        }
    }

    @Test func tokens() throws {
        #expect(body(.verified(customer(isComplete: false), token: "T")) == (try golden("verified.json")))
        #expect(body(.verified(customer(isComplete: true), token: "T")) == (try golden("verified-complete.json")))
        #expect(body(.refreshed(token: "T")) == (try golden("refreshed.json")))
        #expect(body(.ended) == (try golden("ended.json")))
    }

    @Test func registration() throws {
        #expect(body(.details(CustomerRegistration(hasBasicDetails: true))) == (try golden("details.json")))
        let complete = CustomerRegistration(hasBasicDetails: true, hasPayment: true)
        #expect(body(.payment(complete)) == (try golden("payment.json")))
    }

    @Test func errors() throws {
        let errors: [APIError] = [
            APIError(RuleError(.invalid, "Invalid OTP", figures: [.init("attempts_remaining", 4)])),
            APIError(RuleError(.invalid, "OTP expired")),
            APIError(
                RuleError(
                    .limited, "Please wait before requesting another code", retryAfterSeconds: 42,
                    figures: [.init("cooldown_remaining", 42)])),
            APIError(429, "Too many commands of customer:1: try again", summary: "Too many requests"),
            APIError(RuleError.codeNotSent), APIError(RuleError(.conflict, "Email already in use")),
            APIError(RuleError(.unauthenticated, "The session has ended")),
            .unauthorized("The token expired at …", isExpired: true), APIError(404, "Unknown path: /x"),
            .methodNotAllowed("POST"), APIError(413, "The body exceeds the allowed maximum"),
            APIError(500, "The store failed"), APIError(503, "The store cannot write now"),
        ]
        let envelope = Envelope.mobile(at: 0).at(Self.time)
        let bodies = errors.map { String(decoding: envelope.response(for: $0).body, as: UTF8.self) }
        #expect(bodies == (try golden("errors.txt")).split(separator: "\n").map(String.init))
        #expect(envelope.response(for: errors[2]).headers["Retry-After"] == "42")
        #expect(envelope.response(for: errors[6]).headers["WWW-Authenticate"]?.contains("invalid_token") == true)
    }

    @Test func otherEnvelopesHaveNoTime() {
        for envelope in [Envelope.success, .message, .error] {
            #expect(envelope.at(5).error(400, "x").body == envelope.error(400, "x").body)
        }
    }
}
