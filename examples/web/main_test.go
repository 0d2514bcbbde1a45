package main

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/internal/forktest"
	"github.com/stepwell/stepwell/stepwelltest"
)

func Example() {
	main()
	// Output:
	// 202 Accepted
	// 200 OK
	// the same run: true
	// 200 OK a cup of tea
	// 404 Not Found no such order
}

func TestHandlers(t *testing.T) {
	env := stepwelltest.New(t, Brew)
	stepwelltest.Return(env, "pour", "a cup of coffee")
	env.Do(func(_ context.Context, app *stepwell.App) error {
		h := shop{app}.routes()
		serve := func(method, path, body string) *httptest.ResponseRecorder {
			w := httptest.NewRecorder()
			h.ServeHTTP(w, httptest.NewRequest(method, path, strings.NewReader(body)))
			return w
		}
		if got := serve("POST", "/drinks", "tea").Code; got != http.StatusBadRequest {
			t.Errorf("what is no JSON: got %d, want 400", got)
		}
		order := serve("POST", "/drinks", `{"name": "coffee"}`)
		if order.Code != http.StatusAccepted {
			t.Fatalf("order: got %d, want 202", order.Code)
		}
		if got, want := serve("GET", order.Header().Get("Location"), "").Body.String(), "a cup of coffee\n"; got != want {
			t.Errorf("got %q, want %q", got, want)
		}
		return nil
	})
	env.CrashEverywhere()
}

func TestAForkPoursOnce(t *testing.T) {
	forktest.EveryEvent(t, forktest.Case{
		Config: stepwell.Config{Definitions: []stepwell.Definition{Brew}},
		Start:  forktest.Start(Brew, Drink{Name: "tea"}),
	})
}
