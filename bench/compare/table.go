package compare

// This file makes a table of results: for people, and as the data of docs/performance.md.

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/stepwell/stepwell/bench/engine"
	"github.com/stepwell/stepwell/bench/floor"
	"github.com/stepwell/stepwell/bench/measure"
	"github.com/stepwell/stepwell/bench/work"
)

// report is all that was measured.
type report struct {
	About   *about
	Results []measure.Result
}

// load reads what -json wrote.
func (r *report) load(path string) error {
	b, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	in := json.NewDecoder(bytes.NewReader(b))
	r.About = new(about)
	if err := in.Decode(r.About); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	for {
		var one measure.Result
		switch err := in.Decode(&one); {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return fmt.Errorf("%s: %w", path, err)
		}
		r.Results = append(r.Results, one)
	}
}

// figure is what results of a workload or floor are compared by.
func figure(name string) (of func(*measure.Result) float64, less bool, unit string) {
	if w, err := work.Find(name); err == nil {
		return w.Figure, w.Less, w.Unit
	}
	unit = map[string]string{floor.Append: "rows/s", floor.AppendIndexed: "rows/s", floor.Pgbench: "commits/s"}[name]
	return func(r *measure.Result) float64 { return r.RunsPerS }, false, cmp.Or(unit, "syncs/s")
}

// what names that which is compared: a workload of a size, or a floor.
func what(r *measure.Result) string { return work.Point{Work: r.Work, N: r.N}.String() }

// row is a key of the table.
type row struct{ what, store, engine string }

// best are the medians over the rounds, and of those that differ in their clients alone the best.
func (r *report) best() (map[row]measure.Result, []string) {
	rounds := map[row]map[int][]measure.Result{}
	var order []string
	for _, one := range r.Results {
		k := row{what(&one), one.Store, one.Engine}
		if rounds[k] == nil {
			rounds[k] = map[int][]measure.Result{}
		}
		rounds[k][one.Concurrency] = append(rounds[k][one.Concurrency], one)
		if !slices.Contains(order, k.what) {
			order = append(order, k.what)
		}
	}
	all := map[row]measure.Result{}
	for k, by := range rounds {
		of, less, _ := figure(anyOf(by).Work)
		for _, clients := range slices.Sorted(maps.Keys(by)) {
			m := median(by[clients], of)
			had, ok := all[k]
			if !ok || had.Note != "" || m.Note == "" && (of(&m) < of(&had)) == less {
				all[k] = m
			}
		}
	}
	return all, order
}

func anyOf(by map[int][]measure.Result) *measure.Result {
	for _, all := range by {
		return &all[0]
	}
	return nil
}

// base is the store on which Stepwell is compared with an engine on another one.
func base(store string) string {
	if k := engine.Kind(store); k == engine.SQLiteNormal || k == engine.Own {
		return string(engine.SQLite)
	}
	return store
}

var head = []string{"workload", "store", "engine", "figure", "Stepwell is", "clients", "p50, p99 ms", "commits/step", "CPU s/1k steps", "bytes/step", "MiB", "besides"}

// settings are what was measured, where and how, by what each is about.
func (r *report) settings() [][]string {
	a := r.About
	all := [][]string{{"measured", fmt.Sprintf("%s at commit %s. %s; disk: %s; %s. Load before: %s. %s.", a.Date, a.Commit, a.Machine, a.Disk, a.Go, a.Load, a.Options)}}
	if a.Postgres != "" {
		all = append(all, []string{"PostgreSQL", a.Postgres + "."})
	}
	for _, name := range slices.Sorted(maps.Keys(a.Engines)) {
		all = append(all, []string{name + " " + a.Engines[name], a.Settings[name] + "."})
	}
	var absent []string
	best, order := r.best()
	for _, k := range sorted(best, order) {
		if one := best[k]; one.Note == work.ErrNotOffered.Error() {
			absent = append(absent, fmt.Sprintf("%s by %s on %s", k.what, k.engine, k.store))
		}
	}
	if len(absent) > 0 {
		all = append(all, []string{"not offered, or not measured", strings.Join(absent, ", ") + "."})
	}
	return all
}

// figures are the rows of the table.
func (r *report) figures() (all [][]string) {
	best, order := r.best()
	for _, k := range sorted(best, order) {
		if one := best[k]; one.Note != work.ErrNotOffered.Error() {
			mine, compared := best[row{k.what, base(k.store), "stepwell"}]
			all = append(all, r.line(k, &one, &mine, compared && mine.Note == "", best))
		}
	}
	return all
}

func sorted(best map[row]measure.Result, order []string) []row {
	return slices.SortedFunc(maps.Keys(best), func(x, y row) int {
		return slices.Compare([]int{slices.Index(order, x.what), place(stores, x.store), place(first, x.engine)}, []int{slices.Index(order, y.what), place(stores, y.store), place(first, y.engine)})
	})
}

