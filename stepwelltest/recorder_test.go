package stepwelltest_test

// This file holds what tests of failing tests need.

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"
)

// recorder is a test that fails without consequences.
type recorder struct {
	testing.TB // of methods that are not used here

	mu       sync.Mutex
	said     strings.Builder // guarded by mu
	failed   bool            // guarded by mu
	cleanups []func()        // guarded by mu
}

func (r *recorder) Helper() {}

func (r *recorder) Context() context.Context { return context.Background() }

func (r *recorder) Cleanup(fn func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.cleanups = append(r.cleanups, fn)
}

func (r *recorder) Errorf(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.failed = true
	fmt.Fprintf(&r.said, format+"\n", args...)
}

func (r *recorder) Fatalf(format string, args ...any) {
	r.Errorf(format, args...)
	runtime.Goexit()
}

func (r *recorder) Failed() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.failed
}

func (r *recorder) Logf(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	fmt.Fprintf(&r.said, format+"\n", args...)
}

func (r *recorder) Fatal(args ...any) { r.Fatalf("%s", fmt.Sprint(args...)) }

// run runs a test to its end, and returns what it failed with; "" where it passed.
func (r *recorder) run(test func(t testing.TB)) string {
	over := make(chan struct{})
	go func() {
		defer close(over)
		defer func() {
			for i := len(r.cleanups) - 1; i >= 0; i-- {
				r.cleanups[i]()
			}
		}()
		test(r)
	}()
	<-over
	return r.said.String()
}

// wantFailure fails unless test fails, with a message that has all parts.
func wantFailure(t *testing.T, test func(t testing.TB), parts ...string) {
	t.Helper()
	said := new(recorder).run(test)
	if said == "" {
		t.Errorf("the test passed, want it to fail with %q", parts)
	}
	for _, part := range parts {
		if !strings.Contains(said, part) {
			t.Errorf("the test failed with\n%swant it to say %q", said, part)
		}
	}
}
