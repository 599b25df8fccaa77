import Testing

@testable import Configuration

@Suite("The section cluster")
struct ClusterSettingsTests {
    private static let store =
        "store: {url: \"postgresql://h/d\", encryption_keys: [{id: a, key: \"ZTJlLWtleS1lMmUta2V5LWUyZS1rZXktZTJlLWtleS0=\"}]}\n"

    @Test("without NATS, the gateway is alone")
    func isOffByDefault() throws {
        #expect(try !read("").get().cluster.isEnabled)
        #expect(try !read("cluster: {name: other}").get().cluster.isEnabled)
    }

    @Test("several nodes need a database server")
    func needsServer() throws {
        let settings = try read(Self.store + "cluster: {nats: [\"nats://10.0.0.1:4222\", \"tls://n.example\"]}").get()
        #expect(settings.cluster.nats == ["nats://10.0.0.1:4222", "tls://n.example"])
        let errors = problems("cluster: {nats: [\"nats://10.0.0.1:4222\"]}")
        #expect(errors.contains { $0.contains("cluster.nats") && $0.contains("several nodes need store.url") }, "\(errors)")
        let plain = problems(Self.store + "fleet: {enabled: false}\ncluster: {nats: [\"nats://10.0.0.1:4222\"]}")
        #expect(plain.count == 1 && plain[0].contains("cluster.nats: several nodes need the fleet's store"), "\(plain)")
    }

    @Test(
        "bad values are named",
        arguments: [
            ("nats: [\"http://h\"]", "cluster.nats"), ("nats: [\"nats://user:secret@h\"]", "cluster.nats"),
            ("nats: [\"nats://\"]", "cluster.nats"), ("name: \"a.b\"", "cluster.name"), ("node: \"a b\"", "cluster.node"),
            ("heartbeat_seconds: 0", "cluster.heartbeat_seconds"), ("on_partition: ask", "cluster.on_partition"),
        ])
    func rejectsBadValues(line: String, key: String) {
        let errors = problems(Self.store + "cluster: {\(line)}")
        #expect(errors.contains { $0.contains(key) }, "\(errors)")
    }
}
