import Fleet
import Testing

@testable import Configuration

@Suite struct CatalogueFileTests {
    typealias Entry = NotificationCatalogue.Entry

    private func catalogue(_ yaml: String, _ environment: [String: String] = [:]) throws -> NotificationCatalogue {
        try read("notifications: {file: n.yaml}", environment, files: ["n.yaml": yaml]).get().notifications
    }

    @Test(
        "Without a file, or with a file that sets no option, the built-in catalogue applies",
        arguments: ["", "# a comment", "{}", "job-assigned:"])
    func emptyFile(yaml: String) throws {
        #expect(try catalogue(yaml) == .builtIn)
        #expect(try read("notifications: {file: ''}").get().notifications == .builtIn)
    }

    @Test("Every key sets its field")
    func everyKey() throws {
        let yaml = """
            lunch-break:
              {data_type: breaks, title: "Lunch, {name}", body: "{until|soon}", sound: bell.caf, category: LUNCH, thread: day,
               channel_id: calm, priority: normal, lifetime: 30s, collapse: order, urgent: true, push: fallback,
               broadcast: true, data: {action: eat, place_2: "the yard"}}
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
        expected.broadcast = true
        expected.data = [.init("action", "eat"), .init("place_2", "the yard")]
        #expect(try catalogue(yaml).entry(for: "lunch-break") == expected)
    }

    @Test("Options that the file omits: a new entry has the defaults of its name, a built-in entry keeps its values")
    func defaults() throws {
        let changed = try catalogue("lunch-break: {}\nROAD_CLOSED: ~\nroute-late: {}\njob-assigned: {push: mirror}")
        let new = try #require(changed.entry(for: "lunch-break"))
        #expect(new == Entry("lunch-break"))
        #expect(new.title == "")
        #expect(new.body.render { $0 == "message" ? "Eat" : nil } == "Eat")
        #expect(new.dataType == "job_update")
        #expect(new.priority == .high)
        #expect(new.collapse == .notification)
        #expect(new.lifetimeSeconds == 86_400)
        #expect(!new.urgent)
        #expect(new.push == nil)
        #expect(changed.entry(for: "ROAD_CLOSED")?.dataType == "ROAD_CLOSED")
        #expect(changed.entry(for: "route-late")?.dataType == "route_update")
        var job = try #require(NotificationCatalogue.builtIn.entry(for: "job-assigned"))
        job.push = .mirror
        #expect(changed.entry(for: "job-assigned") == job)
        #expect(changed.names.count == NotificationCatalogue.builtIn.names.count + 3)
    }

    @Test("A body may be a list of texts, of which the first that has all fields applies")
    func alternatives() throws {
        let body = try #require(catalogue("a: {body: ['{b}: {c|C}', '{c}', 'none']}").entry(for: "a")).body
        #expect(body.render { ["b": "1"][$0] } == "1: C")
        #expect(body.render { ["c": "2"][$0] } == "2")
        #expect(body.render { _ in nil } == "none")
    }

    @Test(
        "Fixed data may have no name that Fleetwire or a provider uses",
        arguments: [
            "type", "event", "notificationId", "correlationId", "entityId", "jobId", "routeId", "title", "message", "aps", "from",
            "message_type", "google.x", "googleX", "gcm", "1a", "a-b", "é", "_a",
        ])
    func takenName(name: String) {
        #expect(
            problems("log: {}\nnotifications: {file: n.yaml}", files: ["n.yaml": "a: {data: {\(name): b}}"]) == [
                "n.yaml:1: a.data.\(QuotedValue.ofKey(name)): expected a field's name: a letter, then letters, digits or _, "
                    + "and no name that Fleetwire or a provider uses"
            ])
    }

    @Test("An entry has at most ten fixed fields")
    func tooMuchData() throws {
        let fields = { (count: Int) in (0..<count).map { "f\($0): b" }.joined(separator: ", ") }
        #expect(try catalogue("a: {data: {\(fields(10))}}").entry(for: "a")?.data.count == 10)
        #expect(
            problems("log: {}\nnotifications: {file: n.yaml}", files: ["n.yaml": "a: {data: {\(fields(11))}}"])
                == ["n.yaml:1: a.data: expected at most 10 names, found 11"])
    }

    @Test("The default lifetime depends on data_type")
    func lifetimeOfType() throws {
        #expect(try catalogue("a: {data_type: new_job}").entry(for: "a")?.lifetimeSeconds == 3_600)
        #expect(try catalogue("a: {data_type: new_job, lifetime: 2m}").entry(for: "a")?.lifetimeSeconds == 120)
    }

    @Test("Every push mode, priority and collapse rule is accepted")
    func choices() throws {
        for push in NotificationCatalogue.PushMode.allCases {
            #expect(try catalogue("a: {push: \(push.rawValue)}").entry(for: "a")?.push == push)
        }
        for priority in Entry.Priority.allCases {
            #expect(try catalogue("a: {priority: \(priority.rawValue)}").entry(for: "a")?.priority == priority)
        }
        for collapse in Entry.Collapse.allCases {
            #expect(try catalogue("a: {collapse: \(collapse.rawValue)}").entry(for: "a")?.collapse == collapse)
        }
    }

    @Test("The catalogue's path is relative to the configuration file; paths in the catalogue are relative to the catalogue")
    func relative() throws {
        let settings = try read(
            "notifications: {file: texts/n.yaml}", ["SOUND": "bell"],
            files: ["texts/n.yaml": "a: {title: file:title, sound: \"${SOUND}\"}", "texts/title": "Hi\n"]
        ).get()
        #expect(settings.notifications.entry(for: "a")?.title == "Hi")
        #expect(settings.notifications.entry(for: "a")?.sound == "bell")
    }

    // MARK: Errors

    typealias Case = ConfigurationErrorTests.Case

    static let errors = [
        Case(
            "job-assigned:\n  title: \"Hi {name\"",
            "n.yaml:2: job-assigned.title: expected a } after the { at character 4, or {{ for a plain {"),
        Case(
            "a: {body: \"{1}\"}",
            "n.yaml:1: a.body: expected a field's name after the { at character 1: a letter, then letters, digits or _"),
        Case("a: {title: [b]}", "n.yaml:1: a.title: expected a string, found a list"),
        Case("a: {body: []}", "n.yaml:1: a.body: expected a list of 1 to 5 strings, found an empty list"),
        Case("a: {body: [b, {c: d}]}", "n.yaml:1: a.body[1]: expected a string, found a map"),
        Case(
            "a: {body: [b, \"{c\"]}",
            "n.yaml:1: a.body[1]: expected a } after the { at character 1, or {{ for a plain {"),
        Case("a: {broadcast: 1}", "n.yaml:1: a.broadcast: expected true or false, found \"1\""),
        Case("a: {data: [b]}", "n.yaml:1: a.data: expected a map, found a list"),
        Case("a: {data: {b: ''}}", "n.yaml:1: a.data.b: expected a string of 1 to 256 bytes, found \"\""),
        Case("a: {data: {b: {c: d}}}", "n.yaml:1: a.data.b: expected a string of 1 to 256 bytes, found a map"),
        Case("a: {title: \"${UNSET}\"}", "n.yaml:1: a.title: ${UNSET} is not set"),
        Case("a: {push: always}", "n.yaml:1: a.push: expected mirror, fallback or off, found \"always\""),
        Case("a: {push: ~}", "n.yaml:1: a.push: expected mirror, fallback or off, found nothing"),
        Case("a: {priority: low}", "n.yaml:1: a.priority: expected high or normal, found \"low\""),
        Case("a: {collapse: none}", "n.yaml:1: a.collapse: expected notification or order, found \"none\""),
        Case("a: {urgent: yes}", "n.yaml:1: a.urgent: expected true or false, found \"yes\""),
        Case("a: {data_type: ''}", "n.yaml:1: a.data_type: expected 1 to 64 letters, digits, _ or -, found \"\""),
        Case("a: {titel: b}", "n.yaml:1: a.titel: unknown key; did you mean a.title?"),
        Case("a: b", "n.yaml:1: a: expected a map, found a string"),
        Case("- a", "n.yaml:1: expected a map, found a list"),
        Case(
            "\"a b\": {}",
            "n.yaml:1: \"a b\": expected an event's name or a notification's type: 1 to 64 letters, digits, _ or -"),
        Case("a: {}\na: {}", "n.yaml:1: expected each key of a map once, found \"a\" more than once"),
        Case("a: {", "n.yaml:2: not valid YAML: while parsing a flow node (line 2), did not find expected node content"),
    ]

    @Test("An error names its file and line", arguments: errors)
    func error(_ example: Case) {
        let lines = problems("log: {}\nnotifications: {file: n.yaml}", files: ["n.yaml": example.yaml])
        #expect(lines == example.lines)
    }

    @Test("All errors are reported at once, first those of the configuration file, then of variables, then of the catalogue")
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

    @Test("A missing catalogue is reported at the key or variable that names it")
    func missing() {
        let problem = "cannot read \"none\": No such file or directory"
        #expect(problems("notifications: {file: none}") == ["c.yaml:1: notifications.file: \(problem)"])
        #expect(
            problems("", ["FLEETWIRE_NOTIFICATIONS_FILE": "none"]) == ["FLEETWIRE_NOTIFICATIONS_FILE: \(problem)"])
        #expect(
            problems("notifications: {fiel: a}")
                == ["c.yaml:1: notifications.fiel: unknown key; did you mean notifications.file?"])
    }

    @Test("No variable overrides a value in the catalogue")
    func variable() {
        let lines = problems("notifications: {file: n.yaml}", ["FLEETWIRE_A_TITLE": "x"], files: ["n.yaml": "a: {}"])
        #expect(lines.count == 1)
        #expect(lines[0].hasPrefix("FLEETWIRE_A_TITLE: unknown variable"))
    }
}
