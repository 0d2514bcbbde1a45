//go:build unix

package soak

// This file looks at what is left when the fire is out. Laws: docs/design/README.md#the-laws.

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/world"
)

// inquest collects what is wrong.
type inquest struct {
	app     *stepwell.App
	conn    *pgx.Conn // to the database itself, not through the proxy; nil: the ledger is a far one, in the notes
	ev      *evidence
	excused map[verdict]int
	starts  int // of bodies, in all
	faults  []string
}

func (q *inquest) fault(format string, args ...any) {
	q.faults = append(q.faults, fmt.Sprintf(format, args...))
}

// look examines all accepted orders, and what there is beside them.
func (q *inquest) look(ctx context.Context, orders []*order) error {
	byRun := map[string]*order{}
	for _, o := range orders {
		byRun[o.run()] = o
	}
	for info, err := range q.app.List(ctx, stepwell.ListFilter{}) {
		if err != nil {
			return err
		}
		o := byRun[info.ID]
		if o == nil {
			q.fault("run %s: nobody was told that it was accepted", info.ID)
			continue
		}
		delete(byRun, info.ID)
		if err := q.run(ctx, o, info); err != nil {
			return err
		}
	}
	for run := range byRun {
		q.fault("run %s was accepted, and is not there", run)
	}
	if q.conn == nil {
		q.noted(orders)
		return nil
	}
	if err := q.ordered(ctx, orders); err != nil {
		return err
	}
	return q.money(ctx, orders)
}

// ordered: an order and its run are both there, or neither.
func (q *inquest) ordered(ctx context.Context, orders []*order) error {
	rows, err := q.conn.Query(ctx, "select transfer from ledger.orders")
	if err != nil {
		return err
	}
	written, err := pgx.CollectRows(rows, pgx.RowTo[int])
	if err != nil {
		return err
	}
	var want []int
	for _, o := range orders {
		if o.transfer.ordered() {
			want = append(want, o.N)
		}
	}
	slices.Sort(want)
	slices.Sort(written)
	if diff := cmp.Diff(want, written); diff != "" {
		q.fault("orders that were accepted -, orders that are there +:\n%s", diff)
	}
	return nil
}

// run examines one run: its end, its log, the bodies of its steps.
func (q *inquest) run(ctx context.Context, o *order, info stepwell.RunInfo) error {
	before := len(q.faults)
	if info.Status != world.Completed || o.result != o.transfer.result() {
		q.fault("run %s: %s with result %q, %v, want completed with %q", info.ID, info.Status, o.result, info.Error, o.transfer.result())
	}
	var events []world.Event
	for e, err := range q.app.Events(ctx, info.ID, stepwell.EventFilter{}) {
		if err != nil {
			return err
		}
		events = append(events, e)
	}
	q.log(info.ID, events)
	if diff := cmp.Diff(events, o.events); diff != "" {
		q.fault("run %s: law 1: a follower saw another log than there is (- is, + saw):\n%s", info.ID, diff)
	}
	steps := map[string][]world.Event{}
	names := map[string]string{}
	for _, e := range events {
		if e.Type == world.StepCreated {
			names[e.ID] = e.Name
		}
		if _, ok := names[e.ID]; ok {
			steps[e.ID] = append(steps[e.ID], e)
		}
	}
	want := []string{"book", "credit", "debit", "notify", "receipt"}
	if o.toClosed() {
		want = []string{"book", "credit", "debit", "notify", "receipt", "refund"}
	}
	if got := slices.Sorted(maps.Values(names)); !slices.Equal(got, want) {
		q.fault("run %s: steps %q, want %q", info.ID, got, want)
	}
	for id, events := range steps {
		if len(q.ev.starts[id]) == 0 {
			q.fault("run %s: step %s %s is over, and its body never began", info.ID, id, names[id])
		}
		q.starts += len(q.ev.starts[id])
		for _, f := range q.ev.judge(id, events, q.excused) {
			q.fault("run %s: %s", info.ID, f)
		}
	}
	if len(q.faults) > before {
		q.faults = append(q.faults, story(events))
	}
	return nil
}

// log holds one log against the fold: no gap, no second end, no delivery twice, no timer early.
func (q *inquest) log(run string, events []world.Event) {
	state := &world.State{ID: run}
	until := map[string]time.Time{}
	deliveries := map[string]int64{}
	for i := range events {
		e := &events[i]
		if e.Seq != int64(i+1) {
			q.fault("run %s: law 1: event %d stands at place %d", run, e.Seq, i+1)
		}
		if changed, err := state.Apply(e, e.Time); err != nil || !changed {
			q.fault("run %s: law 2: the fold refuses event %d %s: changed %v, %v", run, e.Seq, e.Type, changed, err)
		}
		switch e.Type {
		case world.WaitCreated:
			until[e.ID] = e.Until
		case world.WaitCompleted:
			if e.Outcome == world.OutcomeDue && e.Time.Before(until[e.ID]) {
				q.fault("run %s: law 7: wait %s is over at %s, due at %s", run, e.ID, e.Time, until[e.ID])
			}
		}
		if e.Delivery != "" {
			if before := deliveries[e.Delivery]; before > 0 {
				q.fault("run %s: law 6: delivery %s is in events %d and %d", run, e.Delivery, before, e.Seq)
			}
			deliveries[e.Delivery] = e.Seq
		}
	}
}

