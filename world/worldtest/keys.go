// Encryption keys: which key an ID stands for.

package worldtest

import (
	"strings"
	"sync"

	"github.com/stepwell/stepwell/world"
)

var keys = []check{
	{"the ID of a key stands for one key", "who binds it first stands, and everybody is told", func(r *rig) {
		bind := func(id, print string) string {
			bound, err := r.w.BindKey(r.ctx, id, []byte(print))
			r.must(err, "bind "+id)
			return string(bound)
		}
		r.same(bind("k1", ""), "", "a key that nobody has bound")
		r.same(bind("k1", "one"), "one", "the first")
		r.same(bind("k1", "two"), "one", "another key under the same ID")
		r.same(bind("k1", ""), "one", "asked for")
		r.same(bind("k2", ""), "", "another ID")
		var wg sync.WaitGroup
		got := make([]string, 4)
		for i := range got {
			wg.Go(func() { got[i] = bind("k3", string(rune('a'+i))) })
		}
		wg.Wait()
		for _, print := range got {
			r.same(print, bind("k3", ""), "what each of four who bind it at once is told")
		}
		for _, id := range []string{"", strings.Repeat("k", 65), "a\x00b"} {
			_, err := r.w.BindKey(r.ctx, id, []byte("one"))
			r.refused(err, world.ErrInvalid, "a bad ID")
		}
		_, err := r.w.BindKey(r.ctx, "k4", make([]byte, 65))
		r.refused(err, world.ErrInvalid, "a large fingerprint")
	}},
}
