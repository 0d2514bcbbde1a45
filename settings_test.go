package stepwell

// The settings that the environment has for a Config.

import (
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// Each variable sets its field, of zero fields alone; what makes no sense is refused by name, whether it would count or not.
func TestEnvironment(t *testing.T) {
	t.Parallel()
	good := map[string]struct {
		value string
		want  Config
		bad   []string
	}{
		"STEPWELL_MAX_RUNS":             {"7", Config{MaxRuns: 7}, []string{"0", "-1", "1.5", "many", "9999999999"}},
		"STEPWELL_MAX_STEPS":            {"8", Config{MaxSteps: 8}, []string{"0", "x"}},
		"STEPWELL_MAX_PAYLOAD":          {"4096", Config{MaxPayload: 4096}, []string{"1", "2097152", "1MiB"}},
		"STEPWELL_MAX_VALUE":            {"1073741824", Config{MaxValue: 1 << 30}, []string{"1023", "1073741825", "64M"}},
		"STEPWELL_MAX_RETENTION_DAYS":   {"9", Config{MaxRetention: 9 * 24 * time.Hour}, []string{"0", "9d", "99999"}},
		"WORKFLOWS_MAX_RETENTION_DAYS":  {"9", Config{MaxRetention: 9 * 24 * time.Hour}, []string{"0", "-3"}},
		"STEPWELL_SWEEP_INTERVAL":       {"off", Config{SweepInterval: -1}, []string{"0s", "-5m", "300000"}},
		"WORKFLOWS_SWEEPER_INTERVAL_MS": {"1500", Config{SweepInterval: 1500 * time.Millisecond}, []string{"0", "5m", "off"}},
		"STEPWELL_LEASE":                {"20s", Config{Lease: 20 * time.Second}, []string{"0s", "20"}},
		"STEPWELL_POLL":                 {"250ms", Config{Poll: 250 * time.Millisecond}, []string{"-1s"}},
		"STEPWELL_DRAIN":                {"1d", Config{Drain: 24 * time.Hour}, []string{"soon"}},
		"STEPWELL_SLICE":                {"45s", Config{Slice: 45 * time.Second}, []string{"0s", "999ms", "110"}},
		"STEPWELL_IDLE":                 {"1m", Config{Idle: time.Minute}, []string{"0s"}},
		"STEPWELL_CANCEL_GRACE":         {"2m", Config{CancelGrace: 2 * time.Minute}, []string{"0"}},
		"STEPWELL_CACHE_RUNS":           {"5", Config{CacheRuns: 5}, []string{"0", "-1"}},
		"STEPWELL_CACHE_BYTES":          {"off", Config{CacheBytes: -1}, []string{"64M"}},
		"STEPWELL_STRICT":               {"true", Config{Strict: true}, []string{"yes", "2"}},
		"STEPWELL_FAIL_ON":              {"PANIC,DIVERGED", Config{FailOn: []string{Panics, Divergence}}, []string{"panic", "PANIC, DIVERGED", "STORAGE"}},
		"STEPWELL_FAIL_UNKNOWN":         {"2h", Config{FailUnknown: 2 * time.Hour}, []string{"0s", "-1h", "later"}},
		"STEPWELL_PUBLIC_URL": {"https://a.example/b", Config{PublicURL: "https://a.example/b"},
			[]string{"example.com", "ftp://a.example", "https://", "https://u:p@a.example", "https://a.example?x=1", "https://a.example/#x", "http://a b"}},
		"STEPWELL_NAME":  {"ann", Config{Name: "ann"}, []string{"a\nb", strings.Repeat("x", 257)}},
		"STEPWELL_BUILD": {"4f1c2aa", Config{Build: "4f1c2aa"}, []string{"\x1b[31m"}},
	}
	read := func(c Config, env map[string]string) (Config, error) {
		err := c.environment(func(k string) string { return env[k] })
		return c, err
	}
	same := cmp.Options{cmpopts.IgnoreUnexported(Config{}), cmpopts.IgnoreFields(Config{}, "Definitions")}
	set := Config{MaxRuns: 1, MaxSteps: 1, MaxPayload: 1, MaxValue: 1, MaxRetention: 1, SweepInterval: 1, Lease: 1, Poll: 1, Drain: 1, Slice: 1, Idle: 1, CancelGrace: 1,
		CacheRuns: 1, CacheBytes: 1, Strict: true, FailOn: []string{}, FailUnknown: 1, PublicURL: "x", Name: "x", Build: "x"}
	page, err := os.ReadFile(filepath.Join("docs", "operating.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range settings {
		test, known := good[s.env]
		if !known {
			t.Errorf("%s: no test of it", s.env)
			continue
		}
		got, err := read(Config{}, map[string]string{s.env: test.value})
		if diff := cmp.Diff(test.want, got, same); err != nil || diff != "" {
			t.Errorf("%s=%s: got %v, -want +got:\n%s", s.env, test.value, err, diff)
		}
		row := "(?m)^\\| `" + changed(got) + "` \\| `" + s.env + "` \\|"
		if theirs := strings.HasPrefix(s.env, "WORKFLOWS_"); theirs {
			row = "`" + s.env + "`"
		}
		if !regexp.MustCompile(row).Match(page) {
			t.Errorf("docs/operating.md has no %s", row)
		}
		got, err = read(set, map[string]string{s.env: test.value})
		if diff := cmp.Diff(set, got, same); err != nil || diff != "" {
			t.Errorf("%s=%s, and the program sets the field: got %v, -want +got:\n%s", s.env, test.value, err, diff)
		}
		for _, bad := range test.bad {
			for _, c := range []Config{{}, set} {
				got, err := read(c, map[string]string{s.env: bad})
				if diff := cmp.Diff(c, got, same); !errors.Is(err, ErrInvalid) || !strings.Contains(err.Error(), s.env) || diff != "" {
					t.Errorf("%s=%q: got %v, want it refused by name; -want +got:\n%s", s.env, bad, err, diff)
				}
			}
		}
	}
	got, err := read(Config{}, map[string]string{"STEPWELL_MAX_RETENTION_DAYS": "3", "WORKFLOWS_MAX_RETENTION_DAYS": "9"})
	if err != nil || got.MaxRetention != 3*24*time.Hour {
		t.Errorf("our own name first: got %s, %v, want 3 days", got.MaxRetention, err)
	}
	_, err = read(Config{}, map[string]string{"STEPWELL_DRAIN": "x", "STEPWELL_LEASE": "y"})
	if err == nil || !strings.Contains(err.Error(), "STEPWELL_DRAIN") || !strings.Contains(err.Error(), "STEPWELL_LEASE") {
		t.Errorf("got %v, want all faults at once", err)
	}
}

// changed is the field that a Config has.
func changed(c Config) string {
	v := reflect.ValueOf(c)
	for _, f := range reflect.VisibleFields(v.Type()) {
		if f.IsExported() && !v.FieldByIndex(f.Index).IsZero() {
			return f.Name
		}
	}
	return ""
}