// money: each transfer touched each account once, no other rows are there, and the sum is what it was.
func (q *inquest) money(ctx context.Context, orders []*order) error {
	rows, err := q.conn.Query(ctx, "select transfer, kind || ' ' || account, amount from ledger.moves")
	if err != nil {
		return err
	}
	got := map[int]map[string]int64{}
	balances := map[int]int64{}
	var n int
	var key string
	var amount int64
	_, err = pgx.ForEachRow(rows, []any{&n, &key, &amount}, func() error {
		if got[n] == nil {
			got[n] = map[string]int64{}
		}
		if _, twice := got[n][key]; twice {
			q.fault("transfer %d touched its account twice: %s", n, key)
		}
		got[n][key] = amount
		var kind string
		var account int
		if _, err := fmt.Sscan(key, &kind, &account); err != nil {
			return err
		}
		balances[account] += amount
		return nil
	})
	if err != nil {
		return err
	}
	for _, o := range orders {
		if diff := cmp.Diff(o.moves(), got[o.N]); diff != "" {
			q.fault("transfer %d: moves, want -, got +:\n%s", o.N, diff)
		}
		delete(got, o.N)
	}
	for n, moves := range got {
		q.fault("transfer %d was never accepted, and moved %v", n, moves)
	}
	var sum int64
	rows, err = q.conn.Query(ctx, "select id, balance from ledger.accounts")
	if err != nil {
		return err
	}
	_, err = pgx.ForEachRow(rows, []any{&n, &amount}, func() error {
		sum += amount
		if want := openingBalance + balances[n]; amount != want {
			q.fault("account %d holds %d, its moves come to %d", n, amount, want)
		}
		return nil
	})
	if sum != accounts*openingBalance {
		q.fault("all accounts hold %d, want %d", sum, accounts*openingBalance)
	}
	return err
}

// noted is money, of a far ledger: each transfer moved what it must, under keys of which each is one body's of one step, and no money came or went.
func (q *inquest) noted(orders []*order) {
	byKey := map[string]note{}
	for _, n := range q.ev.notes {
		if n.What != noteMove {
			continue
		}
		n.At, n.PID, n.Worker, n.Attempt = 0, 0, "", 0
		if before, known := byKey[n.Key]; known && before != n {
			q.fault("key %s is that of two moves: %+v and %+v", n.Key, before, n)
		}
		byKey[n.Key] = n
	}
	got, byTransfer := map[int]map[string]int64{}, map[int]*order{}
	for _, o := range orders {
		byTransfer[o.N] = o
	}
	sum := int64(0)
	for _, n := range byKey {
		if o := byTransfer[n.Transfer]; o != nil && o.toClosed() && n.Name == "credit" {
			continue // refused, each time
		}
		if got[n.Transfer] == nil {
			got[n.Transfer] = map[string]int64{}
		}
		move := fmt.Sprintf("%s %d", n.Name, n.Account)
		if _, twice := got[n.Transfer][move]; twice {
			q.fault("transfer %d touched its account under two keys: %s", n.Transfer, move)
		}
		got[n.Transfer][move] = n.Amount
		sum += n.Amount
	}
	for _, o := range orders {
		if diff := cmp.Diff(o.moves(), got[o.N]); diff != "" {
			q.fault("transfer %d: moves, want -, got +:\n%s", o.N, diff)
		}
		delete(got, o.N)
	}
	for n, moves := range got {
		q.fault("transfer %d was never accepted, and moved %v", n, moves)
	}
	if sum != 0 {
		q.fault("all moves come to %d, want 0", sum)
	}
}

// story tells a log, short.
func story(events []world.Event) string {
	var b strings.Builder
	for i := range events {
		e := &events[i]
		fmt.Fprintf(&b, "    %3d %s %s %s %s attempt %d %s", e.Seq, e.Time.Format(clockFormat), e.Type, e.ID, e.Name, e.Attempt, e.Payload)
		if e.Error != nil {
			fmt.Fprintf(&b, " %s %s", e.Error.Code, e.Error.Message)
		}
		b.WriteByte('\n')
	}
	return b.String()
}
