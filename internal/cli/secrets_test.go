package cli

// No command repeats a secret that it was given in a place.

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestPlacesAreShownWithoutSecrets: whatever is wrong with where a database, a server or an endpoint is said to be, and in --json too.
func TestPlacesAreShownWithoutSecrets(t *testing.T) {
	t.Chdir(t.TempDir())
	const secret = "0123456789SECRET"
	for name, test := range map[string]struct {
		env  map[string]string
		args []string
		code int
	}{
		"connection parameters":    {nil, []string{"runs", "list", "--db", "host=127.0.0.1 password=" + secret}, exitUsage},
		"of the environment":       {map[string]string{"STEPWELL_DB": "host=127.0.0.1 password=" + secret}, []string{"runs", "list"}, exitUsage},
		"made with a start":        {nil, []string{"runs", "start", "w", "--db", "host=127.0.0.1 password=" + secret}, exitUsage},
		"migrated":                 {nil, []string{"migrate", "--db", "host=127.0.0.1 password=" + secret}, exitUsage},
		"served":                   {nil, []string{"server", "--db", "password=" + secret + " host=127.0.0.1"}, exitUsage},
		"no scheme":                {nil, []string{"server", "--db", "app:" + secret + "@127.0.0.1/app"}, exitUsage},
		"a scheme nobody knows":    {nil, []string{"runs", "list", "--db", "mysql://app:" + secret + "@127.0.0.1/app"}, exitUsage},
		"nobody there":             {nil, []string{"runs", "list", "--db", "postgres://app:" + secret + "@127.0.0.1:1/app?password=" + secret}, exitFailure},
		"a server with FTP":        {nil, []string{"runs", "list", "--server", "ftp://" + secret + "@127.0.0.1"}, exitUsage},
		"a server, no scheme":      {nil, []string{"runs", "list", "--server", secret + "@127.0.0.1"}, exitUsage},
		"a server, no slashes":     {nil, []string{"runs", "list", "--server", "ftp:" + secret + "@127.0.0.1"}, exitUsage},
		"a server with a query":    {nil, []string{"runs", "list", "--server", "http://127.0.0.1:1/?token=" + secret}, exitUsage},
		"no server there":          {nil, []string{"runs", "list", "--server", "http://" + secret + "@127.0.0.1:1"}, exitFailure},
		"a server of the settings": {map[string]string{"STEPWELL_SERVER": "ftp://" + secret + "@127.0.0.1"}, []string{"runs", "list"}, exitUsage},
		"health":                   {nil, []string{"health", "http://" + secret + "@127.0.0.1:1/?token=" + secret}, exitFailure},
		"health, with FTP":         {nil, []string{"health", "ftp://" + secret + "@127.0.0.1:1/?token=" + secret}, exitUsage},
		"push with a query":        {nil, []string{"server", "--db", "app.db", "--push", "https://a.example.com/?token=" + secret}, exitUsage},
		"push with a user":         {nil, []string{"server", "--db", "app.db", "--push", "https://" + secret + "@a.example.com"}, exitUsage},
		"push, no URL":             {nil, []string{"server", "--db", "app.db", "--push", "a.example.com/?token=" + secret}, exitUsage},
		"push of the settings":     {map[string]string{"STEPWELL_PUSH": "https://a.example.com/?token=" + secret, "STEPWELL_DB": "app.db"}, []string{"server"}, exitUsage},
	} {
		t.Run(name, func(t *testing.T) {
			for _, more := range []string{"", "--json"} {
				args := test.args
				if more != "" && args[0] == "server" {
					continue
				}
				if more != "" {
					args = append(append([]string{}, args...), more)
				}
				code, out, errs := call{env: test.env}.do(context.Background(), args...)
				if code != test.code || strings.Contains(out+errs, secret) {
					t.Errorf("%v: exit code %d, %q, %q; want %d, and no secret", args[0], code, out, errs, test.code)
				}
			}
		})
	}
	if files, err := filepath.Glob("*"); err != nil || len(files) > 0 {
		t.Errorf("files were made: %v, %v", files, err)
	}
	if _, err := os.Stat("app.db"); err == nil {
		t.Error("a server that was refused has made a database")
	}
}

// TestBadSecretsAreNamed: a secret that is refused is named by the variable or file that has it. In a variable nobody
// counts lines.
func TestBadSecretsAreNamed(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "keys")
	if err := os.WriteFile(file, []byte("# keys\n\noperator:ci:short\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct{ by, value, says string }{
		{"STEPWELL_API_KEY", "operator:ci:short", "STEPWELL_API_KEY: API key: invalid: key ci: the secret has 5 characters: want at least 16"},
		{"STEPWELL_API_KEY", "operator:ci:0123456789abcdef,viewer", "STEPWELL_API_KEY: API key 2 of 2: invalid: want scope:name:secret"},
		{"STEPWELL_WEBHOOK_SECRET", "a=0123456789abcdef,b", "STEPWELL_WEBHOOK_SECRET: invalid: webhook secret: want name=secret"},
		{"STEPWELL_WEBHOOK_SECRET", "b=short", "STEPWELL_WEBHOOK_SECRET: invalid: webhook secret b: it has 5 bytes: want 16 to 512"},
		{"STEPWELL_PUSH_SECRET", "short", "STEPWELL_PUSH_SECRET: push secret: invalid: it has 5 characters"},
		{"STEPWELL_API_KEY_FILE", file, "STEPWELL_API_KEY_FILE: " + file + ": API key on line 3: invalid: key ci"},
	} {
		code, _, errs := call{env: map[string]string{test.by: test.value}}.do(t.Context(), "server", "--db", filepath.Join(t.TempDir(), "never.db"))
		if code != exitUsage || !strings.Contains(errs, test.says) || strings.Contains(errs, "line 1") {
			t.Errorf("%s=%s: got exit code %d, %q; want %q", test.by, test.value, code, errs, test.says)
		}
	}
}
