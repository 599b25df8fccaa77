import Realtime

// A server for one Pusher app, of a program's own: clients chat with each other on private channels, and the program itself
// publishes the number of seconds that it has served. The port is the first argument; 0: any free one.

var app = RealtimeConfiguration.App(id: "1", key: "chat-key", secret: "chat-secret")
app.clientEvents = true
app.limits.presenceMembers = 1_000

var configuration = RealtimeConfiguration()
configuration.server.port = CommandLine.arguments.dropFirst().first.flatMap { Int($0) } ?? 6001
configuration.apps = [app]

let server = try RealtimeServer(configuration)

Task.detached {
    for second in 1... {
        try await Task.sleep(for: .seconds(1))
        try server.publish("second", data: "\(second)", on: ["uptime"], ofApp: "1")
    }
}

server.runUntilSignalled()
