// Push is a program for a platform that starts it for requests, and may freeze or end it between them: it takes no work by itself. A server that pushes finds
// what is ready and sends it a signed message; the program works on that while the request lasts.
//
//	go run ./examples/push
//
// shows both in one process. With -serve it is the program alone, as one deploys it, beside "stepwell server --push URL" on the same database:
//
//	PUSH_SECRET=… go run ./examples/push -db postgres://app@db.internal/app -serve :8080
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log"
	"net"
	"net/http"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/server"
	_ "github.com/stepwell/stepwell/world/memory"
	_ "github.com/stepwell/stepwell/world/postgres"
	_ "github.com/stepwell/stepwell/world/sqlite"
)

// Parcel is what is sent.
type Parcel struct {
	To string `json:"to"`
}

// Deliver is the workflow: three steps and a pause, during which nothing of it runs anywhere.
var Deliver = stepwell.Define("deliver", func(ctx stepwell.Context, p Parcel) (string, error) {
	for _, step := range []string{"pack", "label"} {
		if err := stepwell.Do(ctx, step, func(context.Context) error { return nil }); err != nil {
			return "", err
		}
	}
	if err := stepwell.Sleep(ctx, "van", 50*time.Millisecond); err != nil {
		return "", err
	}
	return stepwell.Step(ctx, "hand over", func(context.Context) (string, error) { return "delivered to " + p.To, nil })
})

var (
	db    = flag.String("db", "memory:", "where runs are kept: memory:, sqlite:PATH or postgres://...")
	serve = flag.String("serve", "", "serve messages on this address, and nothing else; the secret is in PUSH_SECRET")
)

func main() {
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	w, err := stepwell.Open(ctx, *db)
	check(err)
	defer w.Close()
	app, err := stepwell.New(w, stepwell.Config{Definitions: []stepwell.Definition{Deliver}})
	check(err)
	secret, address := os.Getenv("PUSH_SECRET"), *serve
	if address == "" {
		secret, address = "a-secret-for-this-show", "127.0.0.1:0"
	}
	secrets, err := server.ParsePushSecrets(secret)
	check(err)
	flow, err := server.NewFlow(app, server.FlowOptions{Secrets: secrets})
	check(err)
	l, err := net.Listen("tcp", address)
	check(err)
	program := &http.Server{Handler: counted(flow), ReadHeaderTimeout: 10 * time.Second}
	if *serve == "" {
		client, err := stepwell.New(w, stepwell.Config{})
		check(err)
		go func() {
			defer stop()
			show(ctx, client, "http://"+l.Addr().String(), secrets)
		}()
	}
	var ending sync.WaitGroup
	ending.Go(func() {
		<-ctx.Done()
		check(flow.Close()) // lets steps end, and hands back what is not finished
		last, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		check(program.Shutdown(last))
	})
	if err := program.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		log.Fatal(err)
	}
	ending.Wait()
	if *serve == "" {
		fmt.Println("messages:", messages)
	}
}

// show does what "stepwell server --push URL" does, and starts a run.
func show(ctx context.Context, client *stepwell.App, url string, secrets []server.PushSecret) {
	s, err := server.New(client, server.Options{Push: server.PushOptions{Endpoints: []string{url}, Secrets: secrets}})
	check(err)
	pushing, stop := context.WithCancel(ctx)
	var loop sync.WaitGroup
	loop.Go(func() { s.Push(pushing) })
	run, err := Deliver.Start(ctx, client, Parcel{To: "Ada"})
	check(err)
	fmt.Println(run.Result(ctx))
	stop()
	loop.Wait()
}

// messages counts what counted has seen.
var messages int

// counted counts messages: two, as the run sleeps once. Health and the manifest are asked for by GET.
func counted(h http.Handler) http.Handler {
	var mu sync.Mutex
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost {
			mu.Lock()
			messages++
			mu.Unlock()
		}
		h.ServeHTTP(w, r)
	})
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
