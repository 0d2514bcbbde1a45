//go:build unix

package docs_test

// The commands of the pages: a shell runs them, in their order, with the program that was built from this tree.

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// notRun are the beginnings of commands that no test here runs, each with its reason, and with the test or target that does it instead.
var notRun = []struct{ command, reason, instead string }{
	{"git clone https://github.com/stepwell/stepwell && cd stepwell", "this is what it brings", "TestHelloBehindProxies"},
	{"make demo", "five seconds", "TestDemo"},
	{"docker start pg", "the reader's server; the page is run on the tests' own", "TestPostgresSQL"},
	{"go run ./examples/", "each example has a test of its own, and this compares the page with them", "TestTheListIsTrue"},
	{"sqlite3 ", "nothing else here needs its shell; the same in SQL", "TestBackupWhileItRunsGoesOnByItself"},
	{"curl ", "they talk to one server, all of them; its test has it", "TestServerWalk"},
	{"stepwell vet", "it reads a module with all that it imports; its test has a small one", "TestVet"},
	{`stepwell runs start import '{"tenant":"acme"}' --blob`, "it has a file of its own", "TestStartWithABlob"},
	{"make test", "it runs this", "make -n test"},
	{"make bench-micro", "it measures, for long", "make -n bench-micro"},
	{"make bench", "it measures, for hours", "make -n bench"},
	{"go -C bench run .", "a module of its own, with the peers", "make -n bench-check"},
}

// command is one that a page shows.
type command struct {
	page   string
	line   int
	text   string
	shown  []string // what the page says that it prints; nil: nothing is said
	inline bool     // not of a block: it depends on none before it
	inside bool     // of a sentence: it is only named there
}

func (c command) at() string { return fmt.Sprintf("%s:%d", c.page, c.line) }

var (
	said   = regexp.MustCompile("`(stepwell [^`\n]+)`")
	blanks = regexp.MustCompile(` {2,}#.*$`)
)

// commandsOf returns the commands of a page in their order: the lines of sh blocks; those of console blocks that begin with "$", with the output
// that follows them; and what stands in backquotes. A text block behind a console block is what the page's program goes on to say: a command
// without a text.
func commandsOf(page, text string) (all []command) {
	before := ""
	for _, b := range blocksOf(page, text) {
		lines := strings.Split(strings.TrimSuffix(b.code, "\n"), "\n")
		for i, line := range lines {
			line, prompt := strings.CutPrefix(line, "$ ")
			switch {
			case b.lang == "console" && prompt:
				all = append(all, command{page: page, line: b.line + i, text: line, shown: []string{}})
			case b.lang == "console" && i > 0:
				all[len(all)-1].shown = append(all[len(all)-1].shown, line)
			case b.lang == "sh" && line != "" && line[0] != '#':
				all = append(all, command{page: page, line: b.line + i, text: blanks.ReplaceAllString(line, "")})
			}
		}
		if b.lang == "text" && before == "console" {
			all = append(all, command{page: page, line: b.line, shown: lines})
		}
		before = b.lang
	}
	outside := fence.ReplaceAllStringFunc(text, func(s string) string { return strings.Repeat("\n", strings.Count(s, "\n")) })
	for i, line := range strings.Split(outside, "\n") {
		for _, m := range said.FindAllStringSubmatch(line, -1) {
			all = append(all, command{page: page, line: i + 1, text: m[1], inline: true, inside: !strings.HasPrefix(line, "|")})
		}
	}
	slices.SortStableFunc(all, func(a, b command) int { return a.line - b.line })
	return all
}

