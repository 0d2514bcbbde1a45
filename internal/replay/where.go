package replay

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
)

// callers notes where the running code was called from. Resolving it to a line is left to the rare reader.
func callers(skip int) []uintptr {
	var pcs [24]uintptr
	return slices.Clone(pcs[:runtime.Callers(skip, pcs[:])])
}

// where finds the first frame in the author's own code: outside of the packages that authors call through.
func where(pcs []uintptr) string {
	if len(pcs) == 0 {
		return ""
	}
	frames := runtime.CallersFrames(pcs)
	for {
		f, more := frames.Next()
		if f.Function != "" && !ours(f.Function) {
			return fmt.Sprintf("%s:%d", f.File[strings.LastIndexByte(f.File, '/')+1:], f.Line)
		}
		if !more {
			return ""
		}
	}
}

// ours reports whether a function is Stepwell's own or the coroutines'.
func ours(fn string) bool {
	if strings.HasPrefix(fn, "runtime.") || strings.HasPrefix(fn, "iter.") {
		return true
	}
	rest, ok := strings.CutPrefix(fn, "github.com/stepwell/stepwell")
	return ok && slices.ContainsFunc([]string{".", "/webhook.", "/queue.", "/topic.", "/internal/kit.", "/internal/replay."}, func(of string) bool {
		return strings.HasPrefix(rest, of)
	})
}

// CallOf says where the code of a machine waits for a step that it asked for, as file:line: as a
// rule in the call of the step. It is "" where the code does something else meanwhile. A coroutine
// that runs none of the author's code, as one of Map, waits where the one waits that began it. It is "" too of what
// Stepwell asks for in the author's place: see [Ctx.From].
// It is for the rare reader, and is called by whoever feeds the machine.
func CallOf(m *Machine, id string) string {
	op := m.open[id]
	if op == nil || m.failure != nil || op.scope.from != 0 {
		return ""
	}
	for _, c := range m.coros {
		if c.ended || !op.future.has(c) {
			continue
		}
		at := c.where()
		for ; at == "" && c.by != nil; at = c.where() {
			c = c.by
		}
		return at
	}
	return ""
}
