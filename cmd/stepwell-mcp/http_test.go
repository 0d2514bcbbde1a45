package main

// Over HTTP: keys of a server, what comes broken, and where it listens.

import (
	"bufio"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"os/exec"
	"strings"
	"testing"
)

const (
	viewerKey   = "viewer-secret-0123456789"
	operatorKey = "operator-secret-0123456789"
	workerKey   = "worker-secret-0123456789"
)

// keyed serves a database with keys, and stepwell mcp in front of that.
func keyed(t *testing.T, db string, args ...string) (endpoint string, server, front *written) {
	t.Helper()
	keys := "viewer:vera:" + viewerKey + ",operator:olga:" + operatorKey + ",worker:wanda:" + workerKey
	url, server := serve(t, []string{"STEPWELL_API_KEY=" + keys}, "server", "--db", db, "--listen", "127.0.0.1:0")
	// The key of its own environment is nobody's.
	endpoint, front = serve(t, []string{"STEPWELL_API_KEY=" + workerKey}, append([]string{"mcp", "--server", url, "--http", "127.0.0.1:0"}, args...)...)
	return endpoint, server, front
}

// TestKeys: who asks has a key of the server, and may do what that may.
func TestKeys(t *testing.T) {
	db := sqliteURL(t)
	database(t, db)
	endpoint, server, front := keyed(t, db, "--allow-writes")
	for _, key := range []string{"", "wrong-secret-0123456789"} {
		if _, err := over(t, endpoint, key); err == nil {
			t.Errorf("the key %q opened it", key)
		}
	}
	vera, err := over(t, endpoint, viewerKey)
	if err != nil {
		t.Fatalf("%v\n%s", err, front)
	}
	olga, err := over(t, endpoint, operatorKey)
	if err != nil {
		t.Fatal(err)
	}
	wanda, err := over(t, endpoint, workerKey)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range []*session{vera, olga, wanda} {
		if got := ask[explainOut](s, "explain_why", object{"run": hookRun}); got.Run != hookRun {
			t.Errorf("explain_why: %+v", got)
		}
	}
	if said := vera.refuses("pause_run", object{"run": hookRun}); !strings.Contains(said, "FORBIDDEN") || !strings.Contains(said, "nothing was changed") {
		t.Errorf("a viewer who acts: %q", said)
	}
	if said := olga.refuses("retry_run", object{"run": failedRun}); !strings.Contains(said, "FORBIDDEN") {
		t.Errorf("an operator who retries: %q", said)
	}
	ask[acted](olga, "pause_run", object{"run": hookRun, "reason": "tea"})
	if got := ask[acted](wanda, "retry_run", object{"run": failedRun}); got.Result != "created" {
		t.Errorf("retry_run: %+v", got)
	}
	eventually(t, "the pause", func() bool {
		got := ask[explainOut](vera, "explain_why", object{"run": hookRun})
		return got.Why.By == "olga through mcp tester 1.0"
	})
	for _, line := range []string{
		`msg=audit who=olga what=worldDeliver`, `through="mcp tester 1.0" run_id=hook-1 act=run_paused reason=tea`, `who=wanda what=worldCommit`,
	} {
		if !strings.Contains(server.String(), line) {
			t.Errorf("the server's log has no %s:\n%s", line, server)
		}
	}
	for _, s := range []*session{vera, olga, wanda} {
		s.hides(canary)
		s.hides("-secret-")
	}
	if all := server.String() + front.String(); strings.Contains(all, "-secret-") || strings.Contains(all, canary) {
		t.Errorf("a log shows a key or a payload:\n%s", all)
	}
	// A session is its key's.
	r := request(t, http.MethodPost, endpoint, `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)
	r.Header.Set("Authorization", "Bearer "+operatorKey)
	r.Header.Set("Mcp-Session-Id", vera.ID())
	if code, _ := send(t, r); code != http.StatusForbidden {
		t.Errorf("another's session: status %d, want 403", code)
	}
}

func request(t *testing.T, method, url, body string) *http.Request {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	return r
}

func send(t *testing.T, r *http.Request) (code int, body string) {
	t.Helper()
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	http.DefaultClient.CloseIdleConnections()
	return resp.StatusCode, string(b)
}

// TestRubbishOverHTTP: what is broken is refused, and others go on; no page of another origin gets in.
func TestRubbishOverHTTP(t *testing.T) {
	db := sqliteURL(t)
	database(t, db)
	endpoint, _ := serve(t, nil, "mcp", "--db", db, "--http", "127.0.0.1:0")
	s, err := over(t, endpoint, "")
	if err != nil {
		t.Fatal(err)
	}
	for _, body := range []string{"", "{", "[]", "null", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":7}`, `"` + strings.Repeat("x", mostMessage) + `"`, "\x00\xff"} {
		if code, text := send(t, request(t, http.MethodPost, endpoint, body)); code < 400 && !strings.Contains(text, `"error"`) {
			t.Errorf("the body %.40q: status %d: %s", body, code, text)
		}
	}
	for name, value := range map[string]string{"Origin": "https://evil.example", "Host": "evil.example"} {
		r := request(t, http.MethodPost, endpoint, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}`)
		if r.Header.Set(name, value); name == "Host" {
			r.Host = value
		}
		if code, _ := send(t, r); code != http.StatusForbidden {
			t.Errorf("%s %s: status %d, want 403", name, value, code)
		}
	}
	if code, _ := send(t, request(t, http.MethodPost, strings.TrimSuffix(endpoint, path), "{}")); code != http.StatusNotFound {
		t.Errorf("another path: status %d, want 404", code)
	}
	// Connections that are cut, before and within a request.
	at := strings.TrimSuffix(strings.TrimPrefix(endpoint, "http://"), path)
	for _, text := range []string{"", "POST /mcp HTTP/1.1\r\n", "POST /mcp HTTP/1.1\r\nHost: " + at + "\r\nContent-Type: application/json\r\nContent-Length: 900\r\n\r\n{"} {
		conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", at)
		if err != nil {
			t.Fatal(err)
		}
		_, err = io.WriteString(conn, text)
		if closed := conn.Close(); err != nil || closed != nil {
			t.Fatal(err, closed)
		}
	}
	if got := ask[explainOut](s, "explain_why", object{"run": failedRun}); got.Run != failedRun {
		t.Errorf("behind all that: %+v", got)
	}
	s.hides(canary)
}

// TestRubbish: what is no message is answered, or ends the session; nothing hangs.
func TestRubbish(t *testing.T) {
	db := sqliteURL(t)
	database(t, db)
	s := stdio(t, "--db", db, "--allow-writes")
	for _, c := range []struct {
		tool string
		args any
		says string
	}{
		{"get_run", object{}, "run"},
		{"get_run", object{"run": 7}, "run"},
		{"get_run", object{"run": failedRun, "more": true}, "more"},
		{"get_run", object{"run": strings.Repeat("x", 100_000)}, "too long"},
		{"get_run", object{"run": "a\x00b"}, "NUL"},
		{"list_runs", object{"limit": -1}, "limit"},
		{"list_runs", object{"limit": 1e9}, "limit"},
		{"list_runs", object{"cursor": "no cursor"}, "cursor"},
		{"list_runs", object{"status": []string{"asleep"}}, "asleep"},
		{"list_runs", object{"since": "--all"}, "time"},
		{"get_events", object{"run": failedRun, "after": -7}, "after"},
		{"get_events", object{"run": failedRun, "types": []string{"no_type"}}, "no_type"},
		{"signal_run", object{"run": failedRun, "event": "--help", "payload": nil}, ""},
	} {
		if said := s.refuses(c.tool, c.args); !strings.Contains(said, c.says) || len(said) > 2*mostLines {
			t.Errorf("%s %.100v: %.300q does not say %q", c.tool, c.args, said, c.says)
		}
	}
	if got := ask[explainOut](s, "explain_why", object{"run": failedRun}); got.Run != failedRun {
		t.Errorf("behind all that: %+v", got)
	}
	s.hides(canary)

	// Lines that are no messages, and an end in the middle of one.
	for _, text := range []string{"rubbish\n", "{\n", "[1,2]\n", `{"jsonrpc":"2.0","id":1,"method":`, strings.Repeat("x", mostMessage+1) + "\n", ""} {
		cmd := exec.CommandContext(t.Context(), program("stepwell"), "mcp", "--db", db)
		cmd.Stdin = strings.NewReader(text)
		out, _ := cmd.StdoutPipe()
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewScanner(out)
		for lines.Scan() {
			if !json.Valid(lines.Bytes()) {
				t.Errorf("%.40q: it wrote %q, which is no message", text, lines.Text())
			}
		}
		_ = cmd.Wait() // it has ended: that is all that is asked
	}
}

// TestWhereItListens: without keys on this machine alone, and a key is not for all.
func TestWhereItListens(t *testing.T) {
	db := sqliteURL(t)
	database(t, db)
	url, _ := serve(t, []string{"STEPWELL_API_KEY=viewer:vera:" + viewerKey}, "server", "--db", db, "--listen", "127.0.0.1:0")
	for _, c := range []struct{ says, args string }{
		{"there are no keys", "--db " + db + " --http 0.0.0.0:0"},
		{"want host:port", "--db " + db + " --http 7375"},
		{"each client has its own", "--server " + strings.Replace(url, "://", "://"+viewerKey+"@", 1) + " --http :0"},
		{"not to be reached", "--server http://127.0.0.1:1 --http :0"},
		{"is empty", "--http="},
		{"give only one of them", "--db x --server http://y"},
	} {
		out, err := exec.CommandContext(t.Context(), program("stepwell"), append([]string{"mcp"}, strings.Fields(c.args)...)...).CombinedOutput()
		if err == nil || !strings.Contains(string(out), c.says) || strings.Contains(string(out), viewerKey) {
			t.Errorf("stepwell mcp %s: %v, %s", c.args, err, out)
		}
	}
}
