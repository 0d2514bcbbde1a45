// Package queue has message queues in the same database as workflows, with the same guarantees.
// Programs use them with or without workflows.
//
//	var Mails = queue.Define[Mail]("mails")
//
//	app, err := stepwell.New(w, stepwell.Config{Definitions: []stepwell.Definition{
//		Mails.Handle(func(ctx context.Context, m *queue.Message[Mail]) error { return send(ctx, m.Payload) }),
//	}})
//
//	id, err := Mails.Send(ctx, app, Mail{To: "ann@example.com"})
//
// Delivery is at least once: a message is received until it is acknowledged, so a handler must
// tolerate seeing it twice. A message whose handler returns an error is received again, with
// growing delays. After [MaxReceives] it becomes a dead letter, which stays in the queue until an
// operator moves it back or purges it.
//
// Messages of a [Group] are received one at a time, in the order of their sends.
//
// Programs in any language use the same queues over REST: see docs/queues.md.
package queue
