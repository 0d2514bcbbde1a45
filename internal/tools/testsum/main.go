// Command testsum reads the output of go test -json and shows what people need of it: a line for each package, the whole
// output of whatever failed, and one line at the end that counts packages and tests. It exits with 1 where anything failed,
// did not build, or did not end, and where no test ran at all; its input ending early is a failure too.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strings"
	"time"
)

func main() {
	if !run(os.Stdin, os.Stdout) {
		os.Exit(1)
	}
}

// event is a line of go test -json; see go doc test2json.
type event struct {
	Action      string
	Package     string
	ImportPath  string // of build output
	Test        string
	Output      string
	Elapsed     float64
	FailedBuild string
}

// summary is what was seen so far.
type summary struct {
	out                           io.Writer
	output                        map[[2]string]*strings.Builder // by package and test
	open                          map[[2]string]bool             // begun and not ended
	seeds                         map[string]string              // by package: which share of its cases it tried
	pkgs, pkgsFailed              int
	tests, testsFailed, testsSkip int
}

// seeded is how a test says which share of its cases it tries: see package sample.
var seeded = regexp.MustCompile(`-sample\.seed=\d+`)

// run copies what matters from in to out and reports whether all is well.
func run(in io.Reader, out io.Writer) bool {
	s := summary{out: out, output: make(map[[2]string]*strings.Builder), open: make(map[[2]string]bool), seeds: make(map[string]string)}
	start := time.Now()
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, 64<<20)
	for lines.Scan() {
		var e event
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil || e.Action == "" {
			fmt.Fprintln(out, lines.Text()) // a compiler's or the go command's own words
			continue
		}
		s.add(e)
	}
	s.unfinished()
	word := "ok"
	ok := lines.Err() == nil && s.pkgsFailed == 0 && s.testsFailed == 0 && s.tests > 0
	if !ok {
		word = "FAIL"
	}
	if err := lines.Err(); err != nil {
		fmt.Fprintln(out, "testsum: read:", err)
	}
	fmt.Fprintf(out, "%s: packages: %d passed, %d failed; tests: %d passed, %d failed, %d skipped; %.0fs\n",
		word, s.pkgs-s.pkgsFailed, s.pkgsFailed, s.tests-s.testsFailed-s.testsSkip, s.testsFailed, s.testsSkip, time.Since(start).Seconds())
	return ok
}

func (s *summary) add(e event) {
	key := [2]string{e.Package, e.Test}
	switch e.Action {
	case "start", "run":
		s.open[key] = true
	case "output":
		b := s.output[key]
		if b == nil {
			b = new(strings.Builder)
			s.output[key] = b
		}
		b.WriteString(e.Output)
		if seed := seeded.FindString(e.Output); seed != "" {
			s.seeds[e.Package] = " " + seed
		}
	case "build-output":
		fmt.Fprint(s.out, e.Output)
	case "build-fail":
		fmt.Fprintf(s.out, "FAIL  %s does not build\n", e.ImportPath)
	case "pass", "fail", "skip":
		delete(s.open, key)
		if e.Test != "" {
			s.test(e, key)
		} else {
			s.pkg(e, key)
		}
	}
}

// test counts the end of a test. The output of one that passed is dropped, unless a data race stands in it: tests that run side by side all fail
// of one, and it is reported in the output of whichever spoke last.
func (s *summary) test(e event, key [2]string) {
	s.tests++
	switch e.Action {
	case "fail":
		s.testsFailed++
		s.show(e.Package+" "+e.Test, key)
	case "skip":
		s.testsSkip++
		s.show(e.Package+" "+e.Test, key)
	case "pass":
		if b := s.output[key]; b != nil && strings.Contains(b.String(), "WARNING: DATA RACE") {
			return // until the package ends
		}
	}
	delete(s.output, key)
}

// pkg counts the end of a package. Where it failed, what its tests had not yet shown is shown: a panic or a data race may
// stand in the output of any of them.
func (s *summary) pkg(e event, key [2]string) {
	if e.Action == "skip" {
		delete(s.output, key)
		return // it has no tests
	}
	s.pkgs++
	if e.Action == "fail" {
		s.pkgsFailed++
		for _, k := range s.sortedOf(e.Package) {
			s.show(strings.TrimSpace(k[0]+" "+k[1]), k)
		}
	}
	for _, k := range s.sortedOf(e.Package) {
		delete(s.output, k)
		if s.open[k] && k != key { // it began and its process ended
			s.tests++
			s.testsFailed++
			delete(s.open, k)
		}
	}
	fmt.Fprintf(s.out, "%-5s %s %.1fs%s\n", map[string]string{"pass": "ok", "fail": "FAIL"}[e.Action], e.Package, e.Elapsed, s.seeds[e.Package])
}

// unfinished counts what began and never ended: the go command itself was ended.
func (s *summary) unfinished() {
	keys := make([][2]string, 0, len(s.open))
	for k := range s.open {
		keys = append(keys, k)
	}
	slices.SortFunc(keys, compare)
	for _, k := range keys {
		s.show(strings.TrimSpace(k[0]+" "+k[1])+" did not end", k)
		if k[1] == "" {
			s.pkgs++
			s.pkgsFailed++
		} else {
			s.tests++
			s.testsFailed++
		}
	}
}

// show prints the whole output of a test or package under a heading, once.
func (s *summary) show(heading string, key [2]string) {
	fmt.Fprintf(s.out, "----- %s\n", heading)
	if b := s.output[key]; b != nil {
		fmt.Fprint(s.out, b)
		b.Reset()
	}
}

// sortedOf lists the outputs and open tests of a package.
func (s *summary) sortedOf(pkg string) [][2]string {
	var keys [][2]string
	for k := range s.output {
		if k[0] == pkg {
			keys = append(keys, k)
		}
	}
	for k := range s.open {
		if k[0] == pkg && s.output[k] == nil {
			keys = append(keys, k)
		}
	}
	slices.SortFunc(keys, compare)
	return keys
}

func compare(a, b [2]string) int {
	if c := strings.Compare(a[0], b[0]); c != 0 {
		return c
	}
	return strings.Compare(a[1], b[1])
}
