import Configuration
import Testing

@testable import Migration

/// The variables of Laravel applications.
@Suite struct LaravelVariablesTests {
    @Test func readsReverb() throws {
        let checked = try Checked(
            """
            APP_KEY=base64:\(Checked.secret)
            DB_PASSWORD=\(Checked.secret)
            BROADCAST_CONNECTION=reverb
            REVERB_APP_ID=12345
            REVERB_APP_KEY=laravel-key
            REVERB_APP_SECRET=\(Checked.secret)
            REVERB_HOST="user:\(Checked.secret)@ws.example.com"
            REVERB_PORT=443
            REVERB_SCHEME=https
            REVERB_SCALING_ENABLED=true
            REVERB_SERVER_PATH=/ws
            REVERB_APP_MAX_CONNECTIONS=300
            REVERB_APP_MAX_MESSAGE_SIZE=20000
            VITE_REVERB_APP_KEY="${REVERB_APP_KEY}"
            """)
        let app = checked.settings.apps[0]
        #expect(app.id == "12345" && app.key == "laravel-key" && app.secrets == ["REVERB_APP_SECRET-value"])
        #expect(app.clientEvents, "Reverb accepts them from members unless it is told otherwise")
        #expect(app.limits.connections == 300 && app.limits.messageBytes == 20_000)
        #expect(checked.settings.server.port == 8_080 && checked.settings.server.pathPrefix == "/ws")
        for part in [
            "a Laravel .env for Reverb", "docs/migration/reverb.md", "port 8080 (the default)", "https://ws.example.com:443",
            "REVERB_SCALING_ENABLED: several nodes", "REVERB_SERVER_PATH", "in the page: VITE_REVERB_APP_KEY",
            "config/reverb.php may set more",
        ] { #expect(checked.says(part), "\(part)\n\(checked.text)") }
        for difference in KnownDifferences.reverb { #expect(checked.says(difference)) }
        for (value, isOn) in [("all", true), ("none", false), ("members", true)] {
            let other = try Checked("REVERB_APP_KEY=k\nREVERB_APP_ACCEPT_CLIENT_EVENTS_FROM=\(value)")
            #expect(other.settings.apps[0].clientEvents == isOn)
        }
    }

    @Test func readsPusher() throws {
        let checked = try Checked(
            """
            BROADCAST_DRIVER=pusher
            PUSHER_APP_ID=9
            PUSHER_APP_KEY=0123456789abcdef
            PUSHER_APP_SECRET='\(Checked.secret)'
            PUSHER_APP_CLUSTER=eu
            MIX_PUSHER_APP_KEY="${PUSHER_APP_KEY}"
            MIX_PUSHER_APP_SECRET="${PUSHER_APP_SECRET}"
            """)
        #expect(checked.settings.apps[0].key == "0123456789abcdef" && !checked.settings.apps[0].clientEvents)
        #expect(checked.says("the hosted service, cluster eu") && checked.says("docs/migration/pusher.md"))
        for difference in KnownDifferences.pusher { #expect(checked.says(difference)) }
        #expect(
            try Checked("PUSHER_APP_KEY=k\nPUSHER_HOST=a:\(Checked.secret)@soketi").says(
                "a server with Pusher's protocol at soketi"))
    }

    @Test func readsLaravelWebSockets() throws {
        let checked = try Checked(
            """
            BROADCAST_DRIVER=pusher
            PUSHER_APP_ID=app
            PUSHER_APP_KEY=key
            PUSHER_APP_SECRET=\(Checked.secret)
            PUSHER_APP_PATH=ws/v1
            LARAVEL_WEBSOCKETS_PORT=6010
            LARAVEL_WEBSOCKETS_SSL_LOCAL_CERT=/c.pem
            LARAVEL_WEBSOCKETS_SSL_LOCAL_PK=/k.pem
            LARAVEL_WEBSOCKETS_SSL_PASSPHRASE=\(Checked.secret)
            WEBSOCKETS_REPLICATION_MODE=redis
            """)
        #expect(checked.settings.server.port == 6_010 && checked.settings.apps[0].id == "app")
        #expect(checked.settings.server.pathPrefix == "/ws/v1" && checked.says("PUSHER_APP_PATH \"ws/v1\""))
        for part in [
            "a Laravel .env for Laravel WebSockets", "docs/migration/laravel-websockets.md", "WEBSOCKETS_REPLICATION_MODE",
            "config/websockets.php may set more",
        ] { #expect(checked.says(part), "\(part)\n\(checked.text)") }
        #expect(checked.text.contains("  #   key: \"/k.pem\""))
        for difference in KnownDifferences.laravelWebSockets { #expect(checked.says(difference)) }
    }

    @Test func readsSoketisVariables() throws {
        let checked = try Checked(
            """
            SOKETI_PORT=6002
            SOKETI_PATH_PREFIX=/ws
            SOKETI_DEFAULT_APP_ID=a
            SOKETI_DEFAULT_APP_KEY=k
            SOKETI_DEFAULT_APP_SECRET=\(Checked.secret)
            SOKETI_DEFAULT_APP_ENABLE_CLIENT_MESSAGES=true
            SOKETI_DEFAULT_APP_MAX_CONNS=-1
            SOKETI_EVENT_MAX_SIZE_IN_KB=9223372036854775807
            SOKETI_ADAPTER_DRIVER=nats
            """)
        let app = checked.settings.apps[0]
        #expect(checked.settings.server.port == 6_002 && checked.settings.server.pathPrefix == "/ws")
        #expect(app.id == "a" && app.clientEvents && app.limits.connections == 0)
        #expect(app.limits.presenceInfoBytes == 2_048 && checked.says("SOKETI_ADAPTER_DRIVER"))
    }

    @Test func readsAbly() throws {
        let checked = try Checked("BROADCAST_DRIVER=ably\nABLY_KEY=appid.keyid:\(Checked.secret)")
        let app = checked.settings.apps[0]
        #expect(app.id == "appid" && app.key == "appid-keyid" && app.secrets == ["ABLY_APP_SECRET-value"])
        #expect(checked.says("\"appid.keyid\" becomes \"appid-keyid\"") && checked.says("docs/migration/ably.md"))
        for difference in KnownDifferences.ably { #expect(checked.says(difference)) }
    }

    @Test func namesWhatIsMissing() throws {
        let checked = try Checked("PUSHER_APP_KEY=k")
        #expect(checked.says("PUSHER_APP_ID is not set") && checked.says("PUSHER_APP_SECRET is not set"))
        #expect(
            refusal(Array("APP_NAME=x".utf8))
                == "no variable of Pusher, Reverb, Laravel WebSockets, Soketi or Ably: expected PUSHER_APP_KEY, REVERB_APP_KEY or another"
        )
    }
}
