package postgres

// Connections. A worker has one a writer, one for its session, and a pool for the rest. Where the server gives a role few, they are shared out before the first one is
// refused: a pool that is refused one fails, and does not wait for one of those that it has.

// leastConns is how many connections a worker needs: a writer, a session, and two of the pool, as who buries a dead worker may have to end its transaction meanwhile.
// Transactions of steps need one more.
const leastConns = 4

// fit makes do with the connections that the server gives.
func (db *database) fit(most int) {
	o := &db.opt
	if most >= o.Writers+1+2*o.Conns {
		return
	}
	db.limit = most
	o.Writers = max(min(o.Writers, most-leastConns+1), 1)
	o.Conns = max(min(o.Conns, (most-o.Writers)/2), min(o.Conns, 2))
	db.cfg.MaxConns = int32(o.Conns)
}
