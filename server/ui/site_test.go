package ui_test

// What the tests without a browser share: a visitor of a site, who loads pages and sends forms.

import (
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/internal/uitest"
	"github.com/stepwell/stepwell/server"
	"github.com/stepwell/stepwell/world"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// site is a server with its pages, and a visitor of them.
type site struct{ *uitest.Site }

func newSite(t *testing.T, o server.Options, more ...stepwell.Definition) *site {
	t.Helper()
	return &site{uitest.New(t, o, more...)}
}

func newSiteOn(t *testing.T, w world.World, o server.Options, more ...stepwell.Definition) *site {
	t.Helper()
	return &site{uitest.On(t, w, o, more...)}
}

func busySite(t *testing.T, o server.Options, more ...stepwell.Definition) *site {
	t.Helper()
	return &site{uitest.Busy(t, o, more...)}
}

// page is an answer.
type page struct {
	status int
	header http.Header
	body   string
	at     *url.URL // where redirects led
}

func (s *site) do(req *http.Request) *page {
	s.Helper()
	resp, err := s.HTTP.Do(req)
	if err != nil {
		s.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }() // it was read
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		s.Fatal(err)
	}
	return &page{resp.StatusCode, resp.Header, string(b), resp.Request.URL}
}

// get loads a page; headers are pairs.
func (s *site) get(path string, headers ...string) *page {
	s.Helper()
	req, err := http.NewRequestWithContext(s.Context(), http.MethodGet, s.Base+path, nil)
	if err != nil {
		s.Fatal(err)
	}
	for i := 0; i+1 < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	return s.do(req)
}

var tokenField = regexp.MustCompile(`name="token" value="([^"]+)"`)

// token is what the forms of this visitor have.
func (s *site) token() string {
	s.Helper()
	m := tokenField.FindStringSubmatch(s.get("/ui/keys").body)
	if m == nil {
		s.Fatal("no form with a token")
	}
	return m[1]
}

// post sends a form with its token; fields are pairs.
func (s *site) post(path string, fields ...string) *page {
	s.Helper()
	form := url.Values{"token": {s.token()}}
	for i := 0; i+1 < len(fields); i += 2 {
		form.Add(fields[i], fields[i+1])
	}
	return s.send(path, form)
}

func (s *site) send(path string, form url.Values, headers ...string) *page {
	s.Helper()
	req, err := http.NewRequestWithContext(s.Context(), http.MethodPost, s.Base+path, strings.NewReader(form.Encode()))
	if err != nil {
		s.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	for i := 0; i+1 < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	return s.do(req)
}

// want loads a page that must have texts.
func (s *site) want(path string, texts ...string) *page {
	s.Helper()
	p := s.get(path)
	if p.status != http.StatusOK {
		s.Fatalf("%s: got %d, want 200: %.2000s", path, p.status, p.body)
	}
	for _, text := range texts {
		if !strings.Contains(p.body, text) {
			s.Errorf("%s: want %q in it:\n%.6000s", path, text, p.body)
		}
	}
	return p
}
