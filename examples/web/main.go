// Web starts a run inside a handler of net/http, and answers before it is done: the order is safe from then on. A second request
// with the same key gets the same run. Another handler tells how it stands.
//
//	go run ./examples/web
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"time"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/world"
	_ "github.com/stepwell/stepwell/world/memory"
	_ "github.com/stepwell/stepwell/world/postgres"
	_ "github.com/stepwell/stepwell/world/sqlite"
)

// Drink is what is ordered.
type Drink struct {
	Name string `json:"name"`
}

// Brew is the workflow.
var Brew = stepwell.Define("brew", func(ctx stepwell.Context, d Drink) (string, error) {
	if err := stepwell.Sleep(ctx, "heat", 20*time.Millisecond); err != nil {
		return "", err
	}
	return stepwell.Step(ctx, "pour", func(context.Context) (string, error) { return "a cup of " + d.Name, nil })
})

// shop is the handlers' state.
type shop struct{ app *stepwell.App }

func (s shop) routes() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /drinks", s.order)
	mux.HandleFunc("GET /drinks/{id}", s.show)
	return mux
}

// order starts a run: 202, or 200 where the key's run is there already.
func (s shop) order(w http.ResponseWriter, r *http.Request) {
	var d Drink
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, 1<<16)).Decode(&d); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	var opts []stepwell.StartOption
	if key := r.Header.Get("Idempotency-Key"); key != "" {
		opts = append(opts, stepwell.Key(key))
	}
	run, err := Brew.Start(r.Context(), s.app, d, opts...)
	switch {
	case errors.Is(err, stepwell.ErrInvalid):
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	case err != nil:
		http.Error(w, "try again", http.StatusServiceUnavailable)
		return
	}
	w.Header().Set("Location", "/drinks/"+run.ID())
	if run.Existed() {
		w.WriteHeader(http.StatusOK)
	} else {
		w.WriteHeader(http.StatusAccepted)
	}
}

// show waits a little for the drink, and tells how it stands.
func (s shop) show(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithTimeout(r.Context(), 10*time.Second)
	defer cancel()
	drink, err := Brew.Get(s.app, r.PathValue("id")).Result(ctx)
	switch {
	case err == nil:
		fmt.Fprintln(w, drink)
	case errors.Is(err, stepwell.ErrNotFound):
		http.Error(w, "no such order", http.StatusNotFound)
	case errors.Is(err, context.DeadlineExceeded):
		fmt.Fprintln(w, world.Running)
	default:
		http.Error(w, err.Error(), http.StatusInternalServerError)
	}
}

var db = flag.String("db", "memory:", "where runs are kept: memory:, sqlite:PATH or postgres://...")

func main() {
	flag.Parse()
	stepwell.Main(stepwell.Config{Database: *db, Definitions: []stepwell.Definition{Brew}}, func(ctx context.Context, app *stepwell.App) error {
		server := httptest.NewServer(shop{app}.routes()) // on a free port: yours listens where you say
		first := post(server.URL, "order-17", `{"name": "tea"}`)
		second := post(server.URL, "order-17", `{"name": "tea"}`) // the first answer was lost, perhaps
		fmt.Println("the same run:", first == second)
		get(server.URL + first)
		get(server.URL + "/drinks/unknown")
		server.Close()
		return nil
	})
}

func post(url, key, body string) (location string) {
	r, err := http.NewRequest(http.MethodPost, url+"/drinks", strings.NewReader(body))
	if err != nil {
		log.Fatal(err)
	}
	r.Header.Set("Idempotency-Key", key)
	return answer(http.DefaultClient.Do(r)).Get("Location")
}

func get(url string) { answer(http.Get(url)) }

func answer(r *http.Response, err error) http.Header {
	if err != nil {
		log.Fatal(err)
	}
	defer r.Body.Close()
	body, _ := io.ReadAll(r.Body)
	fmt.Println(strings.TrimSpace(fmt.Sprintln(r.Status, strings.TrimSpace(string(body)))))
	return r.Header
}