// TestCommands runs every command of every page. A command fails where its exit code is not 0, or where it does not print what the page shows, but
// for times, numbers of processes and the like: see steady. One that is only named in a sentence must be there, with its flags. What stands in
// backquotes on several pages is run once.
func TestCommands(t *testing.T) {
	t.Parallel()
	bin := t.TempDir()
	build(t, bin)
	exist := tests(t)
	used, once := map[int]bool{}, map[string]bool{}
	for _, page := range pages(t) {
		var list []command
		for _, c := range commandsOf(page, read(t, page)) {
			if i := slices.IndexFunc(notRun, func(n struct{ command, reason, instead string }) bool { return strings.HasPrefix(c.text, n.command) }); i < 0 {
				if !c.inline || !once[c.text] {
					list = append(list, c)
				}
				once[c.text] = once[c.text] || c.inline
			} else {
				used[i] = true
			}
		}
		list = append(list, recordedOf(t, page, list)...)
		if len(list) > 0 {
			t.Run(page, func(t *testing.T) { t.Parallel(); newStage(t, page, bin).play(list) })
		}
	}
	for i, n := range notRun {
		if !used[i] {
			t.Errorf("no page has the command %q: it need not be excused", n.command)
		}
		if strings.HasPrefix(n.instead, "make ") {
			if out, err := exec.CommandContext(t.Context(), "bash", "-c", "cd .. && "+n.instead).CombinedOutput(); err != nil {
				t.Errorf("%s: %v\n%s", n.instead, err, out)
			}
		} else if !exist[n.instead] {
			t.Errorf("%q is excused by %s, which does not exist", n.command, n.instead)
		}
	}
}

// recordings are the sessions that pictures play, and the pages with the program that they were recorded of.
var recordings = map[string]string{"docs/tutorial/6-night.md": "docs/pictures/why.txt"}

// recordedOf returns the commands of the session that was recorded of a page's program, without those that the page
// itself shows with the same answer: they are run after the page.
func recordedOf(t *testing.T, page string, list []command) []command {
	at := recordings[page]
	if at == "" {
		return nil
	}
	session := commandsOf(at, "```console\n"+strings.TrimSpace(read(t, at))+"\n```\n")
	if len(session) == 0 {
		t.Errorf("%s has no commands", at)
	}
	return slices.DeleteFunc(session, func(c command) bool {
		return slices.ContainsFunc(list, func(of command) bool { return of.text == c.text && slices.Equal(steady(of.shown), steady(c.shown)) })
	})
}

// stage is where the commands of one page are run.
type stage struct {
	t       *testing.T
	page    string
	dir     string
	env     []string
	state   string            // the file in which the shell leaves where it stands
	words   *strings.Replacer // what stands for what
	cast    *cast             // nil: no command has needed it
	program *program          // of the page, in another terminal; nil: none
}

// play runs commands in their order.
func (s *stage) play(list []command) {
	programs := programsOf(s.t, s.page)
	for _, c := range list {
		for len(programs) > 0 && programs[0].line < c.line { // the reader has saved it by now
			s.save(programs[0].code)
			programs = programs[1:]
		}
		if s.t.Failed() {
			return // what follows builds on it
		}
		s.run(c)
	}
}

var seconds = regexp.MustCompile(`\b\d+ \* time\.Second\b`)

// save writes the page's program where the shell stands. Its seconds are as long as the test wants.
func (s *stage) save(code string) {
	put(s.t, filepath.Join(s.dir, "main.go"), seconds.ReplaceAllString(code, "seconds()"))
	put(s.t, filepath.Join(s.dir, "seconds.go"), `package main

import (
	"os"
	"time"
)

func seconds() time.Duration {
	d, err := time.ParseDuration(os.Getenv("SECONDS_ARE"))
	if err != nil {
		panic(err)
	}
	return d
}
`)
}

