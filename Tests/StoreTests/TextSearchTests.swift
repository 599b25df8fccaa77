import TestSupport
import Testing

@testable import Fleet

@Suite struct TextSearchTests {
    /// Each row: the texts to find, a text, the text after all occurrences are replaced, and after whole words are; nil
    /// if nothing changes.
    @Test(
        arguments: [
            (["Ann"], "Ann", "[erased]", "[erased]"), (["Ann"], "ann", nil, nil), ([], "Ann", nil, nil),
            (["Jo"], "Jo", nil, nil), (["Ann"], "An", nil, nil), ([""], "", nil, nil),
            (["Ann"], "Annex, Ann and SannAnn", "[erased]ex, [erased] and Sann[erased]", "Annex, [erased] and SannAnn"),
            (["Zeb", "Zeb Quix"], "Zeb Quix Zeb Zeb", "[erased] [erased] [erased]", "[erased] [erased] [erased]"),
            (["Zeb Quix", "Zeb"], "Zeb Quixote", "[erased]ote", "[erased] Quixote"),
            (["Ann"], "Ann’s, (Ann) “Ann”", "[erased]’s, ([erased]) “[erased]”", "[erased]’s, ([erased]) “[erased]”"),
            (["Ann"], "Anné éAnn Ann2 2Ann", "[erased]é é[erased] [erased]2 2[erased]", nil),
            (["Zoe"], "Zoe\u{308}", "[erased]\u{308}", nil), (["Zoë"], "Zoë", "[erased]", "[erased]"),
            (["田中太"], "田中太さん", "[erased]さん", "[erased]さん"),
            (["17 High St"], "17 High St, 17 High Street", "[erased], [erased]reet", "[erased], 17 High Street"),
            (["aaa"], "aaaaaaa", "[erased][erased]a", nil),
        ] as [([String], String, String?, String?)])
    func replaces(_ texts: [String], in text: String, all: String?, words: String?) {
        let search = TextSearch(texts)
        for (wholeWords, expected) in [(false, all), (true, words)] {
            let replaced = search.replacing(in: Array(text.utf8), wholeWords: wholeWords)
            #expect(replaced.map { Array($0) } == expected.map { Array($0.utf8) }, "whole words: \(wholeWords)")
        }
    }

    /// A naive search, position by position, finds the same.
    @Test func findsWhatANaiveSearchFinds() {
        for seed in UInt64(1)...300 {
            var dice = SplitMix(seed: seed)
            let texts = (0..<dice.below(6)).map { _ in Self.word(&dice, 3 + dice.below(4)) }
            let text = Self.word(&dice, dice.below(60))
            var (expected, position) = ("", text.startIndex)
            while position < text.endIndex {
                let found = texts.filter { text[position...].hasPrefix($0) }.max { $0.count < $1.count }
                expected += found == nil ? String(text[position]) : "[erased]"
                position = text.index(position, offsetBy: found?.count ?? 1)
            }
            let replaced = TextSearch(texts).replacing(in: Array(text.utf8), wholeWords: false)
            #expect(String(decoding: replaced ?? Array(text.utf8), as: UTF8.self) == expected, "seed \(seed)")
            #expect((replaced == nil) == (expected == text), "seed \(seed)")
        }
    }

    private static func word(_ dice: inout SplitMix, _ length: Int) -> String {
        String((0..<length).map { _ in "abé "[dice.below(4)] })
    }
}

extension String {
    fileprivate subscript(position: Int) -> Character { self[index(startIndex, offsetBy: position)] }
}
