// A driver's app on iOS, with the SDK pusher-websocket-swift 10.1.10 (earlier versions keep connections that are dead).
// Read against that version's source, and not run in a test.
//
// It may lose the network, the gateway and its token at any moment. It connects again for ever, gets a new token when the
// old one is refused, repeats what had no answer, and shows once what comes twice.

import Foundation
import PusherSwift

/// An answer that would be the same again.
struct Refused: Error {
    let text: String
}

/// A token that is refused although it is new, a server that does not answer…
struct Unanswered: Error {
    let text: String
}

/// The app keeps it. `newToken` asks the app's backend for a token, `show` shows a job.
@MainActor
final class Driver: NSObject, Authorizer {
    private let gateway: URL, device: String, channelName: String
    private let newToken: () async throws -> String
    private let show: ([String: Any]) -> Void
    private var pusher: Pusher!
    private var channel: PusherChannel!
    private var token: String?
    private var seen: [String] = []
    private var unanswered: [(path: String, body: [String: String])] = []
    private var isAnswering = false

    /// `gateway` is such as https://fleet.example.com:443.
    init(gateway: URL, key: String, driver: String, device: String,
         newToken: @escaping () async throws -> String, show: @escaping ([String: Any]) -> Void) {
        (self.gateway, self.device, self.newToken, self.show) = (gateway, device, newToken, show)
        channelName = "private-driver-\(driver)"
        super.init()
        pusher = Pusher(key: key, options: PusherClientOptions(
            authMethod: .authorizer(authorizer: self), host: .host(gateway.host!), port: gateway.port,
            useTLS: gateway.scheme == "https", activityTimeout: 20))
        // By default, the SDK waits up to two minutes between attempts, and 30 seconds for a pong.
        pusher.connection.maxReconnectGapInSeconds = 15
        pusher.connection.pongResponseTimeoutInterval = 10
        channel = pusher.subscribe(channelName)
        channel.bind(eventName: "pusher:subscription_succeeded") { [weak self] _ in
            Task { @MainActor in await self?.answer() }
        }
        channel.bind(eventName: "job-assigned") { [weak self] event in
            Task { @MainActor in await self?.receive(event.data) }
        }
        pusher.connect()
    }

    /// The SDK asks at each connection, and not again if it gets nothing.
    nonisolated func fetchAuthValue(socketID: String, channelName: String,
                                    completionHandler: @escaping (PusherAuth?) -> Void) {
        Task { @MainActor in
            do {
                // The gateway remembers what each device has got: a device must keep its name.
                let grant = try await call("/pusher/auth", [
                    "socket_id": socketID, "channel_name": channelName, "device_id": device])
                completionHandler((grant["auth"] as? String).map { PusherAuth(auth: $0) })
            } catch {
                NSLog("%@", "\(error)")
                completionHandler(nil)
                await pause()
                // A new connection has asked by itself.
                if pusher.connection.socketId == socketID && !channel.subscribed {
                    _ = pusher.subscribe(channelName)
                }
            }
        }
    }

    private func receive(_ data: String?) async {
        guard let data, let job = try? JSONSerialization.jsonObject(with: Data(data.utf8)) as? [String: Any],
            let id = job["bookingId"] as? String, let notification = job["notificationId"] as? String,
            !seen.contains(notification)
        else { return }
        // What the gateway sends again is among the latest 1,000.
        seen = seen.suffix(1999) + [notification]
        show(job)
        unanswered.append(("/api/driver/notifications/log", [
            "notificationId": notification, "type": "new_job", "entityId": id, "event": "received",
            "timestamp": ISO8601DateFormatter().string(from: Date())]))
        // Your app asks the driver.
        let escaped = id.addingPercentEncoding(withAllowedCharacters: .alphanumerics)!
        unanswered.append(("/api/driver/jobs/\(escaped)/accept", [:]))
        // After a long outage, the oldest jobs are over.
        unanswered = unanswered.suffix(2000)
        await answer()
    }

    /// Tells the gateway, until it has answered everything.
    private func answer() async {
        if isAnswering { return }
        isAnswering = true
        while !unanswered.isEmpty {
            let request = unanswered.removeFirst()
            do {
                _ = try await call(request.path, request.body)
            } catch let refusal as Refused {
                NSLog("%@", refusal.text)
            } catch {
                unanswered.insert(request, at: 0)
                await pause()
            }
        }
        isAnswering = false
    }

    /// At random, so that after an outage not all apps come at the same moment.
    private func pause() async {
        try? await Task.sleep(nanoseconds: .random(in: 5_000_000_000...10_000_000_000))
    }

    /// Makes a request; if the token is refused, once more with a new one.
    private func call(_ path: String, _ body: [String: String], mayBeExpired: Bool = true) async throws -> [String: Any] {
        if token == nil { token = try await newToken() }
        var request = URLRequest(url: URL(string: path, relativeTo: gateway)!, timeoutInterval: 10)
        request.httpMethod = "POST"
        request.setValue("Bearer \(token!)", forHTTPHeaderField: "Authorization")
        request.setValue("application/json", forHTTPHeaderField: "Content-Type")
        request.httpBody = try JSONEncoder().encode(body)
        let (data, response) = try await URLSession.shared.data(for: request)
        let status = (response as! HTTPURLResponse).statusCode
        if status == 200 { return try JSONSerialization.jsonObject(with: data) as? [String: Any] ?? [:] }
        let text = "\(path): \(status) \(String(decoding: data, as: UTF8.self))"
        if status == 401 {
            token = nil
            if mayBeExpired { return try await call(path, body, mayBeExpired: false) }
        }
        throw [400, 403, 404, 409].contains(status) ? Refused(text: text) as Error : Unanswered(text: text)
    }
}
