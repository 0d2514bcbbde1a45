package main

// Clients of the real programs, with the SDK's own client.

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// written collects what a program says.
type written struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (w *written) Write(b []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.b.Write(b)
}

func (w *written) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.b.String()
}

// session is a client's, that keeps all that it is answered.
type session struct {
	*mcp.ClientSession
	t    *testing.T
	said *written // by the program, on standard error
	seen strings.Builder
}

func client() *mcp.Client {
	return mcp.NewClient(&mcp.Implementation{Name: "tester", Version: "1.0"}, nil)
}

// stdio starts stepwell mcp and speaks with it over standard input and output.
func stdio(t *testing.T, args ...string) *session {
	t.Helper()
	s := &session{t: t, said: &written{}}
	cmd := exec.Command(program("stepwell"), append([]string{"mcp"}, args...)...)
	cmd.Stderr = s.said
	connected, err := client().Connect(t.Context(), &mcp.CommandTransport{Command: cmd}, nil)
	if err != nil {
		t.Fatalf("connect: %v\n%s", err, s.said)
	}
	s.ClientSession = connected
	t.Cleanup(func() {
		if err := connected.Close(); err != nil {
			t.Errorf("close: %v\n%s", err, s.said)
		}
	})
	return s
}

// bearer sends a key with each request.
type bearer struct {
	key string
	to  *http.Transport
}

func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	if b.key != "" {
		r.Header.Set("Authorization", "Bearer "+b.key)
	}
	return b.to.RoundTrip(r)
}

// over connects to a server over HTTP.
func over(t *testing.T, url, key string) (*session, error) {
	t.Helper()
	to := http.DefaultTransport.(*http.Transport).Clone()
	t.Cleanup(to.CloseIdleConnections)
	connected, err := client().Connect(t.Context(), &mcp.StreamableClientTransport{
		Endpoint: url, HTTPClient: &http.Client{Transport: bearer{key, to}}, DisableStandaloneSSE: true, MaxRetries: -1,
	}, nil)
	if err != nil {
		return nil, err
	}
	t.Cleanup(func() { _ = connected.Close() })
	return &session{ClientSession: connected, t: t, said: &written{}}, nil
}

// ask calls a tool, and decodes what it answers into T.
func ask[T any](s *session, tool string, args any) T {
	s.t.Helper()
	var out T
	res := s.call(tool, args)
	if res.IsError {
		s.t.Fatalf("%s %v: %s\n%s", tool, args, textOf(res), s.said)
	}
	b, err := json.Marshal(res.StructuredContent)
	if err == nil {
		err = json.Unmarshal(b, &out)
	}
	if err != nil {
		s.t.Fatalf("%s: %v", tool, err)
	}
	return out
}

// refuses calls a tool that is to fail, and returns what it says.
func (s *session) refuses(tool string, args any) string {
	s.t.Helper()
	res := s.call(tool, args)
	if !res.IsError {
		s.t.Fatalf("%s %v was not refused: %s", tool, args, textOf(res))
	}
	return textOf(res)
}

func (s *session) call(tool string, args any) *mcp.CallToolResult {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), 2*time.Minute)
	defer cancel()
	res, err := s.CallTool(ctx, &mcp.CallToolParams{Name: tool, Arguments: args})
	if err != nil {
		s.t.Fatalf("%s %v: %v\n%s", tool, args, err, s.said)
	}
	b, err := json.Marshal(res)
	if err != nil {
		s.t.Fatal(err)
	}
	if len(b) > 3*mostAnswer { // it is there twice, once as text
		s.t.Errorf("%s %v: an answer of %d bytes", tool, args, len(b))
	}
	s.seen.Write(b)
	return res
}

func textOf(res *mcp.CallToolResult) string {
	var b strings.Builder
	for _, c := range res.Content {
		if text, ok := c.(*mcp.TextContent); ok {
			b.WriteString(text.Text)
		}
	}
	return b.String()
}

// hides fails where something was shown that is to be hidden.
func (s *session) hides(text string) {
	s.t.Helper()
	for what, all := range map[string]string{"an answer": s.seen.String(), "the log": s.said.String()} {
		if i := strings.Index(all, text); i >= 0 {
			s.t.Errorf("%s shows %q: …%s…", what, text, all[max(i-300, 0):min(i+100, len(all))])
		}
	}
}

var listens = regexp.MustCompile(`(?m)(?:url=|on )(http://127\.0\.0\.1:\d+\S*)`)

// serve starts a program that listens, and returns its URL.
func serve(t *testing.T, env []string, args ...string) (url string, said *written) {
	t.Helper()
	said = &written{}
	cmd := exec.Command(program("stepwell"), args...)
	cmd.Env = append(cmd.Environ(), env...)
	cmd.Stdout, cmd.Stderr = said, said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	t.Cleanup(func() {
		_ = interrupt(cmd.Process)
		if err := <-ended; err != nil {
			t.Errorf("%q ended with %v:\n%s", args, err, said)
		}
	})
	eventually(t, args[0]+" listens", func() bool {
		if m := listens.FindStringSubmatch(said.String()); m != nil {
			url = m[1]
		}
		return url != ""
	})
	return url, said
}

// interrupt ends a process as Ctrl-C does, where there is that.
func interrupt(p *os.Process) error {
	if runtime.GOOS == "windows" {
		return p.Kill()
	}
	return p.Signal(os.Interrupt)
}

func call(tool string, args any) *mcp.CallToolParams {
	return &mcp.CallToolParams{Name: tool, Arguments: args}
}
