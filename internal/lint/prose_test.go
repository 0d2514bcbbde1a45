package lint

// This file holds prose to one voice: plain English, the field's words, sentences that can be read once. It reads
// pages, help texts, messages, and the templates of the web UI. What it finds is rewritten, and not silenced.
//
// Vale would be the tool for it. As a Go module it does not build without C: it parses the comments of twenty languages
// with grammars in C. And it does not read the strings of Go, where most of what users read is.

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// mostWords is how long a sentence of a page or of a help text may be.
const mostWords = 40

// proseRule is something that prose does not have.
type proseRule struct {
	name string
	find *regexp.Regexp
	not  *regexp.Regexp // what is found and is right
	say  string
	user bool // engineers may read it
}

func re(s string) *regexp.Regexp { return regexp.MustCompile(s) }

var proseRules = []proseRule{
	{name: "passive riddle", say: "who does what: you can get it at …",
		find: re(`\b(?:is|are|was|were) to be (?:had|found|told|done|said|seen|reached)\b`)},
	{name: "who", say: "the person or the program: the worker that has it",
		find: re(`(?:[.;:] |^W|\b(?:for|to|by|from|of|with|behind) w|[.;:] W)ho (?:else )?(?:has|have|had|does|asks|comes|knows|takes|looks|gives|wants|holds|reads|works|runs|received|starts|waits|makes|sees|owns|sends|spreads)\b[^?]*$`)},
	{name: "place", say: "instead of, or: it replaces", find: re(`\bin the place of\b`)},
	{name: "anew", say: "again, or: new", find: re(`\banew\b`)},
	{name: "so many", say: "this many, that long",
		find: re(`\b(?:at most so (?:many|long|much)|has? so long\b|so many \w+ at most|or so long ago|for so long (?:from|at)|just so many|begins so\b)`)},
	{name: "is no", say: "is not a …",
		find: re(`\b(?:\w+ )?(?:is|are|was|were) no \w+`),
		not:  re(`(?i)^(?:there|here|it) (?:is|are|was|were) no |\bno (?:longer|more|other|less|better|worse|older|newer|different|faster|slower|smaller|larger|one|need|use|secret|substitute|way|reason|problem|match)$`)},
	{name: "behind", say: "after",
		find: re(`\bbehind (?:event|what|the (?:log|end|last event))\b|\b(?:name|begins?|goes on|go on|stands?) (?:it )?behind\b`)},
	{name: "unless said", say: "by default", find: re(`\b(?:unless|where|if) (?:it is |nothing is |nothing else is )?(?:said|told)\b`)},
	{name: "he", say: "they, or the role", find: re(`\b(?:[Hh]e|[Hh]is|[Hh]im|[Ss]he|[Hh]er)\b`)},
	{name: "comes to", say: "the result; what happens to",
		find: re(`\b(?:what|that|which) (?:it|he|she|that|this|they) (?:came|comes|come) to\b|\bwhat becomes of\b`)},
	{name: "where", say: "if …", user: true,
		find: re(`(?:^|[.;] )Where (?:a|an|the|it|that|this|no|one|there|none|nobody|nothing) [^.?]*,`)},
	{name: "held against", say: "checked against", find: re(`\b(?:held|hold|holds) (?:\w+ ){0,4}against\b`)},
	{name: "archaic", say: "a word of today", find: re(`\b(?:heeds?|heeded|fares?|hither|thereof|whereof|betimes)\b`)},
	{name: "what", say: "name the thing: a refused request",
		find: re(`(?:^|[.;] )(?:What|Whoever) (?:is|was|has|had|comes|came|else|nobody|no|somebody|waits|works|stands|lies|goes|can|cannot|a|an|the|it|they)\b[^?:]*[.;]$`)},
	{name: "twice is once", say: "calling it twice is harmless", find: re(`\b(?:[Tt]wice|[Aa]gain) is once\b`)},
	{name: "there", say: "it exists, or: leave it out", find: re(`\b(?:that|which|who) (?:is|are|was|were) there\b`)},
	{name: "of these", say: "name them", find: re(`(?:^|[.;] )Of (?:these|those|them|all|what)\b`)},
	{name: "doubled", say: "one of them",
		find: re(`(?i)\b(?:the the|a a|an an|is is|are are|to to|of of|in in|on on|and and|or or|it it|for for|with with|be be|was was|by by|as as|at at|if if|not not|no no|you you|this this|which which|from from|has has|have have|can can|will will|may may|so so|but but)\b`)},
	{name: "product", say: "its name as its makers spell it",
		find: re(`\b(?:Postgres|PostGreSQL|Postgresql|SQlite|Sqlite|Typescript|Javascript|NodeJS|Github|Gitlab|Mac OS|MacOS|OSX|GoLang|Golang|Open Telemetry|Opentelemetry|Kubernates|Dbos|Systemd|Pgbouncer|PGBouncer|Json|Http|Url|Sql|Api)\b`)},
}

