package crypt

import (
	"context"

	"github.com/stepwell/stepwell/world"
)

// transactor makes changes in transactions of the world below, whose payloads are encrypted.
type transactor struct {
	world.Transactor
	w *World
}

// CommitIn is Commit within a transaction.
func (t transactor) CommitIn(ctx context.Context, tx world.Tx, c *world.Commit) (world.Committed, error) {
	encrypted, err := t.w.encryptCommit(ctx, tx, c)
	if err != nil {
		return world.Committed{}, err
	}
	done, err := t.Transactor.CommitIn(ctx, tx, encrypted)
	return t.w.openCommitted(c.Run, done, err)
}

// DeliverIn is Deliver within a transaction.
func (t transactor) DeliverIn(ctx context.Context, tx world.Tx, d *world.Delivery) (world.Delivered, error) {
	encrypted, err := t.w.encryptDelivery(ctx, tx, d)
	if err != nil {
		return world.Delivered{}, err
	}
	return t.Transactor.DeliverIn(ctx, tx, encrypted)
}

// PublishIn is Publish within a transaction.
func (t transactor) PublishIn(ctx context.Context, tx world.Tx, all []world.Publication) ([]world.Sent, error) {
	if err := world.CheckPublications(all); err != nil {
		return nil, err
	}
	all, err := encryptPublications(ctx, t.w, all)
	if err != nil {
		return nil, err
	}
	return t.Transactor.PublishIn(ctx, tx, all)
}

// SendMessagesIn is SendMessages within a transaction.
func (t transactor) SendMessagesIn(ctx context.Context, tx world.Tx, all []world.Message) ([]world.Sent, error) {
	if err := world.CheckMessages(all); err != nil {
		return nil, err
	}
	all, err := encryptMessages(ctx, t.w, all)
	if err != nil {
		return nil, err
	}
	return t.Transactor.SendMessagesIn(ctx, tx, all)
}

// SettleMessagesIn is SettleMessages within a transaction.
func (t transactor) SettleMessagesIn(ctx context.Context, tx world.Tx, all []world.Settlement) ([]bool, error) {
	all, err := t.w.encryptSettlements(all)
	if err != nil {
		return nil, err
	}
	return t.Transactor.SettleMessagesIn(ctx, tx, all)
}
