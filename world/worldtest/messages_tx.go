// Messages in transactions that are shared.

package worldtest

import (
	"context"
	"time"

	"github.com/stepwell/stepwell/world"
)

// inTx is a check of a world whose messages can be part of transactions.
func inTx(f func(m *messaging, in world.Transactor)) func(r *rig) {
	return needs("Transactor", withMessages(func(m *messaging) { f(m, m.able.Transactor) }))
}

func (m *messaging) begin() world.Tx {
	m.Helper()
	tx, err := m.able.Transactor.Begin(m.ctx)
	m.must(err, "begin")
	m.Cleanup(func() { _ = tx.Rollback(context.Background()) })
	return tx
}

// endsIn acknowledges in a transaction, and holds the receipts to be good or not.
func (m *messaging) endsIn(tx world.Tx, good bool, all ...world.Message) {
	m.Helper()
	var list []world.Settlement
	for _, x := range all { // of another queue, and then of any
		list = append(list, world.Settlement{Receipt: x.Receipt, Kind: world.Ack, Queues: "other"}, world.Settlement{Receipt: x.Receipt, Kind: world.Ack})
	}
	done, err := m.able.Transactor.SettleMessagesIn(m.ctx, tx, list)
	m.must(err, "acknowledge in a transaction")
	for i := range all {
		if done[2*i] || done[2*i+1] != good {
			m.Fatalf("acknowledgement of message %s in a transaction: %t, want %t", textOf(all[i]), done[2*i:2*i+2], good)
		}
	}
}

var messagesInTx = []check{
	{"a message is sent with its transaction", "a transaction is all or nothing", inTx(func(m *messaging, in world.Transactor) {
		all := []world.Message{{Queue: "q", Payload: quoted("a")}, {Queue: "q", Payload: quoted("g:b"), Group: "g"}}
		for _, commits := range []bool{false, true} {
			tx := m.begin()
			sent, err := in.SendMessagesIn(m.ctx, tx, all)
			m.must(err, "send in a transaction")
			m.gets(5)
			if !commits {
				m.must(tx.Rollback(m.ctx), "roll back")
				m.gets(5)
				continue
			}
			m.must(tx.Commit(m.ctx), "commit")
			m.until("both are received", func() bool {
				page, err := m.k.PeekMessages(m.ctx, world.PeekQuery{Queue: "q", State: world.MessageOut})
				m.must(err, "peek")
				m.receive(5)
				return len(page.Messages) == 2 && page.Messages[0].ID == sent[0].ID && page.Messages[1].ID == sent[1].ID
			})
		}
	})},
	{"a queue that is not there, in a transaction", "a refusal leaves the transaction as it was", inTx(func(m *messaging, in world.Transactor) {
		tx := m.begin()
		_, err := in.SendMessagesIn(m.ctx, tx, []world.Message{{Queue: "nowhere", Payload: quoted("a")}})
		m.refused(err, world.ErrNotFound, "a message for a queue that is not there")
		_, err = in.SendMessagesIn(m.ctx, tx, []world.Message{{Queue: "q", Payload: []byte("{")}})
		m.refused(err, world.ErrInvalid, "a message that is no JSON")
		_, err = in.SendMessagesIn(m.ctx, tx, []world.Message{{Queue: "q", Payload: quoted("a")}})
		m.must(err, "send in a transaction")
		m.must(tx.Commit(m.ctx), "commit")
		m.states("a ready")
	})},
	{"a dedupe ID in a transaction", "the same message is sent once", inTx(func(m *messaging, in world.Transactor) {
		once := []world.Message{{Queue: "q", Payload: quoted("a"), Dedupe: "once"}}
		tx := m.begin()
		_, err := in.SendMessagesIn(m.ctx, tx, once)
		m.must(err, "send in a transaction")
		m.must(tx.Rollback(m.ctx), "roll back")
		tx = m.begin()
		first, err := in.SendMessagesIn(m.ctx, tx, once)
		m.must(err, "send in a transaction")
		again, err := in.SendMessagesIn(m.ctx, tx, once)
		m.must(err, "send in a transaction again")
		m.same(again, []world.Sent{{ID: first[0].ID, Duplicate: true}}, "the second")
		m.must(tx.Commit(m.ctx), "commit")
		m.same(m.put(once...), again, "a third")
		m.states("a ready")
	})},
	{"an acknowledgement is part of its transaction", "a transaction is all or nothing", inTx(func(m *messaging, _ world.Transactor) {
		m.send("a", "g:1", "g:2")
		got := m.receive(2).Messages
		got = append(got, m.receive(2).Messages...)
		m.same(len(got), 2, "messages that are out")
		tx := m.begin()
		m.endsIn(tx, true, got...)
		m.states("a out", "g:1 out", "g:2 parked")
		m.must(tx.Rollback(m.ctx), "roll back")
		m.ends(world.Extend, time.Minute, true, got...)
		tx = m.begin()
		m.endsIn(tx, true, got...)
		m.must(tx.Commit(m.ctx), "commit")
		m.ends(world.Extend, time.Minute, false, got...)
		m.until("the next of the group is received", func() bool { return len(m.receive(5).Messages) == 1 })
		m.states("g:2 out")
	})},
	{"a late receipt in a transaction", "a receipt is good for one receive", inTx(func(m *messaging, _ world.Transactor) {
		m.send("a")
		old := m.gets(1, "a")
		m.ends(world.Nack, 0, true, old...)
		m.gets(1, "a")
		tx := m.begin()
		m.endsIn(tx, false, old...)
		m.must(tx.Rollback(m.ctx), "roll back")
		m.states("a out")
	})},
	{"who receives waits for no transaction", "an open transaction stops nobody", inTx(func(m *messaging, _ world.Transactor) {
		m.send("a", "g:1", "g:2")
		held, others := m.receive(2).Messages, []world.Message(nil)
		held = append(held, m.receive(2).Messages...)
		m.same(len(held), 2, "messages that are out")
		m.send("b", "h:1", "h:2")
		tx := m.begin()
		m.endsIn(tx, true, held...)
		began := time.Now()
		m.until("all others are received", func() bool {
			got := m.receive(5).Messages
			m.ends(world.Ack, 0, true, got...)
			others = append(others, got...)
			return len(others) >= 3
		})
		if took := time.Since(began); took > 5*time.Second {
			m.Fatalf("others were received after %s: the transaction held them up", took)
		}
		for _, x := range others {
			if x.Group == "g" {
				m.Fatalf("%s was received while its group was out", textOf(x))
			}
		}
		m.must(tx.Commit(m.ctx), "commit")
		m.until("the rest is received", func() bool {
			got := m.receive(5).Messages
			m.ends(world.Ack, 0, true, got...)
			others = append(others, got...)
			return len(others) == 4
		})
		m.states()
	})},
}
