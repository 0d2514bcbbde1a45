package world

import (
	"errors"
	"strings"
	"testing"
)

// TestShownURLs: no place shows a secret.
func TestShownURLs(t *testing.T) {
	for where, want := range map[string]string{
		"postgres://app:SECRET@db.example.com/app?sslmode=require&password=SECRET": "postgres://app@db.example.com/app",
		"postgres://app@db/app?stepwell_schema=other&x=SECRET":                     "postgres://app@db/app?stepwell_schema=other",
		"postgres:///app?host=db.internal&port=5433&user=ops&password=SECRET":      "postgres:///app?host=db.internal&port=5433&user=ops",
		"postgres:///?host=/run/pg&dbname=app&passfile=SECRET&sslkey=SECRET":       "postgres:///?dbname=app&host=%2Frun%2Fpg",
		"https://stepwell.internal/?host=SECRET&user=SECRET":                       "https://stepwell.internal/",
		"https://SECRET@stepwell.internal:7373":                                    "https://stepwell.internal:7373",
		"https://ops:SECRET@stepwell.internal/x#SECRET":                            "https://stepwell.internal/x",
		"ftp://SECRET@host/":                        "ftp://host/",
		"ftp:SECRET@host":                           "ftp:…",
		"SECRET@host:80":                            "…",
		"https://app.example.com/flow?token=SECRET": "https://app.example.com/flow",
		"host=db password=SECRET":                   "…",
		"app:SECRET@db/app":                         "app:…",
		"http://host:port with SECRET":              "http:…",
		"sqlite:/var/lib/runs.db":                   "sqlite:/var/lib/runs.db",
		"sqlite:runs.db":                            "sqlite:runs.db",
		"/var/lib/runs.db":                          "/var/lib/runs.db",
	} {
		if got := ShownURL(where); got != want {
			t.Errorf("%s is shown as %s, want %s", where, got, want)
		}
		if strings.Contains(ShownURL(where), "SECRET") {
			t.Errorf("%s is shown with its secret", where)
		}
	}
}

// TestPlaces: connection parameters are no path, and files with odd names are.
func TestPlaces(t *testing.T) {
	for _, bad := range []string{"host=db password=SECRET", "password=SECRET", "dbname = x user=y", "app:SECRET@db/app", "postgres//app:SECRET@db/app"} {
		if err := CheckPlace(bad); !errors.Is(err, ErrInvalid) || strings.Contains(err.Error(), "SECRET") {
			t.Errorf("%s: got %v, want ErrInvalid without the secret", bad, err)
		}
	}
	for _, good := range []string{"runs.db", "a=b.db", "./user@host.db", `C:\runs\me@home.db`, "postgres://a:b@c/d", "sqlite:runs.db", "runs of my host.db"} {
		if err := CheckPlace(good); err != nil {
			t.Errorf("%s: got %v", good, err)
		}
	}
}
