package replay

// This file makes of a goroutine's stack what its author wants to see: his own functions, the innermost first, a line each, without addresses.

import (
	"bytes"
	"reflect"
	"runtime"
	"strings"
	"sync"
)

// mostAuthors is how many lines of a stack are kept.
const mostAuthors = 20

// AuthorsStack is the part of a stack that is the author's, "file:line  function" a line, and its first place as "file.go:58". Of a goroutine that panics it begins
// where that was. A stack without any function of an author's, as of a fault of Stepwell's own, stays as it is, but for tabs.
func AuthorsStack(stack []byte) (text, where string) {
	_, rest, ok := strings.Cut(string(stack), "\n") // goroutine 18 [running]:
	if !ok || !strings.HasPrefix(string(stack), "goroutine ") {
		rest = string(stack)
	}
	if i := strings.LastIndex("\n"+rest, "\npanic("); i >= 0 {
		rest = rest[i:]
	}
	var b strings.Builder
	n := 0
	for rest != "" {
		var fn, at string
		fn, rest, _ = strings.Cut(rest, "\n")
		at, rest, _ = strings.Cut(rest, "\n")
		at, _, _ = strings.Cut(strings.TrimSpace(at), " +0x")
		if strings.HasPrefix(fn, "created by ") {
			break
		}
		if i := strings.LastIndexByte(fn, '('); i > 0 {
			fn = fn[:i]
		}
		if root := library(); at == "" || plumbing(fn) || root != "" && strings.HasPrefix(at, root) {
			continue
		}
		if n++; n == 1 {
			where = at[strings.LastIndexByte(at, '/')+1:]
		}
		if n <= mostAuthors {
			b.WriteString("  " + at + "  " + fn[strings.LastIndexByte(fn, '/')+1:] + "\n")
		}
	}
	if n == 0 {
		return string(bytes.ReplaceAll(bytes.TrimSpace(stack), []byte("\t"), []byte("  "))), ""
	}
	return strings.TrimRight(b.String(), "\n"), where
}

// library is the folder of the standard library's files; "": they are known by their packages alone.
var library = sync.OnceValue(func() string {
	one := reflect.ValueOf(strings.Cut).Pointer()
	file, _ := runtime.FuncForPC(one).FileLine(one)
	return strings.TrimSuffix(file, "strings/strings.go")
})

// plumbing reports whether a function of a stack is none of an author's.
func plumbing(fn string) bool {
	if ours(fn) || fn == "panic" {
		return true
	}
	for _, p := range []string{"runtime/", "internal/", "testing.", "sync.", "reflect."} {
		if strings.HasPrefix(fn, p) {
			return true
		}
	}
	rest, ok := strings.CutPrefix(fn, "github.com/stepwell/stepwell/")
	if !ok {
		return false
	}
	for _, p := range []string{"internal/engine.", "internal/codec.", "internal/kit.", "stepwelltest."} {
		if strings.HasPrefix(rest, p) {
			return true
		}
	}
	return false
}

// asksForStep reports whether a stack is of a call that asks for a step.
func asksForStep(stack []byte) bool {
	for _, call := range []string{"\ngithub.com/stepwell/stepwell.Step[", "\ngithub.com/stepwell/stepwell.Do(", "\ngithub.com/stepwell/stepwell.(*RegisteredStep["} {
		if bytes.Contains(stack, []byte(call)) {
			return true
		}
	}
	return false
}
