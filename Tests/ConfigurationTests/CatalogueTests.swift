import Testing

@testable import Configuration

@Suite struct CatalogueTests {
    typealias Entry = Settings.Catalogue.Entry

    private func catalogue(_ yaml: String, _ environment: [String: String] = [:]) throws -> Settings.Catalogue {
        try read("notifications: {file: n.yaml}", environment, files: ["n.yaml": yaml]).get().notifications
    }

    // MARK: What is built in

    static let names = [
        "job-assigned", "job-removed", "order-removed", "schedule-updated", "job-available-again", "job-cancelled",
        "job-removed-from-list", "tracking-stopped", "driver-removed", "route-cancelled", "route-unassigned",
        "route-assigned", "drop-removed", "driver-arrival", "NEW_BATCH_AVAILABLE", "DRIVER_APPROVED", "DRIVER_REJECTED",
        "BATCH_REASSIGNED", "ORDER_CANCELLED", "driver_arrival",
    ]

    @Test("Every event that drivers and customers hear has an entry, and every type")
    func builtIn() {
        #expect(Settings.Catalogue.builtIn.names == Self.names.sorted())
        #expect(Settings.Catalogue.builtIn.entry(for: "job-accepted") == nil)
        #expect(Settings.Catalogue.builtIn.entry(for: "JOB-ASSIGNED") == nil)
    }

