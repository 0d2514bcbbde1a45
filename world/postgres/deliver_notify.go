package postgres

// A delivery with its notification right behind it: both travel together, each as a transaction of its own, and the server goes on from the one's COMMIT to the
// other without waiting for this process. So the news leave one round trip sooner, and NOTIFY still is in no transaction that changes a run. Only for a single
// delivery after a quiet moment: what comes in quick succession shares notifications, as ever.

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/stepwell/stepwell/world"
)

var notifyMail = load("notify_mail")

// claim reports whether a notification may be sent at once, beside the loop that sends them; if so, nobody else sends one for a moment.
func (n *news) claim() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	now := time.Now()
	if now.Before(n.quiet) {
		return false
	}
	for _, runs := range n.runs {
		if len(runs) > 0 {
			return false
		}
	}
	n.quiet = now.Add(newsPause)
	return true
}

// tellsAlong reports whether a group of deliveries goes with its notification.
func (se *sender) tellsAlong(batch []*sending) bool {
	return len(batch) == 1 && batch[0].row.run != nil && batch[0].row.delivery != nil && !se.pooled && !se.opt.NoNotify &&
		se.cfg.ConnConfig.DefaultQueryExecMode == pgx.QueryExecModeCacheStatement && se.queue.news.claim()
}

// deliverTold makes the transaction of a script, and another that tells other processes of its one delivery. What becomes of the second is no matter.
func (se *sender) deliverTold(ctx context.Context, c *pgx.Conn, b *script, m *sending) error {
	post := newsPayload(se.queue.news.from, []world.Notice{{Kind: noticePost, Run: m.d.Run}})
	mail := newsPayload(se.queue.news.from, []world.Notice{{Kind: world.NoticeMail, Run: m.d.Run}})
	items := append(b.items, item{s: notifyMail, args: []any{se.queue.channel(), post, mail, m.row.run, m.row.delivery}})
	statements := make([]*pgconn.StatementDescription, len(items))
	for i := range items {
		text := se.sql(items[i].s)
		sd, err := c.Prepare(ctx, text, text) // once a connection
		if err != nil {
			return err
		}
		statements[i] = sd
	}
	se.counters.statements.Add(int64(len(items)))
	p := c.PgConn().StartPipeline(ctx)
	for i := range items {
		var args pgx.ExtendedQueryBuilder // one each: what it makes is read until the answer is
		if i == len(b.items) {
			p.SendPipelineSync()
		}
		if err := args.Build(c.TypeMap(), statements[i], items[i].args); err != nil {
			_ = p.Close()
			return err
		}
		p.SendQueryStatement(statements[i], args.ParamValues, args.ParamFormats, args.ResultFormats)
	}
	err := p.Sync()
	for i := 0; err == nil && i < len(b.items); i++ {
		err = readAnswer(c, p, items[i].each)
	}
	if err == nil {
		_, err = p.GetResults() // COMMIT
	}
	_ = p.Close()
	return err
}

// readAnswer reads the answer of one statement.
func readAnswer(c *pgx.Conn, p *pgconn.Pipeline, each func(row scanner) error) error {
	results, err := p.GetResults()
	if err != nil {
		return err
	}
	reader, ok := results.(*pgconn.ResultReader)
	if !ok {
		return fmt.Errorf("%w: the answer to a delivery is a %T", world.ErrStorage, results)
	}
	rows := pgx.RowsFromResultReader(c.TypeMap(), reader)
	defer rows.Close()
	for rows.Next() {
		if each == nil {
			continue
		}
		if err := each(rows); err != nil {
			return err
		}
	}
	return rows.Err()
}
