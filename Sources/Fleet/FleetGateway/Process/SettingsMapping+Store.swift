import Configuration
import Crypto
import Fleet
import JWT
import PusherAPI

extension Settings.Store {
    /// Where the store is.
    package var address: StoreAddress { url.isEmpty ? .file(path) : .postgres(url) }

    /// The number of threads that read. Those of a file do not wait for a server, so few of them use all cores.
    var readerCount: Int { url.isEmpty ? min(pool, 4) : pool }
}

extension StoreWriter.Options {
    init(_ settings: Settings, lanes: Set<PushLane>, _ trips: SharedTrips) throws(StoreError) {
        // The configuration is validated, so every entry is a valid key.
        let keys = settings.store.encryptionKeys.compactMap { key in
            Base64.bytes(of: key.key).flatMap(AESGCMKey.init).map { (key.id, $0) }
        }
        let address = settings.store.address
        // The configuration demands keys for a store that is not a file.
        self.init(
            address,
            keys: keys.isEmpty ? try .development(besideDatabase: settings.store.path) : DeviceKeys(keys),
            encode: FleetResponses.body(of:correlationID:))
        // Each statement is a round trip to a server, and all commands wait for their batch.
        if case .postgres = address { batchMilliseconds = 500 }
        durability = settings.store.durability == .full ? .full : .normal
        retentionDays = settings.store.retentionDays
        openDays = settings.fleet.openDays
        backlogHours = settings.delivery.backlogHours
        confirmSeconds = settings.delivery.confirmSeconds
        keepsAccounts = settings.accounts.isEnabled
        if let pattern = VehicleNumberPattern(settings.accounts.vehicleNumberPattern) { vehicleNumbers = pattern }
        if let issuer = settings.codeIssuer {
            codes.sign = { claims in
                TokenMint.token(
                    for: claims.identity, secret: issuer.secret, issuer: issuer.issuer, audience: issuer.audience, id: claims.id,
                    issuedAt: claims.issuedAt, lifetimeSeconds: CustomerTokenClaims.lifetime)
            }
        }
        codes.limits = SignInCodeLimits(dailyMax: settings.otp.dailyMax, prefixDailyMax: settings.otp.prefixDailyMax)
        self.trips = settings.trips
        track = { trips.track(ofDriver: $0) }
        takePositions = { trips.takeUnsaved() }
        returnPositions = { trips.putBack($0) }
        rules = NotificationRules(settings)
        self.lanes = lanes
        staleDays = settings.push.staleDays
        queuePerSubjectMax = settings.apps[settings.fleetAppIndex].fleetLimits.commandsWaiting
    }
}
