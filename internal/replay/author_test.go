package replay

import (
	"strings"
	"testing"
)

func TestAuthorsStack(t *testing.T) {
	const panics = `goroutine 18 [running]:
runtime/debug.Stack()
	/usr/local/go/src/runtime/debug/stack.go:26 +0x5e
github.com/stepwell/stepwell/internal/replay.(*coro).run.func1()
	/src/internal/replay/coro.go:84 +0x9f
panic({0x1?, 0x2?})
	/usr/local/go/src/runtime/panic.go:860 +0x13a
runtime.panicmem(...)
	/usr/local/go/src/runtime/panic.go:336
example.com/app/orders.(*Book).Ship(0x0, {0xc000, 0x4})
	/home/ann/app/orders/book.go:41 +0x1d
example.com/app/orders.init.func1({0x1, 0x2})
	/home/ann/app/orders/order.go:17 +0x44
github.com/stepwell/stepwell.Define[...].func1()
	/src/workflow.go:120 +0x33
github.com/stepwell/stepwell/internal/replay.(*coro).run(0xc0)
	/src/internal/replay/coro.go:90 +0x22
created by github.com/stepwell/stepwell/internal/engine.(*session).go in goroutine 7
	/src/internal/engine/session.go:10 +0x11
`
	text, where := AuthorsStack([]byte(panics))
	want := "  /home/ann/app/orders/book.go:41  orders.(*Book).Ship\n  /home/ann/app/orders/order.go:17  orders.init.func1"
	if text != want || where != "book.go:41" {
		t.Errorf("got %q at %q\nwant %q", text, where, want)
	}
	ours := strings.ReplaceAll(panics, "example.com/app/orders", "github.com/stepwell/stepwell/internal/engine")
	if text, where := AuthorsStack([]byte(ours)); where != "" || strings.Contains(text, "\t") || !strings.Contains(text, "book.go:41") {
		t.Errorf("a stack of our own: %q at %q", text, where)
	}
	for _, odd := range []string{"", "\n", "goroutine 1 [running]:", "goroutine 1 [running]:\nmain.main()", "panic("} {
		if text, where := AuthorsStack([]byte(odd)); where != "" || len(text) > len(odd) {
			t.Errorf("of %q: %q at %q", odd, text, where)
		}
	}
}
