// Queues runs the same messages through Stepwell's queue and its peers, in turns on one machine with durability on: single sends, single jobs,
// and how long one takes from its send to its handler while nothing else goes on.
//
//	go -C bench run ./queues -rounds 3 -time 3s
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/stepwell/stepwell/internal/pgtest"
)

// settings are what the command line says.
type settings struct {
	rounds, clients, jobs int
	sends                 time.Duration
	only                  string
}

// figures are of one round of one queue.
type figures struct{ sent, worked, latency, late float64 }

func main() {
	var s settings
	flag.IntVar(&s.rounds, "rounds", 3, "how often each takes its turn; the figures are medians")
	flag.IntVar(&s.clients, "clients", 32, "how many send, and how many handlers there are")
	flag.IntVar(&s.jobs, "jobs", 20_000, "how many jobs wait when the handlers begin")
	flag.DurationVar(&s.sends, "time", 3*time.Second, "for how long is sent")
	flag.StringVar(&s.only, "only", "", "these queues alone, with commas between")
	depth := flag.Int("depth", 0, "in the place of all that: how Stepwell's receivers fare with so many waiting, beside 1,000")
	flag.Parse()
	ctx := context.Background()
	err := error(nil)
	if *depth > 0 {
		err = compareDepths(ctx, *depth)
	} else {
		err = compare(ctx, s)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "queues:", err)
		os.Exit(1)
	}
}

func compare(ctx context.Context, s settings) error {
	all := map[string][]figures{}
	for round := range s.rounds {
		for i := range makers {
			m := makers[(i+round)%len(makers)]
			if s.only != "" && !slices.Contains(strings.Split(s.only, ","), m.name) {
				continue
			}
			f, err := turn(ctx, m, s)
			if err != nil {
				return fmt.Errorf("%s: %w", m.name, err)
			}
			all[m.name] = append(all[m.name], f)
			fmt.Fprintf(os.Stderr, "round %d  %-18s  %8.0f sends/s  %8.0f jobs/s  %.2f ms, p99 %.2f ms\n", round+1, m.name, f.sent, f.worked, f.latency, f.late)
		}
	}
	return show(all)
}

// turn measures a queue that is made anew.
func turn(ctx context.Context, m maker, s settings) (f figures, err error) {
	st, err := newStore(m.postgres)
	if err != nil {
		return f, err
	}
	defer st.remove()
	q, err := m.open(ctx, st, s.clients)
	if err != nil {
		return f, err
	}
	defer func() {
		if bad := q.close(ctx); err == nil {
			err = bad
		}
	}()
	return measure(ctx, q, s)
}

// store is where a queue keeps its messages, and is empty at first.
type store struct {
	url string // of a PostgreSQL database
	dir string
	pg  *pgtest.Cluster
}

func newStore(postgres bool) (st store, err error) {
	if st.dir, err = os.MkdirTemp("", "queues"); err != nil || !postgres {
		return st, err
	}
	if st.pg, err = pgtest.Start(pgtest.Config{}); err == nil {
		st.url, err = st.pg.Create(context.Background(), "queues")
	}
	return st, err
}

func (st *store) remove() {
	if st.pg != nil {
		_ = st.pg.Close()
	}
	_ = os.RemoveAll(st.dir)
}

// show writes a table of medians, and of ratios to Stepwell on the same store.
func show(all map[string][]figures) error {
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "queue\tsends/s\tStepwell is\tjobs/s\tStepwell is\tsend to handler p50, p99 ms\t")
	var own figures
	for _, m := range makers {
		if len(all[m.name]) == 0 {
			continue
		}
		f := medians(all[m.name])
		if strings.HasPrefix(m.name, "stepwell") {
			own = f
			fmt.Fprintf(w, "%s\t%.0f\t\t%.0f\t\t%.2f, %.2f\t\n", m.name, f.sent, f.worked, f.latency, f.late)
			continue
		}
		fmt.Fprintf(w, "%s\t%.0f\t%.2g ×\t%.0f\t%.2g ×\t%.2f, %.2f\t\n", m.name, f.sent, own.sent/f.sent, f.worked, own.worked/f.worked, f.latency, f.late)
	}
	return w.Flush()
}

func medians(all []figures) figures {
	of := func(get func(figures) float64) float64 {
		var list []float64
		for _, f := range all {
			list = append(list, get(f))
		}
		return median(list)
	}
	return figures{
		of(func(f figures) float64 { return f.sent }), of(func(f figures) float64 { return f.worked }),
		of(func(f figures) float64 { return f.latency }), of(func(f figures) float64 { return f.late }),
	}
}

func median(list []float64) float64 {
	slices.Sort(list)
	return list[len(list)/2]
}
