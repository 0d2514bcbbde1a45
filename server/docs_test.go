package server

import (
	"io"
	"net/http"
	"strings"
	"testing"
)

// TestDocs: whoever may connect may read the documentation, and nothing else is done there.
func TestDocs(t *testing.T) {
	t.Parallel()
	keys, err := ParseKeys("viewer:vic:0123456789abcdef")
	if err != nil {
		t.Fatal(err)
	}
	locked, plain := newRig(t, "memory", Options{Keys: keys}), newRig(t, "memory", Options{})
	none := newRig(t, "memory", Options{NoUI: true})
	for name, test := range map[string]struct {
		on             *rig
		method, at     string
		host           string
		status         int
		body, hasAllow string
	}{
		"a page":             {locked, "GET", "/docs/undo.html", "", 200, "<h1 id=\"undo\">", ""},
		"the first page":     {plain, "GET", "/docs/", "", 200, "Documentation", ""},
		"without the slash":  {plain, "GET", "/docs", "", 200, "Documentation", ""},
		"the head":           {locked, "HEAD", "/docs/undo.html", "", 200, "", ""},
		"no page":            {locked, "GET", "/docs/none.html", "", 404, "There is no such page", ""},
		"something is sent":  {plain, "POST", "/docs/undo.html", "", 405, "METHOD_NOT_ALLOWED", "GET, HEAD"},
		"under another name": {plain, "GET", "/docs/", "evil.example", 421, "MISDIRECTED", ""},
		"a name and keys":    {locked, "GET", "/docs/", "docs.example", 200, "Documentation", ""},
		"out of the house":   {plain, "GET", "/docs/../v1/runs", "", 404, "NO_ROUTE", ""},
		"no pages here":      {none, "GET", "/docs/", "", 404, "NO_ROUTE", ""},
	} {
		req, err := http.NewRequestWithContext(t.Context(), test.method, test.on.base+test.at, nil)
		if err != nil {
			t.Fatal(err)
		}
		if test.host != "" {
			req.Host = test.host
		}
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(res.Body)
		res.Body.Close()
		if err != nil || res.StatusCode != test.status || !strings.Contains(string(body), test.body) || res.Header.Get("Allow") != test.hasAllow {
			t.Errorf("%s: got %d, %v, Allow %q: %.200s", name, res.StatusCode, err, res.Header.Get("Allow"), body)
		}
		csp := res.Header.Get("Content-Security-Policy")
		if !strings.HasPrefix(csp, "default-src 'none'; ") || strings.Contains(csp, "unsafe") || strings.Contains(csp, "://") || res.Header.Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("%s: headers %v", name, res.Header)
		}
	}
}
