/// The texts that are signed: what both sides of a signature have to agree on.
package enum SigningText {
    /// Of a REST request (A1): method, path and parameters, these without `auth_signature`, sorted by key, keys in
    /// lower case, values unescaped.
    package static func request(method: String, path: String, query: [(name: String, value: String)]) -> String {
        var parameters = query.map { (name: $0.name.lowercased(), value: $0.value) }
        parameters.removeAll { $0.name == "auth_signature" }
        parameters.sort { $0.name < $1.name }
        var text = "\(method)\n\(path)\n"
        for (index, parameter) in parameters.enumerated() {
            if index > 0 { text += "&" }
            text += parameter.name
            text += "="
            text += parameter.value
        }
        return text
    }

    /// Of a subscription to a private channel (S10).
    package static func subscription(_ socket: SocketID, _ channel: ChannelName) -> String {
        "\(socket):\(channel.text)"
    }
}
