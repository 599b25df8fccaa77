import Testing

@testable import Access

@Suite struct IdentityTests {
    @Test func keyIncludesTheRole() {
        #expect(Identity(role: .driver, id: "42").key == "driver:42")
        #expect(Identity(role: .admin, id: "42").key == "admin:42")
        #expect(Identity(role: .customer, id: "a@b.c", name: "Anna", bookings: ["B-1"]).key == "customer:a@b.c")
        #expect(Identity(role: .ops, id: "night shift").key == "ops:night shift")
    }

    static let aliases: [(alias: String, key: String?)] = [
        ("driver-42", "driver:42"), ("customer-a-b", "customer:a-b"), ("admin-x y", "admin:x y"), ("ops-1", "ops:1"),
        ("driver-", nil), ("driver", nil), ("drivers-channel", nil), ("Driver-42", nil), ("driver:42", nil), ("driver-a b", nil),
        ("-42", nil), ("", nil), ("anna", nil),
    ]

    @Test(arguments: aliases) func aliasIsAKeyWithAHyphen(alias: String, key: String?) {
        #expect(Identity(alias: alias)?.key == key)
    }

    @Test(arguments: [
        ("driver", Role.driver), ("Driver", .driver), ("DRIVER", .driver), ("aDmIn", .admin), ("CUSTOMER", .customer),
        ("Ops", .ops),
    ]) func readsRolesInAnyCase(text: String, role: Role) {
        #expect(Role(anyCase: text) == role)
    }

    @Test(arguments: [
        "", " driver", "driver ", "drivers", "root", "op\u{17F}", "ops\0", "\u{FF4F}ps", "dri\u{301}ver", "admın", "ADMİN", "@ps",
    ]) func rejectsUnknownRoles(text: String) {
        #expect(Role(anyCase: text) == nil)
    }

    @Test(arguments: [Role.driver, .customer]) func driverAndCustomerIdsUseTheChannelAlphabet(role: Role) {
        for id in ["1", "42", "a", "D-7", "_-=@,.;", String(repeating: "x", count: 150)] {
            #expect(role.accepts(id: id), "\(id)")
        }
        for id in [
            "", String(repeating: "x", count: 151), "a b", "a/b", "a:b", "#1", "é", "\u{212A}", "a\0", "a\n", "*", "a\"",
            "\u{37E}",
        ] {
            #expect(!role.accepts(id: id), "\(id)")
        }
    }

    @Test(arguments: [Role.admin, .ops]) func adminAndOpsIdsPermitAllButControlCharacters(role: Role) {
        for id in ["1", "a b/c:d", "Jürgen 😀", "\u{A0}", String(repeating: "é", count: 75)] {
            #expect(role.accepts(id: id), "\(id)")
        }
        for id in ["", "a\0", "a\n", "\u{7F}", "\u{85}", "\u{9F}", "\r\n", String(repeating: "é", count: 75) + "x"] {
            #expect(!role.accepts(id: id), "\(id)")
        }
    }

    @Test func bookingReferencesAre1To150CharactersOfChannelNames() {
        #expect(Identity.isReference("BK-2026.001"))
        #expect(!Identity.isReference(""))
        #expect(!Identity.isReference("BK 1"))
        #expect(!Identity.isReference(String(repeating: "1", count: 151)))
    }

    @Test func equalityComparesBytes() {
        let one = Identity(role: .admin, id: "K", name: "é", bookings: ["a"])
        #expect(one == Identity(role: .admin, id: "K", name: "é", bookings: ["a"]))
        #expect(one != Identity(role: .ops, id: "K", name: "é", bookings: ["a"]))
        #expect(one != Identity(role: .admin, id: "\u{212A}", name: "é", bookings: ["a"]))
        #expect(one != Identity(role: .admin, id: "K", name: "e\u{301}", bookings: ["a"]))
        #expect(one != Identity(role: .admin, id: "K", name: nil, bookings: ["a"]))
        #expect(one != Identity(role: .admin, id: "K", name: "é", bookings: ["a", "b"]))
        #expect(Identity(role: .admin, id: "K", name: "") != Identity(role: .admin, id: "K"))
    }
}
