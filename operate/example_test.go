package operate_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/api"
	"github.com/stepwell/stepwell/operate"
	"github.com/stepwell/stepwell/world/memory"
)

// Dead letters are looked at, and brought back.
func ExampleOn() {
	app, err := stepwell.New(memory.New(), stepwell.Config{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		panic(err)
	}
	ctx, do := context.Background(), operate.On(app)
	if _, err := api.Do(ctx, do, api.DeclareQueueOp, api.DeclareQueue{Queue: "mails"}); err != nil {
		panic(err)
	}
	mail := api.NewMessage{Payload: json.RawMessage(`{"to":"ann"}`)}
	if _, err := api.Do(ctx, do, api.SendMessagesOp, api.SendMessages{Queue: "mails", NewMessage: mail}); err != nil {
		panic(err)
	}
	got, err := api.Do(ctx, do, api.ReceiveMessagesOp, api.ReceiveMessages{Queue: "mails"})
	if err != nil {
		panic(err)
	}
	in := api.BuryMessages{Queue: "mails", Receipts: []string{got.Messages[0].Receipt}, Error: "no such address"}
	if _, err := api.Do(ctx, do, api.BuryMessagesOp, in); err != nil {
		panic(err)
	}
	page, err := api.Do(ctx, do, api.PeekMessagesOp, api.PeekMessages{Queue: "mails", State: "dead"})
	if err != nil {
		panic(err)
	}
	for _, m := range page.Messages {
		fmt.Println(string(m.Payload), m.Error)
	}
	back, err := api.Do(ctx, do, api.RedriveQueueOp, api.RedriveQueue{Queue: "mails"})
	fmt.Println(back.Messages, err)
	// Output:
	// {"to":"ann"} no such address
	// 1 <nil>
}
