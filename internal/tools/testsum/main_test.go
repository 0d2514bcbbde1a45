package main

// Tests of the summary: nothing that failed may pass, and what failed shows fully.

import (
	"strings"
	"testing"
)

func TestRun(t *testing.T) {
	const pass = `{"Action":"start","Package":"p"}
{"Action":"run","Package":"p","Test":"TestA"}
{"Action":"output","Package":"p","Test":"TestA","Output":"quiet\n"}
{"Action":"pass","Package":"p","Test":"TestA"}
`
	for name, test := range map[string]struct {
		in   string
		ok   bool
		want []string
		hide string
	}{
		"pass": {pass + `{"Action":"pass","Package":"p","Elapsed":1.5}`, true,
			[]string{"ok    p 1.5s", "ok: packages: 1 passed, 0 failed; tests: 1 passed, 0 failed, 0 skipped"}, "quiet"},
		"fail": {`{"Action":"start","Package":"p"}
{"Action":"run","Package":"p","Test":"TestA"}
{"Action":"output","Package":"p","Test":"TestA","Output":"got 1, want 2\n"}
{"Action":"fail","Package":"p","Test":"TestA"}
{"Action":"fail","Package":"p"}`, false, []string{"----- p TestA\ngot 1, want 2", "FAIL: packages: 0 passed, 1 failed; tests: 0 passed, 1 failed"}, ""},
		"panic ends the process": {`{"Action":"start","Package":"p"}
{"Action":"run","Package":"p","Test":"TestA"}
{"Action":"output","Package":"p","Test":"TestA","Output":"panic: boom\n"}
{"Action":"output","Package":"p","Output":"FAIL p\n"}
{"Action":"fail","Package":"p"}`, false, []string{"panic: boom", "0 passed, 1 failed; tests: 0 passed, 1 failed"}, ""},
		"race outside of a test": {pass + `{"Action":"output","Package":"p","Output":"WARNING: DATA RACE\n"}
{"Action":"fail","Package":"p"}`, false, []string{"WARNING: DATA RACE", "1 failed; tests: 1 passed"}, ""},
		"race in the output of a test that passed": {strings.Replace(pass, "quiet", "WARNING: DATA RACE", 1) + `{"Action":"fail","Package":"p"}`, false,
			[]string{"----- p TestA\nWARNING: DATA RACE"}, ""},
		"build": {pass + `{"Action":"pass","Package":"p"}
{"ImportPath":"q","Action":"build-output","Output":"q.go:1: undefined: x\n"}
{"ImportPath":"q","Action":"build-fail"}
{"Action":"start","Package":"q"}
{"Action":"fail","Package":"q","FailedBuild":"q"}`, false, []string{"undefined: x", "q does not build", "packages: 1 passed, 1 failed"}, ""},
		"cut off":      {pass, false, []string{"p did not end"}, ""},
		"cut off test": {`{"Action":"run","Package":"p","Test":"TestB"}`, false, []string{"p TestB did not end"}, ""},
		"not JSON":     {"go: no such directory\n" + pass + `{"Action":"pass","Package":"p"}`, true, []string{"go: no such directory"}, ""},
		"nothing":      {"", false, []string{"FAIL"}, ""},
		"seed": {strings.Replace(pass, "quiet", "one case in 3: -sample.seed=17 for the same ones", 1) + `{"Action":"pass","Package":"p","Elapsed":1.5}`, true,
			[]string{"ok    p 1.5s -sample.seed=17\n"}, "one case"},
		"skip is said": {`{"Action":"run","Package":"p","Test":"TestS"}
{"Action":"output","Package":"p","Test":"TestS","Output":"not today\n"}
{"Action":"skip","Package":"p","Test":"TestS"}
{"Action":"pass","Package":"p"}`, true, []string{"not today", "1 skipped"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			var out strings.Builder
			if got := run(strings.NewReader(test.in), &out); got != test.ok {
				t.Errorf("got ok %v, want %v", got, test.ok)
			}
			for _, want := range test.want {
				if !strings.Contains(out.String(), want) {
					t.Errorf("got\n%s\nwant it to contain %q", out.String(), want)
				}
			}
			if test.hide != "" && strings.Contains(out.String(), test.hide) {
				t.Errorf("got\n%s\nwant it without %q", out.String(), test.hide)
			}
		})
	}
}
