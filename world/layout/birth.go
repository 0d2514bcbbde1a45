package layout

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/stepwell/stepwell/world"
)

// The birth of a run in the head of its first row. Every run has one, and a run that sleeps has little else: so it is short, and written and read by
// hand. An object of these members, all but "w" left out where they are zero:
//
//	w  workflow                     nb notBefore, µs since 1970
//	v  version                      pr parent's run
//	s  seed                         ps parent's step
//	i  idempotency key              pd detached: 1
//	p  priority; left out where 1   or origin's run
//	r  retention, s; or rn, ns      os origin's seq
//	t  timeout, s; or tn, ns        d  deployment
//	a  start TTL, s; or an, ns
//	                                x  context {key: value}
//	                                l  places: {"p": [as encoding/json has them]}
//	                                g  gather, as encoding/json has it
//
// Attributes are beside it, under "at".

func (w *rowWriter) writeBirth(b *world.Birth) error {
	w.head = appendString(append(w.head, `,"b":{"w":`...), b.Workflow)
	w.number(`,"v":`, int64(b.Version))
	if b.Seed != 0 {
		w.head = strconv.AppendUint(append(w.head, `,"s":`...), b.Seed, 10)
	}
	w.text(`,"i":`, b.Key)
	if b.Priority != 1 {
		w.head = strconv.AppendInt(append(w.head, `,"p":`...), int64(b.Priority), 10)
	}
	w.duration(`,"r`, b.Retention)
	w.duration(`,"t`, b.Timeout)
	w.duration(`,"a`, b.StartTTL)
	w.time(`,"nb":`, b.NotBefore)
	if p := b.Parent; p != nil {
		w.head = appendString(append(w.head, `,"pr":`...), p.Run)
		w.text(`,"ps":`, p.Step)
		w.flag(`,"pd":1`, p.Detached)
	}
	if o := b.Origin; o != nil {
		w.head = appendString(append(w.head, `,"or":`...), o.Run)
		w.number(`,"os":`, o.Seq)
	}
	w.text(`,"d":`, b.Deployment)
	if len(b.Context) > 0 {
		w.head = append(w.head, `,"x":`...)
		sep := byte('{')
		for _, key := range slices.Sorted(maps.Keys(b.Context)) {
			w.head = append(appendString(append(w.head, sep), key), ':')
			w.head = appendString(w.head, b.Context[key])
			sep = ','
		}
		w.head = append(w.head, '}')
	}
	if len(b.Places) > 0 {
		if err := w.object(`,"l":`, placesOf{b.Places}); err != nil {
			return err
		}
	}
	if b.Gather != nil {
		if err := w.object(`,"g":`, b.Gather); err != nil {
			return err
		}
	}
	w.head = append(w.head, '}')
	return nil
}

// placesOf is how the places of a birth are kept.
type placesOf struct {
	Places []world.Place `json:"p"`
}

// duration writes whole seconds as such, under the key, and anything else in nanoseconds, under the key and "n".
func (w *rowWriter) duration(key string, d time.Duration) {
	if d%time.Second == 0 {
		w.number(key+`":`, int64(d/time.Second))
	} else {
		w.number(key+`n":`, int64(d))
	}
}

// readBirth reads a birth.
func (r *rowReader) readBirth(to **world.Birth) error {
	b := &world.Birth{Priority: 1}
	*to = b
	return r.object(func(key string) error {
		switch key {
		case "w":
			return r.textTo(&b.Workflow)
		case "v":
			return r.int(&b.Version)
		case "s":
			return r.unsigned(&b.Seed)
		case "i":
			return r.textTo(&b.Key)
		case "p":
			return r.int(&b.Priority)
		case "r":
			return r.duration(&b.Retention, time.Second)
		case "rn":
			return r.duration(&b.Retention, 1)
		case "t":
			return r.duration(&b.Timeout, time.Second)
		case "tn":
			return r.duration(&b.Timeout, 1)
		case "a":
			return r.duration(&b.StartTTL, time.Second)
		case "an":
			return r.duration(&b.StartTTL, 1)
		case "nb":
			return r.time(&b.NotBefore)
		case "pr":
			b.Parent = &world.Parent{}
			return r.textTo(&b.Parent.Run)
		case "or":
			b.Origin = &world.Origin{}
			return r.textTo(&b.Origin.Run)
		case "d":
			return r.textTo(&b.Deployment)
		case "x":
			return r.context(b)
		case "l":
			var p placesOf
			err := r.json(&p)
			b.Places = p.Places
			return err
		case "g":
			return r.json(&b.Gather)
		}
		return r.relative(b, key)
	})
}

// relative reads what follows the run of a parent or an origin.
func (r *rowReader) relative(b *world.Birth, key string) error {
	switch {
	case key == "ps" && b.Parent != nil:
		return r.textTo(&b.Parent.Step)
	case key == "pd" && b.Parent != nil:
		return r.flag(&b.Parent.Detached)
	case key == "os" && b.Origin != nil:
		return r.number(&b.Origin.Seq)
	}
	return fmt.Errorf("%w: member %q of a start", errRow, key)
}

func (r *rowReader) context(b *world.Birth) error {
	b.Context = map[string]string{}
	return r.object(func(key string) error {
		value, err := r.text()
		b.Context[key] = value
		return err
	})
}

func (r *rowReader) duration(d *time.Duration, unit time.Duration) error {
	var n int64
	if err := r.number(&n); err != nil {
		return err
	}
	if *d = time.Duration(n) * unit; *d/unit != time.Duration(n) {
		return fmt.Errorf("%w: a duration of %d", errRow, n)
	}
	return nil
}

func (r *rowReader) unsigned(n *uint64) error {
	i := r.i
	for r.i < len(r.s) && r.s[r.i] >= '0' && r.s[r.i] <= '9' {
		r.i++
	}
	v, err := strconv.ParseUint(r.s[i:r.i], 10, 64)
	if err != nil {
		return fmt.Errorf("%w: number at byte %d", errRow, i)
	}
	*n = v
	return nil
}
