// Package topic publishes values to subscriptions. Each current subscription of a topic gets a
// copy: in a queue, as a run of a workflow, or posted to an HTTP endpoint.
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
// A topic is words separated by dots: order.paid. In a pattern, * is any one word, and # any number
// of words.
//
// Once Publish returns, every current subscription gets the value, whatever crashes: queues and
// workflows exactly once, endpoints at least once. Programs in any language do the same over REST:
// see docs/topics.md.
package topic
