import Primitives
import Testing

@testable import Fleet

/// Makes ids that increase with a number.
private struct SeededIDs: RandomNumberGenerator {
    let number: UInt64
    mutating func next() -> UInt64 { UInt64.max / 16 * number }
}

extension Account {
    /// A pending account with all optional fields.
    static func sample(_ number: Int = 1, createdAt: Int64 = noon) -> Account {
        var random = SeededIDs(number: UInt64(number))
        return Account(
            id: .random(using: &random), uid: "uid-\(number)", personID: "driver\(number)", phone: "98\(number)",
            Registration(
                name: "Rahul", email: "r@example.com", profileImage: "https://i.example/p", licenseNumber: "L-1",
                licenseImageURL: "https://i.example/l", licenseExpiryDate: "2099-12-31", vehicleName: "Activa",
                vehicleNumber: "MH12AB1234", vehicleType: .scooter,
                vehicleDocuments: [
                    VehicleDocument(kind: .emissions, imageURL: "https://i.example/1", expiryDate: "2020-01-31"),
                    VehicleDocument(kind: .other, imageURL: "https://i.example/\"2\"", expiryDate: nil),
                ]),
            createdAt: createdAt)
    }
}

struct AccountTableTests {
    private let store = TemporaryStore()
    private let accounts: AccountTable

    init() throws {
        accounts = AccountTable(
            database: try Database.open(store.address, durability: .normal, now: noon, migrations: Migrations()))
    }

    @Test(arguments: AccountStatus.allCases) func keepsEveryField(_ status: AccountStatus) throws {
        var account = Account.sample()
        try accounts.store(account)
        #expect(try accounts.account(uid: "uid-1") == account)
        account.status = status
        account.reason = status == .rejected ? "Blurred" : nil
        account.version = 7
        account.personID = "other"
        account.phone = "55"
        account.registration.email = nil
        account.registration.profileImage = nil
        account.registration.licenseExpiryDate = nil
        account.registration.vehicleDocuments.removeLast()
        account.updatedAt += 5
        account.lastLoginAt = status == .active ? noon + 9 : nil
        try accounts.store(account)
        #expect(try accounts.account(id: account.id) == account)
        #expect(try accounts.account(personID: "other") == account)
        #expect(try accounts.account(personID: "driver1") == nil)
        #expect(try accounts.account(phone: "55") == account)
    }

    @Test func findsADriverByEitherID() throws {
        let account = Account.sample()
        try accounts.store(account)
        #expect(try accounts.account(ofDriver: account.id.text) == account)
        #expect(try accounts.account(ofDriver: "driver1") == account)
        #expect(try accounts.account(ofDriver: "nobody") == nil)
        try accounts.remove(id: account.id)
        #expect(try accounts.account(ofDriver: "driver1") == nil)
    }

    @Test func noTwoAccountsHaveOneUserOnePhoneOrOneID() throws {
        try accounts.store(.sample(1))
        var other = Account.sample(2)
        other.phone = "981"
        #expect(throws: DatabaseError.self) { try accounts.store(other) }
        other = .sample(2)
        other.personID = "driver1"
        #expect(throws: DatabaseError.self) { try accounts.store(other) }
    }

    @Test func listsTheNewestFirst() throws {
        var all: [Account] = []
        for number in 1...9 {
            var account = Account.sample(number, createdAt: noon + Int64(number / 2))
            account.status = number % 3 == 0 ? .active : .pending
            try accounts.store(account)
            all.insert(account, at: 0)
        }
        #expect(try accounts.newest(nil, before: nil, limit: 100) == all)
        #expect(try accounts.newest(.active, before: nil, limit: 100) == all.filter { $0.status == .active })
        var pages: [Account] = []
        while true {
            let page = try accounts.newest(.pending, before: pages.last, limit: 2)
            if page.isEmpty { break }
            pages += page
        }
        #expect(pages == all.filter { $0.status == .pending })
        var restored: [Account] = []
        try accounts.each { restored.append($0) }
        #expect(restored == all.reversed())
    }
}
