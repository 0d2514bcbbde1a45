// Package held has functions in fields, lists, maps, parameters and variables, and behind interfaces.
package held

import (
	"context"
	"math/rand"
	"time"

	"example.com/vet/held/box"
	"github.com/stepwell/stepwell"
)

type deps struct {
	now    func() time.Time
	draw   func(int) int
	fixed  func() int
	hooks  []func() int
	byName map[string]func() int
	inner  struct{ now func() time.Time }
	pair   [2]func() int
}

func newDeps() *deps {
	d := &deps{now: time.Now, draw: rand.Intn, fixed: one, hooks: []func() int{rand.Int}, byName: map[string]func() int{"a": rand.Int}}
	d.inner.now = time.Now
	d.pair[0] = rand.Int
	return d
}

func one() int { return 1 }

type named struct {
	do   func() time.Time
	name string
}

var list = []named{{time.Now, "x"}}

var (
	deep    = map[string]map[string]func() int{"a": {"b": rand.Int}}
	lists   = [][]func() int{{rand.Int}}
	literal = func() int { return rand.Int() }
	calm    = []func() int{one, func() int { return 2 }}
)

func fields(ctx stepwell.Context, d *deps) {
	d.now()          // want `time.Now, which now is set to, in workflow code`
	d.draw(3)        // want `rand.Intn, which draw is set to, in workflow code`
	d.hooks[0]()     // want `rand.Int, which hooks is set to`
	d.byName["a"]()  // want `rand.Int, which byName is set to`
	d.inner.now()    // want `time.Now, which now is set to`
	d.pair[0]()      // want `rand.Int, which pair is set to`
	list[0].do()     // want `time.Now, which do is set to`
	deep["a"]["b"]() // want `rand.Int, which deep is set to`
	lists[0][0]()    // want `rand.Int, which lists is set to`
	literal()        // want `literal comes to rand.Int`
	for _, h := range d.hooks {
		h() // want `rand.Int, which h is set to`
	}
	for _, n := range list {
		n.do() // want `time.Now, which do is set to`
	}
	if h, ok := d.byName["x"]; ok {
		h() // want `rand.Int, which h is set to`
	}
	m := map[string]func() int{}
	m["a"] = rand.Int
	m["a"]() // want `rand.Int, which m is set to`
	fs := append([]func() int(nil), func() int { return rand.Int() })
	fs[0]()   // want `fs comes to rand.Int`
	d.fixed() // near: random
	_ = d.now
	calm[0]()
	_ = stepwell.Do(ctx, "x", func(context.Context) error {
		d.now()
		deep["a"]["b"]()
		return nil
	})
}

func call(fn func() int) int { return fn() }

func callAll(all ...func() int) (n int) {
	for _, fn := range all {
		n += fn()
	}
	return n
}

func generic[T any](fn func() T) T { return fn() }

func twice(fn func() int) func() int { return func() int { return fn() + fn() } }

func two() (func() int, error) { return rand.Int, nil }

type handler func() int

func (h handler) call() int { return h() } // what h is counts where it is called

func given(ctx stepwell.Context) {
	call(rand.Int)           // want `rand.Int in workflow code`
	callAll(one, rand.Int)   // want `rand.Int in workflow code`
	generic(rand.Int)        // want `rand.Int in workflow code`
	twice(rand.Int)()        // want `rand.Int in workflow code`
	handler(rand.Int).call() // want `handler.call comes to rand.Int, which h is set to`
	f, _ := two()            // want `held.two comes to rand.Int`
	f()
	func(f func() int) { f() }(rand.Int) // want `rand.Int in workflow code`
	call(one)
	callAll(one, func() int { return 3 })
	twice(one)()
}

func tests() { call(rand.Int) } // it is no workflow code

func far(ctx stepwell.Context, c *box.Clock, s box.Source) {
	box.Now()           // want `Now comes to time.Now \(box/box.go:\d+\)`
	c.Now()             // want `Now comes to time.Now \(box/box.go:\d+\)`
	c.Tell()            // want `Clock.Tell comes to time.Now, which Now is set to`
	box.Table["host"]() // want `Table comes to os.Hostname`
	box.Call(rand.Int)  // want `rand.Int in workflow code`
	box.Pick()()        // want `box.Pick comes to rand.Intn`
	s.Draw()            // want `Source.Draw comes to rand.Intn`
	box.Zero()
	_ = box.Now
}
