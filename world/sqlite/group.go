package sqlite

// group makes the changes of one transaction. It is made of parts: what all of them stand on is in txn; each of the
// others owns a kind of rows, and what is remembered of them, in a file that says what holds of it. What a change comes
// to between them is here, by the names of world's calls: commit, birth, deliver, act, end, take, heartbeat.
//
// It belongs to the writer's goroutine.
type group struct {
	tx txn

	runs      runs
	classes   classes
	totals    totals
	workers   workers
	queue     queue
	logs      logs
	inbox     inbox
	delivered delivered

	hooks      hooks
	awaits     awaits
	tasks      tasks
	attributes attributes
	streams    streams
	keeper     keeper
	singles    singles
	gathers    gathers
}

func (g *group) init(w *World) {
	tx := &g.tx
	tx.init(&w.counters)
	g.runs.init(tx)
	g.classes.init(tx)
	g.totals.init(tx)
	g.logs.init(tx)
	g.workers = workers{tx: tx, crew: &w.crew, runs: &g.runs}
	g.inbox = inbox{tx: tx, logs: &g.logs, limit: w.opt.InboxLimit}
	g.singles = singles{tx: tx, runs: &g.runs, inbox: &g.inbox}
	g.delivered = delivered{tx: tx, workers: &g.workers, keepFor: w.opt.KeepDeliveries}
	g.queue = queue{tx: tx, runs: &g.runs, classes: &g.classes, totals: &g.totals, workers: &g.workers, inbox: &g.inbox, limits: limits{tx: tx, runs: &g.runs}, holds: holds{tx: tx}}
	tx.limits = &g.queue.limits
	g.gathers = gathers{tx: tx, runs: &g.runs, queue: &g.queue, delivered: &g.delivered}
	g.hooks = hooks{tx}
	g.awaits = awaits{tx, &g.runs}
	g.tasks = tasks{tx, &g.workers, &g.queue.limits}
	g.attributes = attributes{tx}
	g.streams = streams{tx}
	g.keeper = keeper{tx: tx, runs: &g.runs, totals: &g.totals, attributes: &g.attributes}
	g.forget()
}

func (g *group) begin(w *World, c *conn) {
	now, steady := w.crew.times()
	g.tx.begin(c, now, steady)
	g.totals.begin()
	g.workers.begin()
}

// forget has all read anew: another connection has written.
func (g *group) forget() {
	g.classes.forget()
	g.queue.holds.forget()
	g.queue.limits.forget()
	g.runs.forgetAll()
}

// spoil has all read anew, but for what no file knows: a transaction was given up.
func (g *group) spoil() {
	g.classes.forget()
	g.queue.holds.forget()
	g.queue.limits.forget()
	g.runs.spoil()
}
