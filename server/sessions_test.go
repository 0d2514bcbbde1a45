package server

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"
)

// TestSessions: a session is known by each server with its key until its time is over, and nobody makes one up.
func TestSessions(t *testing.T) {
	keys := testKeys(t)
	here, there := &entry{opts: &Options{Keys: keys}}, &entry{opts: &Options{Keys: append(testKeys(t)[2:], keys[:2]...)}}
	now := time.Now()
	session, err := here.session(operatorSecret, now.Add(time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(session, operatorSecret) {
		t.Error("the session shows its key")
	}
	for what, e := range map[string]*entry{"this server": here, "another one": there} {
		if key := e.visitor(session, now); key == nil || key.Name != "olga" {
			t.Errorf("%s: the session is that of %v, want olga", what, key)
		}
		if e.visitor(session, now.Add(time.Hour)) != nil {
			t.Errorf("%s: it goes on behind its time", what)
		}
	}
	if !bytes.Equal(here.formSecret(), there.formSecret()) {
		t.Error("two servers with the same keys sign forms differently")
	}
	without := &entry{opts: &Options{Keys: keys[:1]}}
	if without.visitor(session, now) != nil {
		t.Error("it goes on without its key")
	}
	if got, err := here.session("nobody's-secret-0123456789", now); got != "" || err != nil {
		t.Errorf("who has no key gets %q, %v", got, err)
	}
	seal, err := keys[1].sessionSeal() // as who has the hash could
	if err != nil {
		t.Fatal(err)
	}
	forge := func(text string) string {
		return base64.RawURLEncoding.EncodeToString(seal.Seal(nil, nil, append(binary.BigEndian.AppendUint64(nil, uint64(now.Add(time.Hour).Unix())), text...), nil))
	}
	changed := []byte(session)
	changed[len(changed)/2] ^= 1
	for what, bad := range map[string]string{
		"none": "", "no base64": "$", "a part": session[:20], "another letter": string(changed), "made of the hash": forge(string(keys[1].hash[:])), "made of nothing": forge(""), "long": strings.Repeat("A", 1<<20),
	} {
		if key := here.visitor(bad, now); key != nil {
			t.Errorf("%s: it is that of %s", what, key.Name)
		}
	}
}

// TestSessionsOfReplicas: behind one address, whichever of two servers answers knows who has logged in, takes its forms,
// and so does one that was started since.
func TestSessionsOfReplicas(t *testing.T) {
	t.Parallel()
	r := newRig(t, "memory", Options{Keys: testKeys(t)})
	var replicas []*Server
	for range 2 {
		s, err := New(r.server.app, Options{Keys: testKeys(t)})
		if err != nil {
			t.Fatal(err)
		}
		replicas = append(replicas, s)
	}
	turn := 0
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	browser := &http.Client{Jar: jar, Transport: roundTrip(func(req *http.Request) (*http.Response, error) {
		turn++
		return served(replicas[turn%2], req)
	})}
	page := func(method, path string, form url.Values) string {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), method, "http://127.0.0.1"+path, strings.NewReader(form.Encode()))
		if err != nil {
			t.Fatal(err)
		}
		if method == http.MethodPost {
			req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		}
		answer, err := browser.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		b, err := io.ReadAll(answer.Body)
		if err != nil || answer.StatusCode != http.StatusOK {
			t.Fatalf("%s %s: got %d, %v: %.300s", method, path, answer.StatusCode, err, b)
		}
		return string(b)
	}
	token := func(page string) string {
		m := regexp.MustCompile(`name="token" value="([^"]+)"`).FindStringSubmatch(page)
		if m == nil {
			t.Fatalf("there is no form in %.300s", page)
		}
		return m[1]
	}
	page("POST", "/ui/login", url.Values{"token": {token(page("GET", "/ui/login", nil))}, "key": {operatorSecret}})
	for i := range 6 {
		if i == 3 { // all are new
			for j := range replicas {
				if replicas[j], err = New(r.server.app, Options{Keys: testKeys(t)}); err != nil {
					t.Fatal(err)
				}
			}
		}
		if got := page("GET", "/ui/workers", nil); !strings.Contains(got, "Log out") {
			t.Fatalf("page %d: logged out", i)
		}
	}
	turn++
	page("POST", "/ui/logout", url.Values{"token": {token(page("GET", "/ui/workers", nil))}})
	if got := page("GET", "/ui/workers", nil); strings.Contains(got, "Log out") {
		t.Error("who has logged out is there")
	}
}

// roundTrip is a transport.
type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// served is what a server answers.
func served(s *Server, r *http.Request) (*http.Response, error) {
	answer := httptest.NewRecorder()
	in := r.Clone(r.Context())
	in.Host, in.RemoteAddr = "127.0.0.1", "127.0.0.1:7"
	if in.Body == nil {
		in.Body = http.NoBody
	}
	s.ServeHTTP(answer, in)
	got := answer.Result()
	got.Request = r
	return got, nil
}
