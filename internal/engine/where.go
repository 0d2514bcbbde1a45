package engine

// This file tells where a step failed, as file:line. It costs nothing until one does.

import (
	"bytes"
	"context"
	"fmt"
	"reflect"
	"runtime"
	"strings"
)

// FailedIn notes which of the author's functions a step's body failed in: the first that is told counts. The context is the body's.
func FailedIn(ctx context.Context, fn any) {
	if p, ok := ctx.Value(infoKey{}).(*seat); ok && p.failedIn == "" {
		if f := runtime.FuncForPC(reflect.ValueOf(fn).Pointer()); f != nil {
			file, line := f.FileLine(f.Entry())
			p.failedIn = position(file, line)
		}
	}
}

// Source is the file:line of a function, or "".
func Source(fn any) string {
	v := reflect.ValueOf(fn)
	if v.Kind() != reflect.Func || v.IsNil() {
		return ""
	}
	f := runtime.FuncForPC(v.Pointer())
	if f == nil {
		return ""
	}
	file, line := f.FileLine(f.Entry())
	return position(file, line)
}

// Caller is the place skip frames above the caller of the function that calls it, to be resolved by [Place].
func Caller(skip int) uintptr {
	var pcs [1]uintptr
	runtime.Callers(skip+3, pcs[:])
	return pcs[0]
}

// Place is the file:line of a place, or "".
func Place(pc uintptr) string {
	if pc == 0 {
		return ""
	}
	f, _ := runtime.CallersFrames([]uintptr{pc}).Next()
	return position(f.File, f.Line)
}

func position(file string, line int) string {
	if file == "" {
		return ""
	}
	return fmt.Sprintf("%s:%d", file[strings.LastIndexByte(file, '/')+1:], line)
}

// panicStack cuts the stack of a goroutine that panics to the part that is the author's: from where it panicked to where the engine had called. where is
// its first place.
func panicStack(stack []byte) (own []byte, where string) {
	if i := bytes.LastIndex(stack, []byte("\npanic(")); i >= 0 {
		stack = stack[i+1:]
		stack = afterFrame(stack)
	} else if i := bytes.Index(stack, []byte("\nruntime.Goexit(")); i >= 0 {
		stack = afterFrame(stack[i+1:])
	}
	for bytes.HasPrefix(stack, []byte("runtime.")) { // of a nil pointer, an index
		stack = afterFrame(stack)
	}
	if i := bytes.Index(stack, []byte("\ngithub.com/stepwell/stepwell/internal/engine.(*call).body(")); i >= 0 {
		stack = stack[:i+1]
	}
	if _, rest, ok := bytes.Cut(stack, []byte("\n\t")); ok {
		place, _, _ := bytes.Cut(rest, []byte("\n"))
		place, _, _ = bytes.Cut(place, []byte(" +0x"))
		where = string(place[bytes.LastIndexByte(place, '/')+1:])
	}
	return stack, where
}

// afterFrame is a stack without its first frame, which has two lines.
func afterFrame(stack []byte) []byte {
	for range 2 {
		_, rest, ok := bytes.Cut(stack, []byte("\n"))
		if !ok {
			return stack
		}
		stack = rest
	}
	return stack
}