// insideWords are words of this code that its users need not know, and what to say. Each has a row in docs/design/words.md.
var insideWords = []struct {
	row  string
	find *regexp.Regexp
	say  string
}{
	{"world", re(`\bworlds?\b`), "store, database"},
	{"birth", re(`\b[Bb]irths?\b`), "start"},
	{"heir", re(`\b[Hh]eirs?\b`), "the run that replaced it"},
	{"inbox, mail", re(`\b(?:old|unread|its|a run's) mail\b`), "deliveries"},
	{"aside", re(`\b[Aa]sides\b`), "payloads that were set aside"},
	{"strike", re(`\b[Ss]trikes?\b`), "crash"},
	{"stray", re(`\b[Ss]trays?\b`), "orphan"},
	{"shun", re(`\b[Ss]huns?\b`), "leave to other workers"},
	{"crew", re(`\b[Cc]rews?\b`), "workers"},
	{"lane", re(`\b[Ll]anes?\b`), "lock"},
	{"bell", re(`\b[Bb]ells?\b`), "wake-up"},
	{"spread", re(`\b(?:to be|been|is|are|was|were|not) spread\b`), "delivered"},
	{"encrypted", re(`\b[Ss]ealed\b`), "encrypted"},
}

// theirWord are pages whose subject has the word: Workflow DevKit calls a store a World.
var theirWord = map[string]string{"docs/workflow-devkit.md": "world", "docs/coming-from.md": "world", "clients/wdk/README.md": "world"}

func TestProse(t *testing.T) {
	for _, p := range proses(t) {
		for _, fault := range proseFaults(p) {
			t.Errorf("%s:%d: %s", p.path, p.line, fault)
		}
	}
}

// proseFaults are what is wrong with a text.
func proseFaults(p prose) (faults []string) {
	for _, s := range sentences(p) {
		for _, r := range proseRules {
			if r.user && !p.user {
				continue
			}
			for _, found := range r.find.FindAllString(s, -1) {
				if r.not == nil || !r.not.MatchString(found) {
					faults = append(faults, fmt.Sprintf("%s: %.60q: say %s", r.name, found, r.say))
				}
			}
		}
		for _, w := range insideWords {
			if found := w.find.FindString(strings.ReplaceAll(s, "outside world", "")); found != "" && p.user && theirWord[p.path] != w.row {
				faults = append(faults, fmt.Sprintf("inside word: %q: say %s", found, w.say))
			}
		}
		if n := len(strings.Fields(s)); p.long && p.user && n > mostWords {
			faults = append(faults, fmt.Sprintf("long: a sentence of %d words, %.50q…: %d at most", n, s, mostWords))
		}
	}
	return faults
}

var (
	stop   = re(`[.?!…](?:["')]*) +`)
	clause = re(`[.?!…;](?:["')]*) +`)
)

// sentences are those of a text; in a table a semicolon ends one, too.
func sentences(p prose) []string {
	end := stop
	if p.cell {
		end = clause
	}
	return slices.DeleteFunc(strings.Split(end.ReplaceAllString(p.text, "$0\n"), "\n"), func(s string) bool { return strings.TrimSpace(s) == "" })
}

// TestInsideWords: each inside word is one of docs/design/words.md.
func TestInsideWords(t *testing.T) {
	page, err := os.ReadFile(filepath.Join(root, "docs", "design", "words.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range insideWords {
		if !strings.Contains(string(page), "\n| "+w.row+" |") {
			t.Errorf("docs/design/words.md has no row for %q", w.row)
		}
	}
}

// TestProseRules: each rule finds what it is for, and lets pass what looks like it.
func TestProseRules(t *testing.T) {
	for text, want := range map[string]string{
		"The key is to be had from an operator.":             "passive riddle",
		"See who has it.":                                    "",
		"Who has the token sends to it.":                     "who",
		"The result goes to who waits for it.":               "who",
		"Who has it?":                                        "",
		"A run in the place of another.":                     "place",
		"It begins anew.":                                    "anew",
		"It takes at most so many.":                          "so many",
		"That is no URL.":                                    "is no",
		"There is no URL.":                                   "",
		"That is no longer so.":                              "",
		"It goes on behind event 7.":                         "behind",
		"It stands behind a proxy.":                          "behind",
		"A server behind a proxy.":                           "",
		"30s unless said.":                                   "unless said",
		"The operator and his key.":                          "he",
		"It waits for what it comes to.":                     "comes to",
		"Where a run fails, its parent sees that.":           "where",
		"See where a run fails, and why.":                    "",
		"A log is held against the code.":                    "held against",
		"Write it. What was refused wrote nothing.":          "what",
		"What is refused, and why: see Limits":               "",
		"What is a limit?":                                   "",
		"Call it again: twice is once.":                      "twice is once",
		"It lists the runs that are there.":                  "there",
		"Of these the first wins.":                           "of these",
		"It does not heed a cancel.":                         "archaic",
		"See the the page.":                                  "doubled",
		"It runs on Postgres.":                               "product",
		"It runs on PostgreSQL.":                             "",
		"This world keeps no queues.":                        "inside word",
		"It acts on the outside world.":                      "",
		strings.Repeat("word ", mostWords) + "more.":         "long",
		strings.Repeat("word ", mostWords-1) + "end. More.":  "",
		strings.Repeat("word ", mostWords/2) + ". " + "the.": "",
	} {
		faults := proseFaults(prose{path: "docs/x.md", user: true, long: true, text: text})
		got := strings.Join(faults, "; ")
		if want == "" && got != "" || want != "" && (len(faults) != 1 || !strings.HasPrefix(got, want+":")) {
			t.Errorf("%.60s: got %q, want %q", text, got, want)
		}
	}
}
