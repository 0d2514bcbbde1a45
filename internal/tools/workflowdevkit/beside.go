package main

// Stepwell beside the Worlds that the DevKit brings itself: the same app and runtime, in turns, so that what else the
// machine does falls on all alike. What is told are the ratios of a round.

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/stepwell/stepwell/internal/pgtest"
)

// mostBeside is how long a run may take.
const mostBeside = 6 * time.Minute

// measures are what is measured. The old runtime replays a run from its beginning for each step, so that 1,000 are
// minutes everywhere: they are measured once, in the last round.
var measures = []struct {
	line  *line
	shape shape
	once  bool
}{
	{&newestLine, fanOf(100), false}, {&newestLine, serialOf(1000), false},
	{&oldLine, fanOf(100), false}, {&oldLine, serialOf(200), false}, {&oldLine, serialOf(1000), true},
}

// contender is a World with an app of its own.
type contender struct {
	name string
	peer bool // it is none of ours
	line *line
	env  []string
	app  *app
	took map[string][]time.Duration // by shape, of each round; 0: the run did not end rightly
	said error                      // why, the last time
}

// beside measures, and prints a table.
func beside(dir string) (err error) {
	if _, err := installLine(dir, &oldLine); err != nil {
		return err
	}
	data, err := os.MkdirTemp("", "workflowdevkit")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(data)) }()
	cluster, err := pgtest.Start(pgtest.Config{})
	if err != nil {
		return err
	}
	defer func() { _ = cluster.Close() }()
	ours, theirs := "", ""
	if ours, err = cluster.Create(context.Background(), "stepwell"); err == nil {
		theirs, err = cluster.Create(context.Background(), "world_postgres")
	}
	if err != nil {
		return err
	}
	sqlite, postgres := "", ""
	for url, db := range map[*string]string{&sqlite: "sqlite:" + filepath.Join(data, "app.db"), &postgres: ours} {
		s, err := startServer(dir, data, db)
		if err != nil {
			return err
		}
		defer s.kill()
		*url = s.url()
	}
	all := []*contender{
		{name: "Stepwell, SQLite", line: &newestLine, env: onStepwell(sqlite)},
		{name: "Stepwell, PostgreSQL", line: &newestLine, env: onStepwell(postgres)},
		{name: "world-local 5.0.0-beta.46", peer: true, line: &newestLine, env: []string{"WORKFLOW_TARGET_WORLD=local", "WORKFLOW_LOCAL_DATA_DIR=" + filepath.Join(data, "local")}},
		{name: "Stepwell, SQLite", line: &oldLine, env: append(onStepwell(sqlite), "STEPWELL_DEPLOYMENT=old")},
		{name: "Stepwell, PostgreSQL", line: &oldLine, env: append(onStepwell(postgres), "STEPWELL_DEPLOYMENT=old")},
		{name: "world-postgres 5.0.0-beta.27", peer: true, line: &oldLine, env: []string{"WORKFLOW_TARGET_WORLD=@workflow/world-postgres", "WORKFLOW_POSTGRES_URL=" + theirs}},
	}
	setup := exec.Command("node", "node_modules/@workflow/world-postgres/bin/setup.js")
	setup.Dir, setup.Env = filepath.Join(dir, "runtime-"+oldLine.version), append(os.Environ(), "WORKFLOW_POSTGRES_URL="+theirs)
	if out, err := setup.CombinedOutput(); err != nil {
		return fmt.Errorf("the schema of world-postgres: %w\n%s", err, out)
	}
	for i, c := range all {
		c.took = map[string][]time.Duration{}
		if c.app, err = startNode(filepath.Join(dir, "runtime-"+c.line.version), filepath.Join(data, fmt.Sprintf("app%d.log", i)), "listening", "app.mjs", c.env...); err != nil {
			return fmt.Errorf("%s: %w", c.name, err)
		}
		defer c.app.stop()
	}
	before := load()
	for round := range *rounds + 1 { // the first warms up
		for _, m := range measures {
			if round == 0 {
				m.shape = fanOf(10)
			} else if m.once && round < *rounds {
				continue
			}
			for turn := range all {
				if c := all[(turn+round)%len(all)]; c.line == m.line {
					c.measure(&m.shape)
					fmt.Fprintf(os.Stderr, "round %d: %s: %s, runtime %s: %v\n", round, m.shape.title, c.name, m.line.version, c.took[m.shape.title])
				}
			}
		}
	}
	fmt.Printf("Measured %s in %d alternating rounds on %d cores; load before: %s; behind: %s.\n\n", time.Now().UTC().Format(time.DateOnly), *rounds, runtime.NumCPU(), before, load())
	table(all)
	for _, c := range all {
		if c.said != nil {
			log, _ := os.ReadFile(c.app.logs)
			fmt.Fprintf(os.Stderr, "%s: %v\n%s\n", c.name, c.said, log[:min(len(log), 4000)])
		}
	}
	return nil
}

