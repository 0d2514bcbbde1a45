package durable_test

import (
	"context"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/durable"
	"github.com/stepwell/stepwell/world/memory"
)

// A request is answered with what its run came to. Sent again under its key it is answered by the same run, also by
// another process after a crash.
func ExampleHandler() {
	type drink struct {
		Name string `json:"name"`
	}
	brew := stepwell.Define("brew", func(ctx stepwell.Context, d drink) (string, error) {
		return stepwell.Step(ctx, "pour", func(context.Context) (string, error) { return "a cup of " + d.Name, nil })
	})
	app, err := stepwell.New(memory.New(), stepwell.Config{Definitions: []stepwell.Definition{brew}}) // or a database
	if err != nil {
		log.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	worked := make(chan error)
	go func() { worked <- app.Run(ctx) }()

	mux := http.NewServeMux()
	mux.Handle("/drinks", durable.Handler(app, brew, durable.Options{}))
	server := httptest.NewServer(mux)

	order := func(key, body string) {
		r, err := http.NewRequest(http.MethodPost, server.URL+"/drinks", strings.NewReader(body))
		if err != nil {
			log.Fatal(err)
		}
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Idempotency-Key", key)
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			log.Fatal(err)
		}
		defer answer.Body.Close()
		text, _ := io.ReadAll(answer.Body)
		fmt.Println(answer.Status, answer.Header.Get("Content-Type"))
		if answer.StatusCode == http.StatusOK {
			fmt.Print(string(text))
		}
	}
	order("order-17", `{"name": "tea"}`)
	order("order-17", `{"name": "tea"}`) // the first answer was lost, perhaps
	order("order-18", `{"name": 18}`)

	server.Close()
	stop()
	<-worked
	// Output:
	// 200 OK application/json
	// "a cup of tea"
	// 200 OK application/json
	// "a cup of tea"
	// 422 Unprocessable Entity application/problem+json
}
