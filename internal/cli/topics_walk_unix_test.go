//go:build unix

package cli

// The walk of docs/topics.md, with a server that is killed in between.

import (
	"bufio"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/world/sqlite"
)

// awaitOrder waits until an order is paid, whoever publishes that.
var awaitOrder = stepwell.Define("await-order", func(ctx stepwell.Context, order string) (bool, error) {
	_, ok, err := stepwell.Event[json.RawMessage]("order.paid").Wait(ctx, stepwell.Match{"order": order}, stepwell.Listen(), stepwell.Timeout(24*time.Hour))
	return ok, err
})

func TestTopicsWalk(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "app.db")
	w, err := sqlite.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	works(t, w, shipOrder, awaitOrder)
	bodies := make(chan string, 9)
	endpoint := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		bodies <- r.URL.Path + " " + string(b)
	}))
	t.Cleanup(endpoint.Close)
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "topics.md"))
	if err != nil {
		t.Fatal(err)
	}
	text := strings.ReplaceAll(strings.ReplaceAll(string(page), "\r\n", "\n"), "http://127.0.0.1:8080", endpoint.URL)
	before, after, found := strings.Cut(text, "Kill the server now")
	if !found {
		t.Fatal("the page kills no server")
	}
	addr, kill := servedApart(t, "--db", path, "--private-endpoints")
	if n := walkText(t, addr, before); n < 7 {
		t.Errorf("got %d lines before the kill", n)
	}
	kill()
	addr, _ = servedApart(t, "--db", path, "--private-endpoints")
	if n := walkText(t, addr, after); n < 11 {
		t.Errorf("got %d lines after the kill", n)
	}
	if got := <-bodies; !strings.HasPrefix(got, "/events ") || !strings.Contains(got, `"type":"order.paid"`) || !strings.Contains(got, `"order":"o-7"`) {
		t.Errorf("posted: %s", got)
	}
}

// walkText executes the curl lines of a text, and counts them.
func walkText(t *testing.T, addr, text string) (n int) {
	t.Helper()
	for _, block := range regexp.MustCompile("(?s)```console\n(.*?)```").FindAllStringSubmatch(text, -1) {
		for _, call := range strings.Split(block[1], "$ ")[1:] {
			command, shown, _ := strings.Cut(call, "\n")
			walkLine(t, addr, command, shown)
			n++
		}
	}
	return n
}

// servedApart runs stepwell server as a process of its own until the test ends, or kill kills it.
func servedApart(t *testing.T, args ...string) (addr string, kill func()) {
	t.Helper()
	cmd := exec.Command(build(t), append([]string{"server", "--listen", "127.0.0.1:0"}, args...)...)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	killed := false
	kill = func() {
		if !killed {
			killed = true
			_ = cmd.Process.Kill()
			_ = cmd.Wait() // it was killed
		}
	}
	t.Cleanup(kill)
	line, err := bufio.NewReader(out).ReadString('\n')
	_, addr, found := strings.Cut(strings.TrimSpace(line), "://")
	if err != nil || !found {
		t.Fatalf("server: got %q, %v, want its address", line, err)
	}
	return addr, kill
}
