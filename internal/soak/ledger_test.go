//go:build unix

package soak

// This file is the application: accounts, and transfers between them as a workflow.

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/world/postgres"
)

// The ledger: accounts with what they hold, the orders of clients who start a transfer in a transaction of their own, and a row for each time that a transfer
// touched an account. Nothing in the tables keeps a transfer from
// touching an account twice: that is what the engine promises, and the test looks for.
const (
	accounts       = 20
	openingBalance = 1_000_000

	ledgerTables = `
		create schema ledger;
		create table ledger.accounts (id int primary key, balance bigint not null);
		create table ledger.orders (transfer int primary key);
		create table ledger.moves (at timestamptz not null default now(), transfer int not null, kind text not null, account int not null, amount bigint not null);`
)

// transfer is the input of the workflow.
type transfer struct {
	N      int   `json:"n"`
	From   int   `json:"from"`
	To     int   `json:"to"`
	Amount int64 `json:"amount"`
	NapMs  int   `json:"napMs"`  // how long the money is on its way
	BodyMs int   `json:"bodyMs"` // how long ordinary steps take
}

// Some transfers go to an account that is closed, which shows only after the money was taken: it is given back.
func (t *transfer) toClosed() bool { return t.N%9 == 4 }

// Some bodies fail at their first attempt, after they have written: what they wrote must be gone.
func (t *transfer) stumbles() bool { return t.N%7 == 3 }

// Some are ordered: the run is started in the transaction that writes the order. Some of those change their mind, and roll it back.
func (t *transfer) ordered() bool { return t.N%3 == 1 }

func (t *transfer) received() bool { return t.ordered() && t.N%5 == 2 }

// result is what the transfer must come to.
func (t *transfer) result() string {
	if t.toClosed() {
		return fmt.Sprintf("transfer %d: %d given back to %d", t.N, t.Amount, t.From)
	}
	return fmt.Sprintf("transfer %d: %d from %d to %d", t.N, t.Amount, t.From, t.To)
}

// moves are the rows that it must leave, kind and amount by account.
func (t *transfer) moves() map[string]int64 {
	out := map[string]int64{fmt.Sprintf("debit %d", t.From): -t.Amount}
	if t.toClosed() {
		out[fmt.Sprintf("refund %d", t.From)] = t.Amount
	} else {
		out[fmt.Sprintf("credit %d", t.To)] = t.Amount
	}
	return out
}

func (t *transfer) run() string { return fmt.Sprintf("transfer-%06d", t.N) }

var (
	errClosed  = errors.New("the account is closed")
	errStumble = errors.New("stumbled after writing")
)

// confirmed is sent to each transfer once.
var confirmed = stepwell.Event[int]("confirmed")

// transferFlow is the workflow as clients see it; [ledger.definitions] has the code.
var transferFlow = stepwell.Define("transfer", func(stepwell.Context, transfer) (string, error) { return "", errors.New("not here") })

// ledger is what a worker process has of the application.
type ledger struct {
	notes *notes
	far   bool // no database of its own is there: what moves is noted
}

func (l *ledger) definitions() []stepwell.Definition {
	notify := stepwell.DefineStep("notify", func(ctx context.Context, t transfer) (string, error) {
		return fmt.Sprint("told ", t.N), l.notes.body(ctx, func() error { return dawdle(ctx, t.BodyMs) })
	}, persistent)
	book := stepwell.DefineStep("book", func(ctx context.Context, t transfer) (int, error) {
		return t.N, l.notes.body(ctx, func() error { return dawdle(ctx, t.BodyMs) })
	}, persistent)
	flow := stepwell.Define("transfer", func(ctx stepwell.Context, t transfer) (string, error) {
		if err := l.post(ctx, "debit", &t, t.From, -t.Amount); err != nil {
			return "", err
		}
		telling, booking := notify.Start(ctx, t), book.Start(ctx, t) // one of them is queued for every worker
		n, _, err := confirmed.Wait(ctx)
		if err == nil && n != t.N {
			err = fmt.Errorf("confirmed as %d", n)
		}
		if err == nil {
			err = stepwell.Sleep(ctx, "on its way", time.Duration(t.NapMs)*time.Millisecond)
		}
		if err != nil {
			return "", err
		}
		err = l.post(ctx, "credit", &t, t.To, t.Amount)
		if back := errors.Is(err, stepwell.ErrCancelled); err != nil && !back && t.toClosed() {
			err = l.post(ctx, "refund", &t, t.From, t.Amount)
		}
		if err != nil {
			return "", err
		}
		if told, err := telling.Get(ctx); err != nil || told != fmt.Sprint("told ", t.N) {
			return "", fmt.Errorf("notify: %q, %w", told, err)
		}
		if booked, err := booking.Get(ctx); err != nil || booked != t.N {
			return "", fmt.Errorf("book: %d, %w", booked, err)
		}
		return stepwell.Step(ctx, "receipt", func(c context.Context) (string, error) {
			return t.result(), l.notes.body(c, func() error { return dawdle(c, t.BodyMs) })
		}, persistent)
	})
	return []stepwell.Definition{flow, notify, book}
}

// persistent keeps trying: what fails here fails because of the fire.
var persistent = stepwell.Retry{Attempts: stepwell.Unlimited, Base: 20 * time.Millisecond, Cap: time.Second}

// post is a transactional step that changes one account; a far one may do it twice under one key, which counts once.
func (l *ledger) post(ctx stepwell.Context, kind string, t *transfer, account int, amount int64) error {
	if l.far {
		return stepwell.Do(ctx, kind, func(c context.Context) error { return l.move(c, kind, t, account, amount) }, persistent)
	}
	return stepwell.Do(ctx, kind, func(c context.Context) error {
		return l.notes.body(c, func() error {
			tx := postgres.TxFrom(c)
			if _, err := tx.Exec(c, "insert into ledger.moves (transfer, kind, account, amount) values ($1, $2, $3, $4)", t.N, kind, account, amount); err != nil {
				return err
			}
			tag, err := tx.Exec(c, "update ledger.accounts set balance = balance + $2 where id = $1", account, amount)
			switch {
			case err != nil:
				return err
			case tag.RowsAffected() != 1:
				return stepwell.Fatal(fmt.Errorf("no account %d", account))
			case kind == "credit" && t.toClosed():
				return stepwell.Fatal(errClosed) // after it has written
			case t.stumbles() && stepwell.Info(c).Attempt == 1:
				return errStumble
			}
			return nil
		})
	}, persistent, stepwell.Transactional())
}

// move notes that money moved.
func (l *ledger) move(ctx context.Context, kind string, t *transfer, account int, amount int64) error {
	return l.notes.body(ctx, func() error {
		i := stepwell.Info(ctx)
		if err := l.notes.write(note{What: noteMove, Step: i.Step, Attempt: i.Attempt, Key: i.IdempotencyKey, Transfer: t.N, Name: kind, Account: account, Amount: amount}); err != nil {
			return err
		}
		switch {
		case kind == "credit" && t.toClosed():
			return stepwell.Fatal(errClosed) // after it has moved, and so it counts for nothing
		case t.stumbles() && i.Attempt == 1:
			return errStumble
		}
		return nil
	})
}

// dawdle is work that can be interrupted.
func dawdle(ctx context.Context, ms int) error {
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(time.Duration(ms) * time.Millisecond):
		return nil
	}
}
