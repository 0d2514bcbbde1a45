package cli

// Commands on a server, in the place of a database: what they say is in the goldens of both; here it is what a server may refuse.

import (
	"context"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/server"
	"github.com/stepwell/stepwell/world/sqlite"
)

// serveFile puts a server in front of a file, with the clock of the commands, and returns its URL.
func serveFile(t *testing.T, path string, o server.Options) string {
	t.Helper()
	return serveFileAt(t, path, o, sqlite.Options{Now: func() time.Time { return now }})
}

func serveFileAt(t *testing.T, path string, o server.Options, of sqlite.Options) string {
	t.Helper()
	w, err := sqlite.Open(path, of)
	if err != nil {
		t.Fatal(err)
	}
	app, err := stepwell.New(w, stepwell.Config{})
	if err != nil {
		t.Fatal(err)
	}
	s, err := server.New(app, o)
	if err != nil {
		t.Fatal(err)
	}
	at := httptest.NewServer(s)
	t.Cleanup(func() {
		s.Drain()
		at.Close()
		if err := w.Close(); err != nil {
			t.Errorf("Close = %v", err)
		}
	})
	return at.URL
}

const (
	viewerSecret   = "viewer-secret-0123456789"
	operatorSecret = "operator-secret-0123456789"
	adminSecret    = "admin-secret-0123456789"
)

func TestServer(t *testing.T) {
	path := fixture(t)
	keys, err := server.ParseKeys("viewer:vic:" + viewerSecret + " operator:olga:" + operatorSecret + " admin:ann:" + adminSecret)
	if err != nil {
		t.Fatal(err)
	}
	url := serveFile(t, path, server.Options{Keys: keys})
	withKey := strings.Replace(url, "http://", "http://"+operatorSecret+"@", 1)
	env := func(pairs ...string) map[string]string {
		m := map[string]string{}
		for i := 0; i < len(pairs); i += 2 {
			m[pairs[i]] = pairs[i+1]
		}
		return m
	}
	for name, test := range map[string]struct {
		env  map[string]string
		args string
		code int
		says string // on stdout, or on stderr where it fails
	}{
		"a viewer reads":                    {env("STEPWELL_SERVER", url, "STEPWELL_API_KEY", viewerSecret), "runs show " + waitingRun, exitOK, waitingRun},
		"the flag":                          {env("STEPWELL_API_KEY", viewerSecret), "workflows --server " + url, exitOK, "order"},
		"--db with the URL":                 {env("STEPWELL_API_KEY", viewerSecret), "workflows --db " + url, exitOK, "order"},
		"the key of a server's file":        {env("STEPWELL_API_KEY", "viewer:vic:"+viewerSecret), "workflows --server " + url, exitOK, "order"},
		"a viewer does not act":             {env("STEPWELL_API_KEY", viewerSecret), "runs wake " + sleepingRun + " --server " + url, exitFailure, url + ": the API key does not allow this: its scope is viewer, and this needs operator; nothing was changed"},
		"as JSON":                           {env("STEPWELL_API_KEY", viewerSecret), "runs wake " + sleepingRun + " --json --server " + url, exitFailure, `"code":"FORBIDDEN"`},
		"an operator acts":                  {env(), "runs wake " + sleepingRun + " --server " + withKey, exitOK, "ended 1 sleep"},
		"an operator cannot force":          {env("STEPWELL_API_KEY", operatorSecret), "runs cancel --force " + workingRun + " --server " + url, exitFailure, "admin"},
		"an operator cannot fork":           {env("STEPWELL_API_KEY", operatorSecret), "runs fork " + completedRun + " --at 2 --server " + url, exitFailure, "needs worker"},
		"an admin can":                      {env("STEPWELL_API_KEY", adminSecret), "runs fork " + completedRun + " --at 2 --server " + url, exitOK, "wrun_"},
		"no key":                            {env("STEPWELL_SERVER", url), "runs list", exitFailure, "set this to the secret of one of its keys: STEPWELL_API_KEY"},
		"a wrong key":                       {env("STEPWELL_SERVER", url, "STEPWELL_API_KEY", "nobodys-secret-0123456789", "x", ""), "runs list --json", exitFailure, `"code":"UNAUTHENTICATED"`},
		"no server":                         {env(), "runs list --server http://127.0.0.1:1", exitFailure, "is it running?  stepwell health http://127.0.0.1:1"},
		"a path too much":                   {env(), "runs list --server " + url + "/api", exitUsage, "there is no Stepwell server at " + url + "/api"},
		"not found":                         {env("STEPWELL_SERVER", url, "STEPWELL_API_KEY", viewerSecret), "runs show wrun_NOBODY", exitNotFound, "in " + url},
		"doctor":                            {env("STEPWELL_SERVER", url, "STEPWELL_API_KEY", operatorSecret), "doctor --json", exitOK, `"check":"workers"`},
		"migrate":                           {env("STEPWELL_API_KEY", adminSecret), "migrate --server " + url, exitUsage, "run it on the database itself, with --db"},
		"migrate on a URL":                  {env(), "migrate --db " + withKey, exitUsage, "run it on the database itself, with --db"},
		"a server of a server":              {env(), "server --server " + url, exitUsage, "run it on the database itself, with --db"},
		"both flags":                        {env(), "runs list --db x.db --server " + url, exitUsage, "--db and --server"},
		"both variables":                    {env("STEPWELL_DB", path, "STEPWELL_SERVER", url), "runs list", exitUsage, "STEPWELL_DB and STEPWELL_SERVER are both set"},
		"a flag goes before both variables": {env("STEPWELL_DB", path, "STEPWELL_SERVER", url), "workflows --db " + path, exitOK, "order"},
		"no URL":                            {env(), "runs list --server stepwell.internal", exitUsage, "not the URL of a server"},
		"not a Stepwell server":             {env("STEPWELL_API_KEY", viewerSecret), "runs list --server " + url + "/elsewhere", exitUsage, "there is no"},
	} {
		t.Run(name, func(t *testing.T) {
			code, out, errs := call{env: test.env}.do(context.Background(), strings.Fields(test.args)...)
			said := out
			if test.code != exitOK {
				said = errs
			}
			if code != test.code || !strings.Contains(said, test.says) {
				t.Errorf("got exit code %d, %q and %q, want %d and %q", code, out, errs, test.code, test.says)
			}
			for _, secret := range []string{viewerSecret, operatorSecret, adminSecret, "nobodys-secret"} {
				if strings.Contains(out+errs, secret) {
					t.Errorf("it shows the key: %q and %q", out, errs)
				}
			}
		})
	}
}