func put(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// run runs one command, and compares.
func (s *stage) run(c command) {
	s.t.Helper()
	text := s.words.Replace(c.text)
	switch {
	case c.inside:
		text += " --help"
	case text == "":
		s.program.says(c.at(), c.shown)
		return
	case strings.HasPrefix(text, "./"): // it goes on in another terminal
		text, beside := strings.CutSuffix(text, "   # a second worker")
		first := s.program
		if beside {
			s.env = append(s.env, "SECONDS_ARE=20ms")
		} else {
			first.stop()
		}
		s.program = s.start(text)
		s.program.says(c.at(), c.shown)
		if beside {
			s.program.next = first
		}
		return
	case strings.HasPrefix(text, "kill "):
		s.env = append(s.env, "SECONDS_ARE=20ms")
		fallthrough
	default:
		text = s.fill(text)
	}
	looks := slices.ContainsFunc([]string{"runs show ", "events ", "failures", "schedules list"}, func(c string) bool { return strings.HasPrefix(text, "stepwell "+c) })
	first := ""
	for end := time.Now().Add(time.Minute); ; {
		got, errs, err := s.shell(text)
		if err != nil {
			s.t.Errorf("%s: %s: %v\n%s%s", c.at(), text, err, got, errs)
			return
		}
		if c.shown == nil || slices.Equal(steady(c.shown), steady(slices.Collect(strings.Lines(got)))) {
			return
		}
		if first == "" {
			first = got
		}
		if !looks || time.Now().After(end) { // what only looks can look again, until what the page tells has happened
			s.t.Errorf("%s: %s: got\n%s\nand at first\n%s\nwant, but for what changes,\n%s", c.at(), text, got, first, strings.Join(c.shown, "\n"))
			return
		}
		<-time.After(50 * time.Millisecond)
	}
}

// preamble makes a shell that gives up at the first failure, and that has what a reader may have to install.
const preamble = `set -euo pipefail
command -v jq >/dev/null || jq() { sed -n 's/.*"id":"\([^"]*\)".*/\1/p'; }
`

// compiling is held while the go command works: side by side, on a machine with few cores, none would end in time.
var compiling sync.Mutex

// shell runs a command line where the last one has left off.
func (s *stage) shell(text string) (stdout, stderr string, err error) {
	if strings.HasPrefix(text, "go ") {
		compiling.Lock()
		defer compiling.Unlock()
	}
	ctx, cancel := context.WithTimeout(s.t.Context(), 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "bash", "-c", preamble+text+"\nprintf '%s\\n%s' \"$PWD\" \"${STEPWELL_DB-}\" >"+s.state)
	cmd.Dir, cmd.Env = s.dir, s.env
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) } // what the shell has started, too
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err = cmd.Run()
	if left, failed := os.ReadFile(s.state); err == nil && failed == nil {
		dir, db, _ := strings.Cut(string(left), "\n")
		s.dir = dir
		if db != "" {
			s.env = append(s.env, "STEPWELL_DB="+db)
		}
	}
	return out.String(), errs.String(), err
}

// changing is what differs from one time to the next; what it stands for is the same.
var changing = []struct {
	is *regexp.Regexp
	as string
}{
	{regexp.MustCompile(`wrun_[0-9A-Z]+`), "RUN"},
	{regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(Z|[+-]\d\d:\d\d)`), "WHEN"},
	{regexp.MustCompile(`@WHEN~[0-9A-Z]+`), "@TIME"},
	{regexp.MustCompile(`\+?(under )?\d+(\.\d+)? (ms|s|m|min|h|d)\b( \d+ (s|m|h)\b)?`), "LONG"},
	{regexp.MustCompile(`\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d+( +LONG)?`), "WHEN"},
	{regexp.MustCompile(`(Mon|Tue|Wed|Thu|Fri|Sat|Sun) \d+ \w+ \d\d:\d\d`), "WHEN"},
	{regexp.MustCompile(`\d\d:\d\d:\d\d`), "WHEN"},
	{regexp.MustCompile(`\d+ commits?, \d+ claims?`), "COUNTS"},
	{regexp.MustCompile(`process \d+`), "process N"},
	{regexp.MustCompile(`\bworker \S+:\d+`), "worker NAME"},
	{regexp.MustCompile(` on \S+:\d+`), " on NAME"},
	{regexp.MustCompile(` {2,}`), "  "},
}

// steady is output without what changes.
func steady(lines []string) (same []string) {
	for _, line := range lines {
		for _, c := range changing {
			line = c.is.ReplaceAllString(line, c.as)
		}
		same = append(same, strings.TrimRight(line, " \n"))
	}
	return same
}

// TestSteady: on a slow machine the same takes minutes.
func TestSteady(t *testing.T) {
	t.Parallel()
	got, want := steady([]string{"  3  wait  nap  done  1 m 26 s  woken", "again in 2 d 4 h"}), steady([]string{"  3  wait  nap  done  18 s  woken", "again in 3 d"})
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
