package sqlite

import "github.com/stepwell/stepwell/world/rules"

// group makes the changes of one transaction. It is made of parts: what all of them stand on is in txn; each of the
// others owns a kind of rows, and what is remembered of them, in a file that says what holds of it. What a change comes
// to between them is here, by the names of world's calls: commit, birth, deliver, act, end, take, beat.
//
// It belongs to the writer's goroutine.
type group struct {
	w       *World
	turns   rules.Turns
	crew    *crew
	tx      txn
	classes classes
	runs    runs
	logs    logs
	totals  totals

	buried  map[int64]bool // workers whose lease ends with it
	givenUp map[int64]bool // runs that their owners gave up in it: not lost, says a beat of the same group
	gave    bool           // it gave somebody a run, which he does not know of yet
	voided  bool           // it ends what the worker process before this one left
}

func (g *group) init(w *World) {
	g.w, g.crew = w, &w.crew
	g.tx.counters = &w.counters
	g.classes.init(&g.tx)
	g.runs.init(&g.tx)
	g.logs.init(&g.tx)
	g.totals.init(&g.tx)
	g.forget()
}

func (g *group) begin(w *World, c *conn) {
	now, steady := w.crew.times()
	g.tx.begin(c, now, steady, !w.listeners.Any())
	g.totals.begin()
	g.buried, g.givenUp, g.gave, g.voided = nil, nil, false, false
}

// forget has all read anew: another connection has written.
func (g *group) forget() {
	g.classes.forget()
	g.runs.forgetAll()
}

// spoil has all read anew, but for what no file knows: a transaction was given up.
func (g *group) spoil() {
	g.classes.forget()
	g.runs.spoil()
}
