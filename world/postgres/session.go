package postgres

// Sessions: a lock for each worker, held by a connection, so that its death is seen.

// session is this World's connection that holds locks and listens.
type session struct {
	class int32 // the first number of advisory locks: which schema it is
}
