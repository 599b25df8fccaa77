import Access
import Primitives
import Testing

@testable import Fleet

/// A driver's list of notifications is without the customer's name and addresses of jobs that the driver no longer has.
@Suite struct FormerJobTests {
    private static let secrets = ["Ann Öz", "1 High St", "2 Low Rd"]

    private let store = TemporaryStore()

    private func job(bookingID: String? = nil) -> OrderChanges {
        var changes = OrderChanges()
        if let bookingID { changes.bookingID = .set(bookingID) }
        changes.customerName = .set(Self.secrets[0])
        changes.pickupAddress = .set(Self.secrets[1])
        changes.dropoffAddress = .set(Self.secrets[2])
        return changes
    }

    private func list(_ person: Identity, before: String? = nil, limit: Int = 50) throws -> String {
        try store.response(to: .notifications(of: person, before: before, limit: limit)).get()
    }

    /// How many of the three texts a driver's list has, over all notifications.
    private func count(_ driverID: String) throws -> Int {
        let list = try list(driver(driverID))
        return Self.secrets.reduce(0) { $0 + list.ranges(of: "\"\($1)\"").count }
    }

    @Test func currentDriverSeesThem() throws {
        let executor = try store.executor()
        let sent = try executor.commit(assign("A", to: "42", changes: job())).notifications[0]
        #expect(try list(driver("42")).contains(String(decoding: sent.data, as: UTF8.self)))
        _ = try executor.commit(command(AcceptJob("A"), by: driver("42")), at: noon + 1)
        #expect(try count("42") == 3)
    }

    @Test func formerDriverDoesNot() throws {
        let executor = try store.executor()
        for (number, kind) in [OrderAction.Kind.unassign, .removeDriver, .cancel].enumerated() {
            let (code, id) = ("A\(number)", "4\(number)")
            let sent = try executor.commit(assign(code, to: id, changes: job())).notifications[0]
            _ = try executor.commit(order(kind, code), at: noon + 1)
            #expect(try count(id) == 0, "\(kind)")
            // Everything else in the list is as it was sent.
            let rest = Self.secrets.reduce(String(decoding: sent.data, as: UTF8.self)) { $0.replacing("\"\($1)\"", with: "null") }
            #expect(try list(driver(id)).contains(rest), "\(kind)")
        }
    }

    @Test func reassignmentMovesThem() throws {
        let executor = try store.executor()
        _ = try executor.commit(assign("A", to: "42", changes: job()))
        _ = try executor.commit(assign("A", to: "43"), at: noon + 1)
        #expect(try (count("42"), count("43")) == (0, 3))
        _ = try executor.commit(assign("A", to: "42"), at: noon + 2)
        #expect(try (count("42"), count("43")) == (6, 0), "both assignments are of the job that the driver has again")
    }

    @Test func driverWhoHasCompletedTheJobKeepsThem() throws {
        let executor = try store.executor()
        _ = try executor.commit(assign("A", to: "41", changes: job()))
        _ = try executor.commit(assign("A", to: "42"), at: noon + 1)
        _ = try executor.commit(command(AcceptJob("A"), by: driver("42")), at: noon + 2)
        for (number, step) in [JobStatus.enRoute, .arrived, .loading, .inTransit, .unloading, .completed].enumerated() {
            _ = try executor.commit(
                command(ReportProgress("A", ProgressReport(step: step)), by: driver("42")), at: noon + 3 + Int64(number))
        }
        #expect(try (count("41"), count("42")) == (0, 3))
    }

    /// A booking's id stands for the order of the booking that the driver has.
    @Test func bookingsWithSeveralOrders() throws {
        let executor = try store.executor()
        _ = try executor.commit(assign("A", to: "42", changes: job(bookingID: "B-1")))
        _ = try executor.commit(assign("B", to: "43", changes: job(bookingID: "B-1")), at: noon + 1)
        #expect(try (count("42"), count("43")) == (3, 3))
        _ = try executor.commit(order(.unassign, "A"), at: noon + 2)
        #expect(try (count("42"), count("43")) == (0, 3))
    }

    @Test func ordersThatAreGoneAreNobodys() throws {
        let executor = try store.executor()
        _ = try executor.commit(assign("A", to: "42", changes: job()))
        try store.unchecked().run("DELETE FROM orders")
        #expect(try count("42") == 0)
    }

    /// Pages are those of all notifications, with the same ids.
    @Test func pagesStayTheSame() throws {
        let executor = try store.executor()
        for number in 0..<6 { _ = try executor.commit(assign("A\(number)", to: "42", changes: job()), at: noon + Int64(number)) }
        for number in [0, 3, 4] { _ = try executor.commit(order(.removeDriver, "A\(number)"), at: noon + 9) }
        let ids = { (text: String) in text.matches(of: /"id":"([^"]*)"/).map { String($0.1) } }
        let all = try ids(list(driver("42")))
        #expect(all.count == 9)
        var pages: [String] = []
        while case let page = try ids(list(driver("42"), before: pages.last, limit: 2)), !page.isEmpty { pages += page }
        #expect(pages == all)
        #expect(try count("42") == 9)
    }

    @Test func replayIsAsItWasSent() throws {
        let executor = try store.executor()
        let sent = try executor.commit(assign("A", to: "42", changes: job())).notifications[0]
        _ = try executor.commit(assign("A", to: "43"), at: noon + 1)
        #expect(try store.page(phone()).notifications[0].notification == sent)
    }

    /// What a backend announces to a driver stays as the backend has sent it, and so does a customer's own list.
    @Test func announcementsAndCustomersAreNotConcerned() throws {
        let executor = try store.executor()
        let data = Array(#"{"bookingId":"A","customerName":"Ann Öz"}"#.utf8)
        for audience in [Announcement.Audience.drivers(["42"]), .customer("7")] {
            _ = try executor.commit(command(Announce(Announcement(type: "HELLO", audience: audience, data: data))))
        }
        for person in [driver("42"), customer("7")] { #expect(try list(person).contains("Ann Öz")) }
    }
}
