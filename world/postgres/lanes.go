package postgres

// Lanes: the fence between a worker and its death. A worker has a row in the table for each connection that may write for it; the last statement of
// each of its transactions locks one, and fails unless it is alive. Death is an update of all rows of a worker: it waits for what is about to commit, and
// nothing of that worker commits after it. Whoever locks a lane waits for nothing more.

// The numbers of lanes. The first are those of the writers, each of which has a connection of its own.
const (
	laneClaim  = 100 // what Claim gives
	laneAlone  = 101 // the first of those for transactions that go alone
	lanesAlone = 4
)

// laneNumbers are all lanes of a worker.
func (db *database) laneNumbers() []int16 {
	lanes := make([]int16, 0, db.opt.Writers+1+lanesAlone)
	for i := range db.opt.Writers {
		lanes = append(lanes, int16(i))
	}
	lanes = append(lanes, laneClaim)
	for i := range lanesAlone {
		lanes = append(lanes, int16(laneAlone+i))
	}
	return lanes
}