// text is the whole report.
func (r *report) text() string {
	var b strings.Builder
	for _, s := range r.settings() {
		b.WriteString(s[0] + ": " + s[1] + "\n")
	}
	b.WriteString("\n")
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	for _, cells := range append([][]string{head}, r.figures()...) {
		fmt.Fprintln(w, strings.Join(cells, "\t"))
	}
	_ = w.Flush() // into memory
	return b.String()
}

// write puts the data of the page into a folder: the table, and how it was measured.
func (r *report) write(folder string) error {
	tsv := func(name string, rows [][]string) error {
		var b strings.Builder
		for _, cells := range rows {
			b.WriteString(strings.Join(cells, "\t") + "\n")
		}
		return os.WriteFile(filepath.Join(folder, name), []byte(b.String()), 0o644)
	}
	return errors.Join(tsv("performance.tsv", append([][]string{head}, r.figures()...)),
		tsv("performance-settings.tsv", append([][]string{{"what", "how"}}, r.settings()...)))
}

var (
	stores = []string{string(floor.Disk), string(engine.SQLite), string(engine.SQLiteNormal), string(engine.Postgres), string(engine.Own)}
	first  = []string{floor.Name, "stepwell", "dbos", "goworkflows", "durabletask", "temporal", "restate", "river"}
)

// place is where something stands in a list; what is not in it comes last.
func place(list []string, s string) int {
	if i := slices.Index(list, s); i >= 0 {
		return i
	}
	return len(list)
}

func (r *report) line(k row, one, mine *measure.Result, compared bool, best map[row]measure.Result) []string {
	of, less, unit := figure(one.Work)
	if one.Note != "" {
		return append([]string{k.what, k.store, k.engine, strings.ReplaceAll(cut(one.Note), "\t", " ")}, make([]string, len(head)-4)...)
	}
	ratio := ""
	if compared && k.engine != floor.Name && k.engine != mine.Engine && of(one) > 0 && of(mine) > 0 {
		x := of(mine) / of(one)
		if less {
			x = 1 / x
		}
		ratio = number(x) + " × as fast"
	}
	shown := number(of(one)) + " " + unit
	if one.Spread != "" {
		shown += " (" + one.Spread + ")"
	}
	times := ""
	if one.P50 > 0 {
		times = number(one.P50) + ", " + number(one.P99)
	}
	return []string{k.what, k.store, k.engine, shown, ratio, strconv.Itoa(one.Concurrency), times,
		number(one.CommitsPerStep), number(one.CPUPer1kSteps), number(one.BytesWrittenPerStep), number(one.RSS), besides(k, one, best)}
}

// besides is what only some workloads tell.
func besides(k row, one *measure.Result, best map[row]measure.Result) string {
	var all []string
	add := func(format string, args ...any) { all = append(all, fmt.Sprintf(format, args...)) }
	if one.GapP50 > 0 {
		add("step to step %s, %s ms; %s commits a run", number(one.GapP50), number(one.GapP99), number(one.CommitsPerStep*float64(one.Steps)/float64(one.Measured)))
	}
	if one.FirstTenth > 0 {
		add("last tenth %s × the first", number(one.LastTenth/one.FirstTenth))
	}
	if one.DiskPerRun > 0 {
		add("%s bytes each on disk; %s MiB before", number(one.DiskPerRun), number(one.IdleRSS))
	}
	if one.OfStarts > 0 {
		add("%s × the time of as many starts and results from outside", number(one.OfStarts))
	}
	if one.Alone > 0 {
		add("readers cost %s %%; %s answers/s, p50 %s, p99 %s ms", number(100*(1-one.RunsPerS/one.Alone)), number(one.Asks), number(one.AskP50), number(one.AskP99))
	}
	if k.what == "serial10" && one.Engine != floor.Name {
		for _, name := range []string{floor.Append, floor.AppendIndexed} {
			if f, ok := best[row{name, base(k.store), floor.Name}]; ok && f.RunsPerS > 0 {
				add("%s %% of %s", number(100*one.StepsPerS/f.RunsPerS), name)
			}
		}
	}
	return strings.Join(all, "; ")
}

// number is a figure with three digits that count, and nothing for 0.
func number(x float64) string {
	switch {
	case x == 0:
		return ""
	case x >= 1000 || x <= -1000:
		digits := fmt.Sprintf("%.0f", x)
		for at := len(digits) - 3; at > 0 && digits[at-1] != '-'; at -= 3 {
			digits = digits[:at] + "," + digits[at:]
		}
		return digits
	case x >= 100 || x <= -100:
		return fmt.Sprintf("%.0f", x)
	}
	return fmt.Sprintf("%.3g", x)
}

// short is a result in a line of progress.
func short(r *measure.Result) string {
	name := fmt.Sprintf("%-16s %-13s %-12s %3d clients  ", what(r), r.Store, r.Engine, r.Concurrency)
	if r.Note != "" {
		return name + cut(r.Note)
	}
	of, _, unit := figure(r.Work)
	return name + number(of(r)) + " " + unit
}

// cut is the first line of a note, and not too much of it.
func cut(note string) string {
	note, _, _ = strings.Cut(note, "\n")
	if len(note) > 160 {
		note = note[:160] + "…"
	}
	return note
}
