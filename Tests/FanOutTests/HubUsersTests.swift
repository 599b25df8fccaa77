import FanOut
import HubFixture
import PusherProtocol
import Testing

/// Signed-in users at the hub (protocol sections U and W): watchlists and termination.
@Suite struct HubUsersTests {
    private var hub = Hub(loopCount: 3, apps: [AppRules(), AppRules()])

    private func success(_ user: SignedInUser, to socket: SocketID) -> Received {
        Received(socket.loop, .sendSigninSuccess(user, to: socket))
    }

    private func watchlist(online: [String], offline: [String], to socket: SocketID) -> Received {
        Received(socket.loop, .sendWatchlist(online: online, offline: offline, to: socket))
    }

    private func online(_ ids: String...) -> Frame { ServerMessage.watchlistEvents(online: ids, offline: []) }

    private func offline(_ ids: String...) -> Frame { ServerMessage.watchlistEvents(online: [], offline: ids) }

    private mutating func signIn(_ socket: SocketID, _ user: SignedInUser, app: AppIndex = 0) -> [Received] {
        hub.apply(.opened(socket, app: app), .signin(socket, user))
    }

    @Test mutating func u1SigninIsConfirmed() {
        let anna = user("anna")
        #expect(signIn(x, anna) == [success(anna, to: x)])
    }

    @Test mutating func u3SecondSigninIsRejected() {
        _ = signIn(x, user("anna"))
        let rejected = error("Already signed in: a connection cannot change its user", code: 4009)
        #expect(hub.apply(.signin(x, user("bert"))) == [.send(rejected, to: x)])
        #expect(hub.apply(.signin(x, user("anna"))) == [.send(rejected, to: x)])
        #expect(hub.apply(.terminate(userID: "bert", app: 0)) == [])
    }

    // MARK: Watchlists

    @Test mutating func w1SigninSendsTheWatchlistState() {
        _ = signIn(x, user("bert"))
        let anna = user("anna", watching: ["carl", "bert", "dora"])
        let state = watchlist(online: ["bert"], offline: ["carl", "dora"], to: y)
        let joins = (0..<3).map { Received(1, .join($0, y)) }
        #expect(signIn(y, anna) == [success(anna, to: y), state] + joins)
    }

