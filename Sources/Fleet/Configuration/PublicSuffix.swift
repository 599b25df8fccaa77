/// Domains below which strangers can get a host name of their own (publicsuffix.org). The whole list has ten thousand
/// entries and changes weekly; this has what operators write by mistake.
enum PublicSuffix {
    /// The labels that country-code domains reserve for kinds of owners, such as `co` of `co.uk`.
    private static let kinds: Set = [
        "ac", "co", "com", "edu", "go", "gob", "gov", "gv", "mil", "ne", "net", "nom", "or", "org",
    ]
    /// Hosting services, whose customers choose the label before it (section "PRIVATE DOMAINS" of the list).
    private static let services: Set = [
        "appspot.com", "azurestaticapps.net", "azurewebsites.net", "blogspot.com", "cloudfront.net", "firebaseapp.com",
        "fly.dev", "github.io", "gitlab.io", "herokuapp.com", "netlify.app", "ngrok.io", "onrender.com", "pages.dev",
        "run.app", "surge.sh", "trycloudflare.com", "vercel.app", "web.app", "workers.dev",
    ]

    /// Whether strangers can have hosts below this domain.
    static func contains(_ domain: String) -> Bool {
        let domain = domain.lowercased()
        let labels = domain.split(separator: ".")
        guard labels.count == 2 else { return labels.count < 2 }
        return services.contains(domain) || (labels[1].utf8.count == 2 && kinds.contains(String(labels[0])))
    }
}
