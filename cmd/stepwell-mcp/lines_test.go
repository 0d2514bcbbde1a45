package main

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// TestLines: each line that is no message has an error as its answer, a batch has one line of answers,
// and the server goes on behind all of them.
func TestLines(t *testing.T) {
	t.Parallel()
	s := mcp.NewServer(&mcp.Implementation{Name: "s", Version: "1"}, nil)
	in, ask := io.Pipe()
	hear, out := io.Pipe()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx, overLines(in, out)) }()
	answers := bufio.NewReader(hear)
	const ping = `{"jsonrpc":"2.0","id":"p","method":"ping"}`
	for _, c := range []struct{ line, want string }{
		{`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-03-26","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`, "1 ok"},
		{`{"jsonrpc":"2.0","method":"notifications/initialized"}` + "\n" + ping, `"p" ok`},
		{`this is no JSON`, "null -32700"},
		{`{"jsonrpc":"2.0",`, "null -32700"},
		{`5`, "null -32600"},
		{`{}`, "null -32600"},
		{`[]`, "null -32600"},
		{`{"jsonrpc":"1.0","id":7,"method":"ping"}`, "7 -32600"},
		{`{"jsonrpc":"2.0","id":{},"method":"ping"}`, "null -32600"},
		{`"` + strings.Repeat("x", mostMessage) + `"`, "null -32600"},
		{"\n\r\n" + ping + "\r", `"p" ok`},
		{`[{"jsonrpc":"2.0","id":2,"method":"ping"},{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":99}},{"jsonrpc":"2.0","id":3,"method":"ping"}]`, "[2 ok, 3 ok]"},
		{`[{"jsonrpc":"2.0","id":2,"method":"ping"},4,{"id":5}]`, "[2 ok, 5 -32600, null -32600]"},
		{`[{"jsonrpc":"2.0","id":2,"method":"ping"},{"jsonrpc":"2.0","id":2,"method":"ping"}]`, "[2 -32600, 2 ok]"},
		{`[4]`, "[null -32600]"},
		{`[{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":99}}]` + "\n" + ping, `"p" ok`},
	} {
		if _, err := io.WriteString(ask, c.line+"\n"); err != nil {
			t.Fatal(err)
		}
		line, err := answers.ReadString('\n')
		if err != nil {
			t.Fatalf("%.80s: %v", c.line, err)
		}
		if got := answered(t, line); got != c.want {
			t.Errorf("%.80s: got %s, want %s", c.line, got, c.want)
		}
	}
	if err := ask.Close(); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; err != nil && err != io.EOF {
		t.Errorf("Run = %v", err)
	}
	cancel()
}

// answered is a line of answers as ID and outcome, those of a batch in order.
func answered(t *testing.T, line string) string {
	t.Helper()
	var list []json.RawMessage
	if json.Unmarshal([]byte(line), &list) == nil {
		var all []string
		for _, a := range list {
			all = append(all, answered(t, string(a)))
		}
		slices.Sort(all)
		return "[" + strings.Join(all, ", ") + "]"
	}
	var a struct {
		ID    json.RawMessage
		Error *struct{ Code json.Number }
	}
	if err := json.Unmarshal([]byte(line), &a); err != nil {
		t.Fatalf("%s: %v", line, err)
	}
	if a.Error != nil {
		return string(a.ID) + " " + a.Error.Code.String()
	}
	return string(a.ID) + " ok"
}
