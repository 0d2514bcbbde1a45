package remote

// A server for tests, which answers as it is told.

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stepwell/stepwell/world/remote/wire"
)

// asked is a request that came to a fake server.
type asked struct {
	call string
	body string
}

// fake is a server that answers as it is told.
type fake struct {
	mu      sync.Mutex
	answers map[string][]string // by call, one after the other; the last one stays. "cut" cuts the connection; a number is a problem's status and its code; "bare" names no call, "raw" does not say that it is an answer
	all     []asked
}

func (f *fake) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	call := strings.TrimPrefix(strings.TrimPrefix(r.URL.Path, wire.Prefix), "/")
	body, err := io.ReadAll(r.Body)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	f.mu.Lock()
	f.all = append(f.all, asked{call, strings.TrimSpace(string(body))})
	said := `{}`
	if call == "" {
		said = `{"protocol": 1, "server": "srv_1", "scope": "admin"}`
	}
	if left := f.answers[call]; len(left) > 0 {
		said = left[0]
		if len(left) > 1 {
			f.answers[call] = left[1:]
		}
	}
	f.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	if call == "notices" {
		w.Header().Set("Content-Type", "text/event-stream")
	}
	bare := false
	if said, bare = strings.CutPrefix(said, "bare "); !bare {
		w.Header().Set(wire.CallHeader, r.Header.Get(wire.CallHeader))
	}
	switch status, rest, _ := strings.Cut(said, " "); status {
	case "html":
		w.Header().Del(wire.CallHeader)
		w.Header().Set("Content-Type", "text/html")
		w.WriteHeader(map[string]int{"": 200, "404": 404, "502": 502}[rest])
		said = "<html>no</html>"
	case "other":
		w.Header().Set(wire.CallHeader, "another")
		said = rest
	case "raw":
		said = rest
	case "empty":
		w.Header().Del(wire.CallHeader)
		said = ""
	case "cut":
		panic(http.ErrAbortHandler)
	case "hang":
		<-r.Context().Done()
		return
	case "401", "403", "404", "409", "429", "500", "503":
		w.Header().Set("Content-Type", "application/problem+json")
		code := map[string]int{"401": 401, "403": 403, "404": 404, "409": 409, "429": 429, "500": 500, "503": 503}[status]
		w.WriteHeader(code)
		if !strings.HasPrefix(rest, "{") {
			rest = `{"code": "` + rest + `", "detail": "no"}`
		}
		said = rest
	default:
		if call != "notices" && !bare && said != "null" {
			said = `{"answer": ` + said + `}`
		}
	}
	_, _ = io.WriteString(w, said)
}

// calls are the bodies that came to a call.
func (f *fake) calls(call string) (bodies []string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, a := range f.all {
		if a.call == call {
			bodies = append(bodies, a.body)
		}
	}
	return bodies
}

func begin(t *testing.T, answers map[string][]string) (*World, *fake) {
	t.Helper()
	return connect(t, &fake{answers: answers})
}

func connect(t *testing.T, f *fake) (*World, *fake) {
	t.Helper()
	s := httptest.NewUnstartedServer(f)
	s.Config.ErrorLog = nil
	s.Start()
	t.Cleanup(s.Close)
	w, err := Open(t.Context(), s.URL, Options{Key: "secret-0123456789", Patience: 5 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := w.Close(); err != nil {
			t.Errorf("Close = %v", err)
		}
	})
	return w, f
}
