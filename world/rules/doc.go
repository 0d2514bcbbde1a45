// Package rules has the rules between runs: the result of a commit that depends on others, the
// effect of an act, a run's place in the queue by its events, and the order of claims. The rules
// are pure functions over facts that a store has read. They return data, which the store writes.
// The rules about a single run are in [world.State].
//
// It is for authors of stores. Functions are safe for concurrent use; types are not, unless they
// say so.
package rules
