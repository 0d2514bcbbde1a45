package webhook_test

// Examples of webhooks: requests from outside, at a URL, and their answers. The server takes them; here the program does, as a server would.

import (
	"context"
	"fmt"
	"time"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/webhook"
	"github.com/stepwell/stepwell/world/memory"
)

// The request of a payment provider, decided about by the workflow. The provider gets the answer.
func ExampleNew() {
	type payment struct{ Cents int }
	order := stepwell.Define("order", func(ctx stepwell.Context, cents int) (string, error) {
		hook, err := webhook.New(ctx, webhook.Named("paid"), webhook.Token("order-7"), webhook.RespondManually(10*time.Second))
		if err != nil {
			return "", err
		}
		for req, err := range hook.All(ctx) {
			if err != nil {
				return "", err
			}
			var paid payment
			if err := req.Decode(&paid); err != nil || paid.Cents < cents {
				if err := req.Respond(ctx, webhook.Response{Status: 422, Body: []byte("too little")}); err != nil {
					return "", err
				}
				continue
			}
			if err := req.Respond(ctx, webhook.Response{Body: []byte("thank you")}); err != nil {
				return "", err
			}
			return "paid by " + req.Header.Get("X-Customer"), hook.Dispose(ctx)
		}
		return "", nil
	})
	app, stop := exampleApp(order)
	defer stop()
	ctx := context.Background()
	run, _ := order.Start(ctx, app, 4200)
	waitsFor(app, run.ID(), stepwell.WhyHook)

	door, err := webhook.Find(ctx, app, "wh_order-7") // what follows, the server does
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, body := range []string{`{"cents": 1}`, `{"cents": 4200}`} {
		reply, err := door.Send(ctx, webhook.Request{Method: "POST", Body: []byte(body), Header: webhook.Header{"X-Customer": {"ada"}}})
		if err != nil {
			fmt.Println(err)
			return
		}
		answer, err := door.Answer(ctx, reply)
		fmt.Println(answer.Status, string(answer.Body), err)
	}
	fmt.Println(run.Result(ctx))
	ended, err := webhook.FindEnded(ctx, app, "wh_order-7") // what it has received may come again and gets its answer
	fmt.Println(ended.Ended, err)
	// Output:
	// 422 too little <nil>
	// 0 thank you <nil>
	// paid by ada <nil>
	// true <nil>
}

// A page for the person who follows a link; what is wrong with it shows when the webhook is opened.
func ExampleRespondWith() {
	confirm := stepwell.Define("confirm", func(ctx stepwell.Context, header string) (string, error) {
		page := webhook.Response{Header: map[string]string{"Content-Type": "text/html", "X-Shop": header}, Body: []byte("<h1>Thank you</h1>")}
		hook, err := webhook.New(ctx, webhook.RespondWith(page))
		if err != nil {
			return err.Error(), nil
		}
		return "mail the link", hook.Dispose(ctx)
	})
	app, stop := exampleApp(confirm)
	defer stop()
	for _, header := range []string{"lamps", "lamps\r\nSet-Cookie: a=b"} {
		run, _ := confirm.Start(context.Background(), app, header)
		fmt.Println(run.Result(context.Background()))
	}
	// Output:
	// mail the link <nil>
	// webhook: invalid: the answer has the header X-Shop with characters that a header cannot carry <nil>
}

// What GitHub has signed with a secret that the server has, under the name "github", comes in, and nothing else.
func ExampleSigned() {
	deploy := stepwell.Define("deploy", func(ctx stepwell.Context, _ int) (string, error) {
		hook, err := webhook.New(ctx, webhook.Token("deploy"), webhook.Signed(webhook.GitHub, "github"))
		if err != nil {
			return "", err
		}
		return hook.URL(), nil
	})
	app, stop := exampleApp(deploy)
	defer stop()
	run, _ := deploy.Start(context.Background(), app, 0)
	fmt.Println(run.Result(context.Background()))
	// Output: http://127.0.0.1:7373/.well-known/workflow/v1/webhook/wh_deploy <nil>
}

// Where requests go, for a list of hooks.
func ExampleOf() {
	wait := stepwell.Define("wait", func(ctx stepwell.Context, _ int) (string, error) {
		hook, err := webhook.New(ctx, webhook.Token("shop"), webhook.Metadata("orders"), webhook.PayloadErrors())
		if err != nil {
			return "", err
		}
		req, _, err := hook.Wait(ctx)
		return string(req.Body), err
	})
	app, stop := exampleApp(wait)
	defer stop()
	run, _ := wait.Start(context.Background(), app, 0)
	waitsFor(app, run.ID(), stepwell.WhyHook)
	hooks, _ := app.Hooks(context.Background(), run.ID(), "")
	for i := range hooks {
		if info, ok := webhook.Of(&hooks[i]); ok {
			fmt.Println(info.URL, string(info.Metadata))
		}
	}
	// Output: http://127.0.0.1:7373/.well-known/workflow/v1/webhook/wh_shop "orders"
}

// Headers that are not a workflow's to set.
func ExampleResponse_Check() {
	res := webhook.Response{Status: 200, Header: map[string]string{"Set-Cookie": "a=b"}}
	fmt.Println(res.Check())
	// Output: invalid: the answer has the header Set-Cookie, which a workflow cannot set
}

// exampleApp runs an App for an example; stop ends it.
func exampleApp(defs ...stepwell.Definition) (app *stepwell.App, stop func()) {
	w := memory.New()
	app, err := stepwell.New(w, stepwell.Config{Definitions: defs})
	if err != nil {
		panic(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := app.Run(ctx); err != nil {
			panic(err)
		}
	}()
	return app, func() { cancel(); <-done; _ = w.Close() }
}

// waitsFor waits until a run waits for something of a kind, or is over.
func waitsFor(app *stepwell.App, run string, kind stepwell.WhyKind) {
	for end := time.Now().Add(10 * time.Second); ; {
		why, err := app.Why(context.Background(), run)
		if err != nil || why.Kind == kind || why.Kind == stepwell.WhyOver || time.Now().After(end) {
			return
		}
		<-time.After(time.Millisecond)
	}
}