    @Test("Apps are told the types they know")
    func dataTypes() {
        func type(_ name: String) -> String? { Settings.Catalogue.builtIn.entry(for: name)?.dataType }
        #expect(type("job-assigned") == "new_job")
        #expect(type("route-assigned") == "new_route")
        for name in ["route-cancelled", "route-unassigned", "drop-removed"] { #expect(type(name) == "route_update") }
        for name in ["job-removed", "order-removed", "driver-removed", "tracking-stopped"] { #expect(type(name) == "job_update") }
        for name in Self.names where name.contains("_") { #expect(type(name) == name) }
        #expect(type("driver-arrival") == "driver_arrival")
    }

    @Test("What is late is worthless sooner or later")
    func lifetimes() {
        for name in Self.names {
            let seconds = Settings.Catalogue.builtIn.entry(for: name)?.lifetimeSeconds
            switch name {
            case "job-assigned": #expect(seconds == 3_600)
            case "driver-arrival", "driver_arrival": #expect(seconds == 600)
            default: #expect(seconds == 86_400)
            }
        }
    }

    @Test("Revocations and arrivals are urgent, and some events are not pushed")
    func urgency() {
        let entries = Self.names.compactMap(Settings.Catalogue.builtIn.entry)
        #expect(
            Set(entries.filter(\.urgent).map(\.name)) == [
                "job-removed", "order-removed", "job-cancelled", "route-cancelled", "route-unassigned", "drop-removed",
                "BATCH_REASSIGNED", "ORDER_CANCELLED", "driver-arrival", "driver_arrival",
            ])
        #expect(
            Set(entries.filter { $0.push == .off }.map(\.name)) == [
                "schedule-updated", "job-removed-from-list", "tracking-stopped", "job-available-again",
            ])
        #expect(entries.allSatisfy { $0.push == .off || $0.push == nil })
    }

    @Test("A phone shows whole sentences, whatever is missing", arguments: names)
    func texts(name: String) throws {
        let entry = try #require(Settings.Catalogue.builtIn.entry(for: name))
        for value in [nil, "x"] {
            for text in [entry.title, entry.body].map({ $0.render { _ in value } }) {
                #expect((1...80).contains(text.count), "\(text)")
                #expect(!text.contains("  ") && text.first != " " && text.last != " ", "\(text)")
            }
        }
        #expect(entry.sound == "default")
    }

    @Test("A new job says from where to where, an arrival who has arrived")
    func wording() throws {
        let job = try #require(Settings.Catalogue.builtIn.entry(for: "job-assigned"))
        let addresses = ["pickupAddress": "1 Quay St", "dropoffAddress": "9 Mill Ln"]
        #expect(job.title.render { addresses[$0] } == "New job")
        #expect(job.body.render { addresses[$0] } == "1 Quay St to 9 Mill Ln")
        #expect(job.body.render { _ in nil } == "Pickup to destination")
        for name in ["driver-arrival", "driver_arrival"] {
            let arrival = try #require(Settings.Catalogue.builtIn.entry(for: name))
            #expect(arrival.title.render { _ in nil } == "Your driver has arrived!")
            #expect(arrival.body.render { _ in nil } == "Your driver is waiting for you")
            #expect(arrival.body.render { $0 == "driverName" ? "Ada" : nil } == "Ada is waiting for you")
            #expect(arrival.category == "DRIVER_ARRIVAL")
        }
    }

    // MARK: What a file says

    @Test("No file, or one that says nothing, leaves what is built in", arguments: ["", "# a comment", "{}", "job-assigned:"])
    func nothing(yaml: String) throws {
        #expect(try catalogue(yaml) == .builtIn)
        #expect(try read("notifications: {file: ''}").get().notifications == .builtIn)
    }

    @Test("Every key reaches its field")
    func everyKey() throws {
        let yaml = """
            lunch-break:
              {data_type: breaks, title: "Lunch, {name}", body: "{until|soon}", sound: bell.caf, category: LUNCH, thread: day,
               channel_id: calm, priority: normal, lifetime: 30s, collapse: order, urgent: true, push: fallback}
            """
        var expected = Entry("lunch-break")
        expected.dataType = "breaks"
        expected.title = "Lunch, {name}"
        expected.body = "{until|soon}"
        expected.sound = "bell.caf"
        expected.category = "LUNCH"
        expected.thread = "day"
        expected.channelID = "calm"
        expected.priority = .normal
        expected.lifetimeSeconds = 30
        expected.collapse = .order
        expected.urgent = true
        expected.push = .fallback
        #expect(try catalogue(yaml).entry(for: "lunch-break") == expected)
    }

    @Test("A new entry starts from the defaults of its name, a known one from what is built in")
    func defaults() throws {
        let changed = try catalogue("lunch-break: {}\nROAD_CLOSED: ~\nroute-late: {}\njob-assigned: {push: mirror}")
        let fresh = try #require(changed.entry(for: "lunch-break"))
        #expect(fresh == Entry("lunch-break"))
        #expect(fresh.title == "")
        #expect(fresh.body.render { $0 == "message" ? "Eat" : nil } == "Eat")
        #expect(fresh.dataType == "job_update")
        #expect(fresh.priority == .high)
        #expect(fresh.collapse == .notification)
        #expect(fresh.lifetimeSeconds == 86_400)
        #expect(!fresh.urgent)
        #expect(fresh.push == nil)
        #expect(changed.entry(for: "ROAD_CLOSED")?.dataType == "ROAD_CLOSED")
        #expect(changed.entry(for: "route-late")?.dataType == "route_update")
        var job = try #require(Settings.Catalogue.builtIn.entry(for: "job-assigned"))
        job.push = .mirror
        #expect(changed.entry(for: "job-assigned") == job)
        #expect(changed.names.count == Self.names.count + 3)
    }

    @Test("A lifetime that nobody gives is that of the type that somebody does")
    func lifetimeOfType() throws {
        #expect(try catalogue("a: {data_type: new_job}").entry(for: "a")?.lifetimeSeconds == 3_600)
        #expect(try catalogue("a: {data_type: new_job, lifetime: 2m}").entry(for: "a")?.lifetimeSeconds == 120)
    }

    @Test("Every word is accepted")
    func choices() throws {
        for push in Entry.Push.allCases {
            #expect(try catalogue("a: {push: \(push.rawValue)}").entry(for: "a")?.push == push)
        }
        for priority in Entry.Priority.allCases {
            #expect(try catalogue("a: {priority: \(priority.rawValue)}").entry(for: "a")?.priority == priority)
        }
        for collapse in Entry.Collapse.allCases {
            #expect(try catalogue("a: {collapse: \(collapse.rawValue)}").entry(for: "a")?.collapse == collapse)
        }
    }

    @Test("The file stands beside the configuration, and what it names beside itself")
    func relative() throws {
        let settings = try read(
            "notifications: {file: texts/n.yaml}", ["SOUND": "bell"],
            files: ["texts/n.yaml": "a: {title: file:title, sound: \"${SOUND}\"}", "texts/title": "Hi\n"]
        ).get()
        #expect(settings.notifications.entry(for: "a")?.title == "Hi")
        #expect(settings.notifications.entry(for: "a")?.sound == "bell")
    }

    // MARK: Mistakes

    typealias Case = ConfigurationErrorTests.Case

    static let mistakes = [
        Case(
            "job-assigned:\n  title: \"Hi {name\"",
            "n.yaml:2: job-assigned.title: expected a } after the { at character 4, or {{ for a plain {"),
        Case(
            "a: {body: \"{1}\"}",
            "n.yaml:1: a.body: expected a field's name after the { at character 1: a letter, then letters, digits or _"),
        Case("a: {body: [b]}", "n.yaml:1: a.body: expected a text, found a list"),
        Case("a: {title: \"${UNSET}\"}", "n.yaml:1: a.title: ${UNSET} is not set"),
        Case("a: {push: always}", "n.yaml:1: a.push: expected mirror, fallback or off, found \"always\""),
        Case("a: {push: ~}", "n.yaml:1: a.push: expected mirror, fallback or off, found nothing"),
        Case("a: {priority: low}", "n.yaml:1: a.priority: expected high or normal, found \"low\""),
        Case("a: {collapse: none}", "n.yaml:1: a.collapse: expected notification or order, found \"none\""),
        Case("a: {urgent: yes}", "n.yaml:1: a.urgent: expected true or false, found \"yes\""),
        Case("a: {data_type: ''}", "n.yaml:1: a.data_type: expected 1 to 64 letters, digits, _ or -, found \"\""),
        Case("a: {titel: b}", "n.yaml:1: a.titel: unknown key; did you mean a.title?"),
        Case("a: b", "n.yaml:1: a: expected a map, found a text"),
        Case("- a", "n.yaml:1: expected a map, found a list"),
        Case("\"a b\": {}", "n.yaml:1: \"a b\": expected an event or a type: 1 to 64 letters, digits, _ or -"),
        Case("a: {}\na: {}", "n.yaml:1: expected each key of a map once, found more of \"a\""),
        Case("a: {", "n.yaml:2: not valid YAML: while parsing a flow node (line 2), did not find expected node content"),
    ]

    @Test("A mistake is reported with its place in the file it stands in", arguments: mistakes)
    func mistake(_ example: Case) {
        let lines = problems("log: {}\nnotifications: {file: n.yaml}", files: ["n.yaml": example.yaml])
        #expect(lines == example.lines)
    }

    @Test("Mistakes in the configuration come first, and all of them at once")
    func order() {
        #expect(
            problems(
                "notifications: {file: n.yaml}\nlog: {level: x}", ["FLEETWIRE_LOG_FORMAT": "x"],
                files: ["n.yaml": "a: {urgent: 1}"]) == [
                    "c.yaml:2: log.level: expected debug, info, warning or error, found \"x\"",
                    "FLEETWIRE_LOG_FORMAT: expected json or text, found \"x\"",
                    "n.yaml:1: a.urgent: expected true or false, found \"1\"",
                ])
        let many = (0..<1_000).map { "e\($0): {urgent: 1}\n" }.joined()
        #expect(
            problems("log: 1\nnotifications: {file: n.yaml}", files: ["n.yaml": many]).count == SettingsReader.problemsMax)
    }

    @Test("A file that is not there is reported where it is named")
    func missing() {
        let problem = "cannot read \"none\": No such file or directory"
        #expect(problems("notifications: {file: none}") == ["c.yaml:1: notifications.file: \(problem)"])
        #expect(
            problems("", ["FLEETWIRE_NOTIFICATIONS_FILE": "none"]) == ["FLEETWIRE_NOTIFICATIONS_FILE: \(problem)"])
        #expect(
            problems("notifications: {fiel: a}")
                == ["c.yaml:1: notifications.fiel: unknown key; did you mean notifications.file?"])
    }

    @Test("No variable reaches into the file")
    func variable() {
        let lines = problems("notifications: {file: n.yaml}", ["FLEETWIRE_A_TITLE": "x"], files: ["n.yaml": "a: {}"])
        #expect(lines.count == 1)
        #expect(lines[0].hasPrefix("FLEETWIRE_A_TITLE: unknown variable"))
    }
}
