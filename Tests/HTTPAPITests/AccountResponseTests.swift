import Foundation
import Primitives
import Testing

@testable import Fleet
@testable import PusherAPI

/// The answers about accounts, byte for byte: Golden/accounts has them as the contract writes them.
@Suite struct AccountResponseTests {
    private static let registered = Timestamp.milliseconds(iso8601: "2026-11-24T10:00:00Z") ?? 0

    private func account(_ status: AccountStatus) throws -> Account {
        let id = try #require(ObjectID("0123456789abcdef01234567"))
        var account = Account(
            id: id, uid: "U", personID: "D7", phone: "9179621765",
            Registration(
                name: "Rahul Kumar", email: nil, profileImage: nil, licenseNumber: "MH14",
                licenseImageURL: "https://i.example/l", licenseExpiryDate: "2099-12-31", vehicleName: "Activa",
                vehicleNumber: "MH12AB1234", vehicleType: .scooter,
                vehicleDocuments: [VehicleDocument(kind: .registration, imageURL: "https://i.example/rc", expiryDate: nil)]),
            createdAt: Self.registered)
        account.status = status
        if status == .rejected { (account.reason, account.version) = ("Blurred", 2) }
        if status == .active { account.lastLoginAt = Self.registered + 1_500 }
        return account
    }

    private func golden(_ name: String) throws -> String {
        let file = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "Golden/accounts/\(name).json")
        return try String(contentsOf: file, encoding: .utf8)
    }

    private func body(_ response: AccountResponse) -> String {
        String(decoding: FleetResponses.body(of: .account(response), correlationID: "c-1"), as: UTF8.self) + "\n"
    }

    private func body(_ result: AccountResult) -> String {
        String(decoding: FleetResponses.body(of: .account(result)), as: UTF8.self) + "\n"
    }

    @Test func sync() throws {
        #expect(body(.sync(nil)) == (try golden("sync-none")))
        #expect(body(.sync(try account(.pending))) == (try golden("sync-pending")))
        #expect(body(.sync(try account(.rejected))) == (try golden("sync-rejected")))
        #expect(body(.sync(try account(.active))) == (try golden("sync-active")))
    }

    @Test func registrationAndProfile() throws {
        let pending = try account(.pending)
        #expect(body(.registered(pending)) == (try golden("registered")))
        #expect(body(AccountResult.own(pending, maskedTokens: ["a1b2…9f0e"])) == (try golden("me")))
        #expect(body(.profile(pending, maskedTokens: ["a1b2…9f0e"])) == (try golden("profile")))
    }

    @Test func dispatchers() throws {
        let rejected = try account(.rejected)
        #expect(body(.decided("Driver rejected", rejected, notificationIDs: ["N1"])) == (try golden("decided")))
        #expect(body(AccountResult.one(rejected)) == (try golden("account")))
        #expect(body(AccountResult.list([rejected])) == (try golden("list")))
    }
}
