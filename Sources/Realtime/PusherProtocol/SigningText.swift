/// The texts that signatures cover. Backend and server must build them identically.
package enum SigningText {
    /// The text for a REST request (protocol point A1): the method, the path, and the parameters except
    /// `auth_signature`, sorted by key. Keys are in lower case, values are not percent-encoded.
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

    /// The text for a subscription to a private or presence channel (S10). Contains `channel_data` byte for byte (R7).
    package static func subscription(
        _ socket: some CustomStringConvertible, _ channel: ChannelName, channelData: String? = nil
    ) -> String {
        channelData.map { "\(socket):\(channel.text):\($0)" } ?? "\(socket):\(channel.text)"
    }

    /// The text for a sign-in (U1).
    package static func signin(_ socket: some CustomStringConvertible, userData: String) -> String {
        "\(socket)::user::\(userData)"
    }
}
