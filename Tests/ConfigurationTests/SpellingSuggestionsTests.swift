import Testing

@testable import Configuration

@Suite struct SpellingSuggestionsTests {
    @Test(
        "The edit distance counts insertions, deletions and replacements",
        arguments: [("", "", 0), ("", "abc", 3), ("port", "prot", 2), ("kitten", "sitting", 3), ("same", "same", 0)])
    func distance(source: String, target: String, distance: Int) {
        #expect(editDistance(Array(source.utf8), Array(target.utf8)) == distance)
        #expect(editDistance(Array(target.utf8), Array(source.utf8)) == distance)
    }

    @Test(
        "The nearest name has the most similar last part; of several such names, it is the one most similar as a whole",
        arguments: [
            ("server.prot", "server.port"), ("port", "server.port"), ("tls.keys", "tls.key"), ("apps[1].ky", "apps[1].key"),
            ("sever", "server"),
        ])
    func nearest(name: String, expected: String) {
        var names = SpellingSuggestions()
        for name in ["server", "server.port", "tls.key", "apps[0].key", "apps[1].key"] { names.insert(name) }
        #expect(names.nearest(to: name) == expected)
    }

    @Test("Without known names there is no suggestion")
    func none() {
        #expect(SpellingSuggestions().nearest(to: "a") == nil)
    }
}
