// Package queue has queues of messages that programs use with no workflow: in the same database, with the same
// guarantees.
//
//	var Mails = queue.Define[Mail]("mails")
//
//	app, err := stepwell.New(w, stepwell.Config{Definitions: []stepwell.Definition{
//		Mails.Handle(func(ctx context.Context, m *queue.Message[Mail]) error { return send(ctx, m.Payload) }),
//	}})
//
//	id, err := Mails.Send(ctx, app, Mail{To: "ann@example.com"})
//
// A message is received until it is acknowledged: at least once, so a handler must bear to see one twice. What
// a handler
// returns an error for is received again, later each time, and after [MaxReceives] it is a dead letter, which
// stays in
// the queue until an operator moves it back or purges it.
//
// Messages of a [Group] are received one at a time, in the order in which they were sent.
//
// Programs without the types, of any language, use the same queues over REST: see docs/queues.md.
package queue