// load is what the system says of the last minutes.
func load() string {
	text, _ := os.ReadFile("/proc/loadavg") // none: another system
	f := strings.Fields(string(text))
	return strings.Join(f[:min(len(f), 3)], " ")
}

// measure runs a shape once.
func (c *contender) measure(s *shape) {
	out, err := s.do(c.app, mostBeside)
	if err != nil {
		c.said = err
	}
	c.took[s.title] = append(c.took[s.title], time.Duration(out.Ms)*time.Millisecond)
}

// table prints, for each shape and runtime, the seconds of each World, and how many times as long the peer took in a
// round.
func table(all []*contender) {
	fmt.Println("| runtime | shape | World | seconds | times Stepwell on SQLite | times Stepwell on PostgreSQL |")
	fmt.Println("| --- | --- | --- | --- | --- | --- |")
	for _, m := range measures {
		var ours []*contender
		for _, c := range all {
			if c.line != m.line {
				continue
			}
			took := c.took[m.shape.title]
			ratios := []string{"", ""}
			if !c.peer {
				ours = append(ours, c)
			} else {
				for k, of := range ours {
					ratios[k] = ratio(took, of.took[m.shape.title])
				}
			}
			fmt.Printf("| %s | %s | %s | %s | %s | %s |\n", m.line.version, m.shape.title, c.name, seconds(took), ratios[0], ratios[1])
		}
	}
}

// seconds are the middle, the least and the most of what a World took; runs that did not end are said.
func seconds(took []time.Duration) string {
	all := slices.DeleteFunc(slices.Clone(took), func(d time.Duration) bool { return d == 0 })
	slices.Sort(all)
	failed := ""
	if n := len(took) - len(all); n > 0 {
		failed = fmt.Sprintf("%d of %d did not end within %s", n, len(took), mostBeside)
	}
	if len(all) == 0 {
		return failed
	}
	var s []float64
	for _, d := range all {
		s = append(s, d.Seconds())
	}
	text := middle(s)
	return strings.TrimSuffix(text+"; "+failed, "; ")
}

// ratio is how many times as long a peer took as we did: the middle, the least and the most of the rounds.
func ratio(theirs, ours []time.Duration) string {
	var all []float64
	for i := range min(len(theirs), len(ours)) {
		if theirs[i] > 0 && ours[i] > 0 {
			all = append(all, float64(theirs[i])/float64(ours[i]))
		}
	}
	return middle(all)
}

// middle is the middle of numbers, with the least and the most of several.
func middle(all []float64) string {
	slices.Sort(all)
	switch n := len(all); n {
	case 0:
		return ""
	case 1:
		return fmt.Sprintf("%.1f", all[0])
	default:
		return fmt.Sprintf("%.1f (%.1f–%.1f)", all[n/2], all[0], all[n-1])
	}
}
