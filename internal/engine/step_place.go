package engine

// This file tells where a step failed, as file:line. It costs nothing until one does.

import (
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
