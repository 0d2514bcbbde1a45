package codec

// This file reads where an error arose from the stack that it carries, as the error types of several libraries do. They are recognised by their methods alone, and
// only when a step has failed: nothing of theirs is linked.

import (
	"fmt"
	"reflect"
	"runtime"
	"strings"
)

// stackOf is the first place of the stack that an error carries, as file:line; "": it carries none. A stack is what a method StackTrace or Callers returns: a slice
// of program counters, be their type a uintptr or named after one, as that of github.com/pkg/errors.
func stackOf(err error) string {
	v := reflect.ValueOf(err)
	if !v.IsValid() {
		return ""
	}
	for _, name := range []string{"StackTrace", "Callers"} {
		m := v.MethodByName(name)
		if !m.IsValid() || m.Type().NumIn() != 0 || m.Type().NumOut() != 1 {
			continue
		}
		out := m.Type().Out(0)
		if out.Kind() != reflect.Slice || out.Elem().Kind() != reflect.Uintptr {
			continue
		}
		stack := m.Call(nil)[0]
		pcs := make([]uintptr, min(stack.Len(), mostFrames))
		for i := range pcs {
			pcs[i] = uintptr(stack.Index(i).Uint())
		}
		if at := firstPlace(pcs); at != "" {
			return at
		}
	}
	return ""
}

const mostFrames = 32

// firstPlace is the first that is not the runtime's.
func firstPlace(pcs []uintptr) string {
	if len(pcs) == 0 {
		return ""
	}
	frames := runtime.CallersFrames(pcs)
	for {
		f, more := frames.Next()
		if f.File != "" && !strings.HasPrefix(f.Function, "runtime.") {
			return fmt.Sprintf("%s:%d", f.File[strings.LastIndexByte(f.File, '/')+1:], f.Line)
		}
		if !more {
			return ""
		}
	}
}
