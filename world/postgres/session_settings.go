package postgres

// How the server runs our statements.
//
// A prepared statement is planned once for all calls. Where the inbox or the queue of tasks is almost empty at that moment, the cheapest way to anything
// in it is to read it all; and that query plan stays, while thousands of rows come, until the table is analyzed again. So our sessions read whole tables only
// where there is no index. (In statements, OFFSET 0 keeps a subquery from being turned into a join or a table of all its rows, and + 0 a sort from
// being replaced by a walk through a whole index. TestPlans holds them all to that.) Behind a pooler nothing is prepared: each call is planned with the table as it is then.

import (
	"context"

	"github.com/jackc/pgx/v5/pgconn"
)

var (
	setSession = load("set_session")
	whoAnswers = load("who_answers")
)

// startUp is how bytes and texts cross the wire, whatever the role's defaults are, or the URL says. These settings go in the
// start-up packet: poolers keep them for each of their clients. Any other would make some refuse the connection.
var startUp = map[string]string{"client_encoding": "UTF8", "datestyle": "ISO, MDY", "standard_conforming_strings": "on"}

// prepareSession is done once for each connection that is ours alone.
func (db *database) prepareSession(ctx context.Context, c *pgconn.PgConn) error {
	_, err := c.Exec(ctx, db.sql(setSession)).ReadAll()
	return err
}
