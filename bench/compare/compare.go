// Package compare is the bench's program: it runs workloads on engines, each measurement in a process of its own and in turn, and writes JSON
// lines and a table with ratios against Stepwell.
package compare

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/stepwell/stepwell/bench/engine"
	"github.com/stepwell/stepwell/bench/floor"
	"github.com/stepwell/stepwell/bench/measure"
	"github.com/stepwell/stepwell/bench/work"
)

// options are the flags.
type options struct {
	engines, stores, work []string
	clients               []int
	quick, json           bool
	rounds                int
	time, limit           time.Duration
	scale                 float64
	dir, write, from      string
}

// Main runs the program and returns its exit code. A test binary that calls it must call [Child] first.
func Main(ctx context.Context, args []string, stdout, stderr io.Writer, makers []*engine.Maker) int {
	var o options
	var lists struct{ engines, stores, work, clients, one string }
	f := flag.NewFlagSet("bench", flag.ContinueOnError)
	f.SetOutput(stderr)
	f.StringVar(&lists.engines, "engines", "", "engines to measure, `a,b`; floor is one of them (default all; with -quick stepwell, dbos and floor)")
	f.StringVar(&lists.stores, "stores", "", "stores to measure on: sqlite, sqlite-normal, postgres, own, disk (default all)")
	f.StringVar(&lists.work, "work", "", "workloads and floors: serial10, long/1000, replay* (default all; -list tells)")
	f.StringVar(&lists.clients, "clients", "1,32,256", "how many clients serial10, start and the appends are tried with; the best is compared")
	f.BoolVar(&o.quick, "quick", false, "one round of a second each and smaller sizes: two minutes, and only orders of magnitude")
	f.BoolVar(&o.json, "json", false, "a JSON line for each measurement on standard output, and the table on standard error")
	f.IntVar(&o.rounds, "rounds", 3, "how often each measurement is repeated; the median is compared")
	f.DurationVar(&o.time, "time", 5*time.Second, "how long a repeated workload is measured")
	f.DurationVar(&o.limit, "limit", 3*time.Minute, "how long one measurement may take in all")
	f.Float64Var(&o.scale, "scale", 1, "multiplies sizes: 0.1 for a tenth of the steps, sleepers, children")
	f.StringVar(&o.dir, "dir", "", "a `folder` on the disk to measure, for files and PostgreSQL's cluster (default the system's for temporary files)")
	f.StringVar(&o.write, "write", "", "write the table and how it was measured into a `folder`, as performance.tsv and performance-settings.tsv")
	f.StringVar(&o.from, "from", "", "measure nothing: read JSON lines that -json wrote from a `file`")
	list := f.Bool("list", false, "list engines, workloads and floors")
	f.StringVar(&lists.one, "one", "", "") // a child's order
	f.Usage = func() { usage(f, stderr) }
	if err := f.Parse(args); err != nil {
		return 2
	}
	if lists.one != "" {
		if err := obey(ctx, lists.one, makers); err != nil {
			fmt.Fprintln(stderr, "bench:", err)
			return 1
		}
		return 0
	}
	if *list {
		describe(stdout, makers)
		return 0
	}
	err := o.read(f, lists.engines, lists.stores, lists.work, lists.clients)
	if err == nil {
		err = run(ctx, &o, stdout, stderr, makers)
	}
	if err != nil {
		fmt.Fprintln(stderr, "bench:", err)
		return 1
	}
	return 0
}

// Child reports whether this process is a measurement's: a test binary hands its arguments to [Main] then, before it parses flags.
func Child() bool { return os.Getenv(childEnv) != "" }

func usage(f *flag.FlagSet, w io.Writer) {
	fmt.Fprintln(w, "Bench runs the same workloads on Stepwell and its peers, in turn, with durability on.\n\nUsage: bench [flags]")
	f.VisitAll(func(f *flag.Flag) {
		if f.Usage != "" {
			name, text := flag.UnquoteUsage(f)
			fmt.Fprintf(w, "  -%s %s\n      %s\n", f.Name, name, text)
		}
	})
}

func describe(w io.Writer, makers []*engine.Maker) {
	for _, m := range makers {
		fmt.Fprintf(w, "engine %s %s on %v\n", m.Name, m.Version, m.Stores)
	}
	for _, l := range work.All {
		fmt.Fprintf(w, "work %s: %s\n", l.Name, l.What)
	}
	for _, p := range floors {
		fmt.Fprintf(w, "floor %s on %v\n", p, floor.Stores(p))
	}
}

// read takes the lists apart and sets what -quick means.
func (o *options) read(f *flag.FlagSet, engines, stores, works, clients string) error {
	given := map[string]bool{}
	f.Visit(func(f *flag.Flag) { given[f.Name] = true })
	if o.quick {
		if !given["rounds"] {
			o.rounds = 1
		}
		if !given["time"] {
			o.time = time.Second
		}
		if !given["limit"] {
			o.limit = 30 * time.Second
		}
		if !given["clients"] {
			clients = "64"
		}
		if !given["work"] {
			works = quick
		}
		if !given["engines"] {
			engines = "stepwell,dbos," + floor.Name
		}
	}
	o.engines, o.stores, o.work = split(engines), split(stores), split(works)
	for _, c := range split(clients) {
		n, err := strconv.Atoi(c)
		if err != nil || n < 1 {
			return fmt.Errorf("-clients %q: want numbers above 0", clients)
		}
		o.clients = append(o.clients, n)
	}
	if o.rounds < 1 || o.time <= 0 || o.limit <= 0 || o.scale <= 0 || len(o.clients) == 0 {
		return errors.New("-rounds, -time, -limit, -scale and -clients must be above 0")
	}
	return nil
}

func split(list string) []string {
	return slices.DeleteFunc(strings.Split(list, ","), func(s string) bool { return s == "" })
}

// run measures, or reads what was measured, and writes the table.
func run(ctx context.Context, o *options, stdout, stderr io.Writer, makers []*engine.Maker) error {
	about := stderr
	if !o.json {
		about = stdout
	}
	var rep report
	if o.from != "" {
		if err := rep.load(o.from); err != nil {
			return err
		}
	} else {
		var lines *json.Encoder
		if o.json {
			lines = json.NewEncoder(stdout)
		}
		m := &measurer{options: o, makers: makers, lines: lines, progress: stderr}
		if err := m.measure(ctx, &rep); err != nil {
			return err
		}
	}
	fmt.Fprintln(about, rep.text())
	if o.write != "" {
		return rep.write(o.write)
	}
	return nil
}

// median is the result in the middle of several rounds by the workload's figure, with the spread; rounds that failed are left out if others
// did not.
func median(all []measure.Result, figure func(*measure.Result) float64) measure.Result {
	good := slices.DeleteFunc(slices.Clone(all), func(r measure.Result) bool { return r.Note != "" })
	if len(good) == 0 {
		return all[0]
	}
	slices.SortFunc(good, func(a, b measure.Result) int {
		switch x, y := figure(&a), figure(&b); {
		case x < y:
			return -1
		case x > y:
			return 1
		}
		return 0
	})
	r := good[(len(good)-1)/2]
	if len(good) > 1 {
		r.Spread = number(figure(&good[0])) + "–" + number(figure(&good[len(good)-1]))
	}
	if bad := len(all) - len(good); bad > 0 {
		r.Spread += fmt.Sprintf(" (%d of %d rounds failed)", bad, len(all))
	}
	return r
}
