package compare

// This file says what is measured, and in which order.

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/stepwell/stepwell/bench/engine"
	"github.com/stepwell/stepwell/bench/floor"
	"github.com/stepwell/stepwell/bench/work"
)

var floors = []string{floor.FsyncGrowing, floor.FsyncPreallocated, floor.Pgbench, floor.Append, floor.AppendIndexed}

// job is one measurement.
type job struct {
	engine string
	store  engine.Kind
	point  work.Point
}

// sizes are those of workloads that have some.
var sizes = map[string][]int{
	"long": {1000, 5000, 20_000}, "fanout": {100, 1000}, "sleepers": {10_000, 100_000}, "children": {1000}, "replay": {10_000}, "replay-cold": {1000},
}

// quickSizes are those of -quick.
var quickSizes = map[string]int{"long": 1000, "fanout": 100, "sleepers": 2000, "children": 100}

// together are workloads that are tried with several numbers of clients.
var together = []string{"serial10", "start", floor.Append, floor.AppendIndexed, floor.Pgbench}

const (
	many  = 32 // clients of a mixed workload
	least = 20 // of any size, however small the scale
)

// quick are the workloads and floors of -quick, unless it is told others.
const quick = "fsync-preallocated,append,serial10,latency,long,fanout,start,sleepers,signal,children,mixed"

// points are what is measured of a workload or a floor.
func (o *options) points(name string) (all []work.Point) {
	p := work.Point{Work: name, Concurrency: 1, Time: o.time}
	if name == "mixed" {
		p.Concurrency = many
	}
	ns := sizes[name]
	if len(ns) == 0 {
		ns = []int{0}
	}
	if n, ok := quickSizes[name]; ok && o.quick {
		ns = []int{n}
	}
	clients := []int{p.Concurrency}
	if slices.Contains(together, name) {
		clients = o.clients
	}
	for _, n := range ns {
		if n > 0 {
			n = max(least, int(float64(n)*o.scale))
		}
		for _, c := range clients {
			p.N, p.Concurrency = n, c
			if o.wants(p) && !slices.Contains(all, p) {
				all = append(all, p)
			}
		}
	}
	return all
}

// wants reports whether -work names a point: by its name, with its size or without it, or by the beginning of its name and a *.
func (o *options) wants(p work.Point) bool {
	return len(o.work) == 0 || slices.ContainsFunc(o.work, func(w string) bool {
		beginning, open := strings.CutSuffix(w, "*")
		return p.Work == w || p.String() == w || open && strings.HasPrefix(p.String(), beginning)
	})
}

// plan is what one round measures: for each point and store all engines in turn.
func (o *options) plan(makers []*engine.Maker) (all []job, err error) {
	known := []string{floor.Name}
	for _, m := range makers {
		known = append(known, m.Name)
	}
	for _, e := range o.engines {
		if !slices.Contains(known, e) {
			return nil, fmt.Errorf("no engine is called %q: there are %s", e, strings.Join(known, ", "))
		}
	}
	if o.engine(floor.Name) {
		for _, name := range floors {
			for _, p := range o.points(name) {
				for _, s := range floor.Stores(name) {
					if o.store(s) {
						all = append(all, job{floor.Name, s, p})
					}
				}
			}
		}
	}
	for _, w := range work.All {
		for _, p := range o.points(w.Name) {
			for _, s := range []engine.Kind{engine.SQLite, engine.SQLiteNormal, engine.Postgres, engine.Own} {
				for _, m := range makers {
					if o.engine(m.Name) && o.store(s) && slices.Contains(m.Stores, s) {
						all = append(all, job{m.Name, s, p})
					}
				}
			}
		}
	}
	if len(all) == 0 {
		return nil, errors.New("nothing to measure: -engines, -stores and -work leave nothing over; -list tells what there is")
	}
	return all, nil
}

func (o *options) engine(name string) bool {
	return len(o.engines) == 0 || slices.Contains(o.engines, name)
}

func (o *options) store(k engine.Kind) bool {
	return len(o.stores) == 0 || slices.Contains(o.stores, string(k)) || k == floor.Disk
}

// turned are the jobs of a round: where several engines do the same, another one begins in each round.
func turned(all []job, round int) (out []job) {
	for len(all) > 0 {
		n := 1
		for n < len(all) && all[n].store == all[0].store && all[n].point == all[0].point {
			n++
		}
		first := round % n
		out = append(append(out, all[first:n]...), all[:first]...)
		all = all[n:]
	}
	return out
}
