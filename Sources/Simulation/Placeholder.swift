package func simulate(seed: UInt64, steps: Int) throws -> String { "" }
