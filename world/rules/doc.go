// Package rules holds the rules that hold between runs, each once: what a commit comes to that depends on others, what an act on a
// run comes to, what the events of a log say of a run's place in the queue, and who is served next. They are pure functions over facts
// that a world has read; what they decide is data, which the world writes. The rules about one run are those of [world.State].
//
// It is for worlds. Nothing here is safe for concurrent use but functions.
package rules