    @Test mutating func w2WatchersAreNotifiedOfTheFirstAndLastConnection() {
        let anna = user("anna", watching: ["bert"])
        let bert = user("bert")
        _ = signIn(x, anna)
        #expect(
            signIn(y, bert) == [success(bert, to: y), Received(0, .fanOut(online("bert"), 0, except: y))],
            "the watchers of a user are a channel")
        #expect(signIn(z, bert) == [success(bert, to: z)])
        #expect(hub.apply(.closed(y)) == [])
        #expect(hub.apply(.closed(z)) == [Received(0, .fanOut(offline("bert"), 0, except: nil))])
        #expect(hub.apply(.closed(x)) == [Received(0, .leave(0, x))])
        #expect(signIn(y, bert) == [success(bert, to: y)], "a closed connection has no watchlist")
    }

    @Test mutating func w2EveryConnectionOfAWatcherGetsEvents() {
        _ = signIn(x, user("anna", watching: ["bert"]))
        _ = signIn(y, user("anna", watching: ["bert"]))
        let signins = Array(signIn(z, user("bert")).dropFirst())
        #expect(signins == [0, 1].map { Received($0, .fanOut(online("bert"), 0, except: z)) })
        #expect(hub.apply(.closed(z)) == [0, 1].map { Received($0, .fanOut(offline("bert"), 0, except: nil)) })
    }

    @Test mutating func w2OwnSigninIsNotSentTwice() {
        let anna = user("anna", watching: ["anna"])
        #expect(
            signIn(x, anna) == [
                success(anna, to: x), watchlist(online: ["anna"], offline: [], to: x), Received(0, .join(0, x)),
                Received(0, .fanOut(online("anna"), 0, except: x)),
            ],
            "the watchlist's initial state, and no event about anna's own sign-in")
        #expect(
            signIn(y, anna) == [success(anna, to: y), watchlist(online: ["anna"], offline: [], to: y), Received(1, .join(0, y))])
        #expect(hub.apply(.closed(y)) == [Received(1, .leave(0, y))])
        #expect(hub.apply(.closed(x)) == [Received(0, .leave(0, x))])
    }

    @Test mutating func w2WatchlistsAreScopedToOneApp() {
        _ = signIn(x, user("anna", watching: ["bert"]))
        #expect(signIn(y, user("bert"), app: 1).count == 1)
        #expect(hub.apply(.terminate(userID: "bert", app: 0)) == [])
        #expect(hub.apply(.closed(y)) == [])
    }

    @Test mutating func w3LongWatchlistIsTruncatedWithAnError() {
        let ids = (1...101).map { "u\($0)" }
        let anna = user("anna", watching: ids)
        let text = "The watchlist exceeds the allowed maximum: its first 100 users are watched"
        let state = watchlist(online: [], offline: Array(ids.prefix(100)), to: x)
        let deliveries = signIn(x, anna)
        #expect(
            deliveries.prefix(3) == [
                success(anna, to: x), .send(error(text, code: 4302), to: x), state,
            ])
        #expect(Array(deliveries.dropFirst(3)) == (0..<100).map { Received(0, .join($0, x)) })
        #expect(signIn(y, user("u100")).count == 2)
        #expect(signIn(z, user("u101")).count == 1, "the 101st user is not watched")
    }

    // MARK: Server-to-user channels

    @Test mutating func u4UserEventsGoToAllConnections() {
        for socket in [x, y] {
            _ = signIn(socket, user("anna"))
            _ = hub.apply(.subscribe(socket, grant("#server-to-user-anna", as: "anna")))
        }
        let frame = Frame(text: Array("event".utf8))
        let publication = Hub.Publication(channel: name("#server-to-user-anna"), frame: frame)
        #expect(
            hub.apply(.publish([publication], app: 0, except: nil)) == [
                Received(0, .fanOut(frame, 0, except: nil)), Received(1, .fanOut(frame, 0, except: nil)),
            ])
        #expect(hub.listed(app: 0, "").isEmpty, "server-to-user channels are not listed")
    }

    /// Swift's `==` treats the Kelvin sign and K as equal strings. User ids are compared as bytes instead.
    @Test mutating func u5CanonicallyEquivalentUserIdsHaveSeparateChannels() {
        _ = hub.apply(.opened(x, app: 0), .subscribe(x, grant("#server-to-user-K", as: "K")))
        _ = hub.apply(.opened(y, app: 0), .subscribe(y, grant("#server-to-user-\u{212A}", as: "\u{212A}")))
        #expect(hub.channelCount == 2)
    }

    // MARK: Termination

    @Test mutating func u6TerminateClosesSignedInConnectionsOnly() {
        _ = signIn(x, user("anna"))
        _ = signIn(y, user("anna"))
        _ = signIn(z, user("bert"))
        let memberOnly = socket("7.1")
        _ = hub.apply(.opened(memberOnly, app: 0), .subscribe(memberOnly, grant("presence-a", as: "anna")))
        #expect(
            hub.apply(.terminate(userID: "anna", app: 0))
                == [Received(0, .close(x, .notAuthorized)), Received(1, .close(y, .notAuthorized))])
        #expect(hub.apply(.terminate(userID: "carl", app: 0)) == [])
        _ = hub.apply(.closed(x), .closed(y))
        #expect(hub.apply(.terminate(userID: "anna", app: 0)) == [])
    }

    @Test mutating func u6WatchersAreNotifiedOnce() {
        _ = signIn(x, user("anna"))
        _ = signIn(y, user("anna"))
        _ = signIn(z, user("bert", watching: ["anna"]))
        _ = hub.apply(.terminate(userID: "anna", app: 0))
        #expect(hub.apply(.closed(x), .closed(y)) == [Received(2, .fanOut(offline("anna"), 0, except: nil))])
    }
}

/// Connections on the loops 0, 1 and 2: a socket id's second number is 2^24 times the loop, plus the slot.
private let x = socket("1.0")
private let y = socket("2.16777216")
private let z = socket("3.33554432")
