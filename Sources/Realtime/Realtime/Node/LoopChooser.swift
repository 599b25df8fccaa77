/// Chooses the loop that serves an accepted connection: the less loaded of two, which take turns.
///
/// In turns alone, loops that lost more connections than others would stay emptier. The least loaded of all would get
/// every connection of a burst, because loads are known only with a delay; therefore connections that were handed out
/// recently count, too.
struct LoopChooser {
    private var next = 0
    /// Connections handed out since the last ``forgetRecent()``, by loop.
    private var recent: [Int]

    /// - Parameter count: the number of loops, at least 1.
    init(count: Int) { recent = Array(repeating: 0, count: count) }

    /// The loop for the next connection.
    /// - Parameter load: the open connections of a loop.
    mutating func choose(load: (Int) -> Int) -> Int {
        let (first, second) = (next, (next + 1) % recent.count)
        next = second
        let chosen = load(second) + recent[second] < load(first) + recent[first] ? second : first
        recent[chosen] += 1
        return chosen
    }

    /// Called once a second: by then, the connections handed out earlier are part of the loops' loads, or were closed.
    mutating func forgetRecent() {
        for loop in recent.indices { recent[loop] = 0 }
    }
}
