// Package topic brings what is published once to all whom it concerns: each subscription of that moment gets it, in
// a queue, as a run of a workflow, or posted to an HTTP endpoint.
//
//	var Paid = topic.Of[Payment]("order.paid")
//
//	app, err := stepwell.New(w, stepwell.Config{Definitions: []stepwell.Definition{
//		topic.ToWorkflow("ship", "order.paid", Ship, topic.KeyFrom("ship-{payload.order}")),
//		topic.ToEndpoint("billing", "order.*", "https://billing.example.com/events"),
//	}})
//
//	id, err := Paid.Publish(ctx, app, Payment{Order: "o-7"})
//
// Topics are words with dots between: order.paid. A pattern may have * for any one word, and # for any number of words.
//
// What Publish has answered goes to each subscription that stands then, whatever dies: once to queues and workflows, at
// least once to endpoints. Programs of any language do the same over REST: see docs/topics.md.
package topic
