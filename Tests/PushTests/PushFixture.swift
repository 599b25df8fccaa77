import Fleet
import JSON
import Push
import Testing

/// A fixed time, a device of each provider, and jobs for these devices.
enum PushFixture {
    /// 2026-11-21T09:30:00.123Z, in milliseconds since 1970.
    static let now: Int64 = 1_795_253_400_123
    static let catalogue = PushCatalogue(.builtIn, mode: .mirror)
    static let apns = APNsAddress(host: "api.push.apple.com", port: 443, topic: "uk.example.driver")
    static let fcm = FCMAddress(baseURL: "https://fcm.googleapis.com", projectID: "fleet-1")

    static let iPhone = PushJob.Device(
        id: String(repeating: "0a", count: 16),
        token: DeviceToken(provider: .apns, platform: .ios, environment: .production, text: String(repeating: "a1", count: 32)),
        lastSeenAt: now - 1)
    static let android = PushJob.Device(
        id: String(repeating: "0b", count: 16),
        token: DeviceToken(provider: .fcm, platform: .android, environment: nil, text: "fcm:token-1"), lastSeenAt: now - 1)

    static func job(
        _ event: String, _ data: String = "{}", _ entity: PushIntent.Entity? = nil, collapseKey: String = "N-1",
        lifetimeSeconds: Int64 = 3_600, device: PushJob.Device = iPhone, preferences: Preferences = .init(),
        channel: String = "driver-42", isReminder: Bool = false
    ) -> PushJob {
        PushJob(
            number: 1,
            notification: Notification(
                id: "N-1", channel: channel, event: event, data: Array(data.utf8), createdAt: now,
                expiresAt: now + lifetimeSeconds * 1000, collapseKey: collapseKey),
            entity: entity, recipient: "driver:42", device: device, badge: 3, preferences: preferences,
            isReminder: isReminder)
    }

    /// The message of a job.
    /// - Throws: ``UnexpectedDecision`` if the decision is anything but to send the job.
    static func message(
        _ job: PushJob, catalogue: PushCatalogue = catalogue, _ location: SourceLocation = #_sourceLocation
    ) throws -> PushMessage {
        let decision = PushDecision(
            on: job, templates: catalogue, now: now, minuteOfDay: { _, _ in nil }, presence: { _ in .away })
        guard case .send(let message) = decision else {
            throw UnexpectedDecision(decision: decision)
        }
        return message
    }

    struct UnexpectedDecision: Error { let decision: PushDecision }

    static func entry(
        _ name: String, title: Template = "", body: Template = "{message}",
        _ change: (inout NotificationCatalogue.Entry) -> Void = { _ in }
    ) -> NotificationCatalogue.Entry {
        var entry = NotificationCatalogue.Entry(name)
        entry.title = title
        entry.body = body
        change(&entry)
        return entry
    }

    static func makeCatalogue(_ entries: NotificationCatalogue.Entry..., mode: NotificationCatalogue.PushMode = .mirror)
        -> PushCatalogue
    {
        PushCatalogue(NotificationCatalogue(entries), mode: mode)
    }
}

extension PushMessage {
    /// The value of a data field.
    subscript(name: String) -> String? { data.first { $0.name == name }?.value }
}

/// A parsed JSON object: its member names in order, and its values as texts or objects.
struct ReadObject {
    private(set) var names: [String] = []
    private var texts: [String: String] = [:]
    private var objects: [String: [UInt8]] = [:]

    /// - Throws: if the bytes are not a JSON object or not UTF-8. Records an issue for duplicate names.
    init(_ bytes: [UInt8]) throws {
        try bytes.withUnsafeBytes {
            try JSONReader.object($0) { key, value in
                let name = try #require(key.string)
                #expect(!names.contains(name), "\(name) is a duplicate")
                names.append(name)
                if value.kind == .object { objects[name] = Array(value.raw) }
                texts[name] = value.kind == .string ? value.string : String(decoding: value.raw, as: UTF8.self)
            }
        }
    }

    /// A string, or the JSON of another value; nil if absent.
    subscript(name: String) -> String? { texts[name] }

    /// A nested object by its path: `android.notification`.
    func object(_ path: String) throws -> ReadObject {
        try path.split(separator: ".").reduce(self) { object, name in
            try ReadObject(try #require(object.objects[String(name)], "\(path)"))
        }
    }
}
