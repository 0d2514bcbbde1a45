//go:build unix

package main

// What a command may do to whoever calls it: hang, write without end, and fail without a word.

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// scripted is a program in the place of stepwell.
func scripted(t *testing.T, script string) *commands {
	t.Helper()
	path := filepath.Join(t.TempDir(), "stepwell")
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+script+"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	return newCommands(path, nil)
}

func TestCommandsThatMisbehave(t *testing.T) {
	for name, c := range map[string]struct{ script, says string }{
		"writes without end":   {`exec yes "\"$(head -c 60000 /dev/zero | tr '\0' x)\""`, "the answer has more than 64 MiB"},
		"writes no JSON":       {`echo rubbish`, "read the answer"},
		"stops in the middle":  {`printf '{"a":'`, "read the answer"},
		"fails without a word": {`exit 5`, "exit code 5, and did not say why"},
		"says why": {`echo noise >&2; echo '{"code":"NOT_FOUND","error":"there is no run x","next":"list them","exit":3}' >&2; exit 3`,
			"there is no run x (NOT_FOUND)\nlist them"},
		"says much": {`yes noise | head -c 600000 >&2; echo '{"code":"FAILED","error":"away","exit":1}' >&2; exit 1`, "away (FAILED)"},
		"is killed": {`kill -9 $$`, "signal: killed"},
	} {
		t.Run(name, func(t *testing.T) {
			err := scripted(t, c.script).call(t.Context(), caller{}, commandLine("x"), func(json.RawMessage) error { return nil })
			if err == nil || !strings.Contains(err.Error(), c.says) {
				t.Errorf("got %v, want %q", err, c.says)
			}
		})
	}
}

// TestCallIsGivenUp: the command is interrupted, and gives its place back; those that wait for one are told.
func TestCallIsGivenUp(t *testing.T) {
	here := filepath.Join(t.TempDir(), "began")
	c := scripted(t, "echo x >>"+here+"; exec sleep 600")
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, mostAtOnce)
	for range mostAtOnce {
		go func() { ended <- c.call(ctx, caller{}, commandLine("x"), func(json.RawMessage) error { return nil }) }()
	}
	eventually(t, "all places are had", func() bool {
		b, err := os.ReadFile(here)
		return err == nil && len(b) == 2*mostAtOnce
	})
	l := commandLine("x")
	l.time = 10 * time.Millisecond
	if err := c.call(t.Context(), caller{}, l, nil); err == nil || !strings.Contains(err.Error(), "too many calls at once") {
		t.Errorf("one too many: got %v", err)
	}
	cancel()
	for range mostAtOnce {
		if err := <-ended; err == nil || !strings.Contains(err.Error(), "given up") {
			t.Errorf("given up: got %v", err)
		}
	}
	if len(c.places) != 0 {
		t.Errorf("%d places are still had", len(c.places))
	}
	stopped := errors.New("enough")
	if err := scripted(t, `exec yes '{"a":1}'`).call(t.Context(), caller{}, commandLine("x"), func(json.RawMessage) error { return stopped }); !errors.Is(err, stopped) {
		t.Errorf("the reader has enough: got %v", err)
	}
}
