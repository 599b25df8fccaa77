/// Checks an invariant. A violation ends the run, which the fuzzer records as a crash of its input. Unlike
/// `precondition` in an optimized build, it prints the invariant's text.
func invariant(_ holds: Bool, _ text: @autoclosure () -> String) {
    if !holds { fatalError("invariant violated: \(text())") }
}
