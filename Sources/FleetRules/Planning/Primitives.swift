import Primitives

// The errors of rules, for modules that know the rules and nothing below them.
package typealias RuleError = Primitives.RuleError
package typealias Change = Primitives.Change
