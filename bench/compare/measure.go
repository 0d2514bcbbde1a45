package compare

// This file is the parent: it makes stores, starts children, and reads the counters at their marks.

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/stepwell/stepwell/bench/engine"
	"github.com/stepwell/stepwell/bench/floor"
	"github.com/stepwell/stepwell/bench/measure"
	"github.com/stepwell/stepwell/bench/work"
	"github.com/stepwell/stepwell/internal/pgtest"
)

// grace is how long a child may take to end beyond its own limit.
const grace = time.Minute

type measurer struct {
	*options
	makers   []*engine.Maker
	lines    *json.Encoder // nil: no JSON
	progress io.Writer

	server  *pgtest.Cluster
	pgs     int               // process ID of the server
	missing map[string]string // engines that could not be prepared, and why
	absent  map[row]bool      // what engines were found not to offer: they are asked once
}

// measure fills a report.
func (m *measurer) measure(ctx context.Context, rep *report) (err error) {
	if err := m.prepare(ctx); err != nil {
		return err
	}
	jobs, err := m.plan(m.makers)
	if err != nil {
		return err
	}
	if m.dir == "" {
		m.dir = os.TempDir()
	} else { // PostgreSQL's cluster goes there too
		had, was := os.LookupEnv("TMPDIR")
		if err := os.Setenv("TMPDIR", m.dir); err != nil {
			return err
		}
		defer func() {
			if _ = os.Unsetenv("TMPDIR"); was {
				_ = os.Setenv("TMPDIR", had)
			}
		}()
	}
	defer func() {
		if m.server != nil {
			err = errors.Join(err, m.server.Close())
		}
	}()
	for _, j := range jobs {
		if j.store == engine.Postgres && m.server == nil {
			if m.server, err = pgtest.Start(pgtest.Config{}); err != nil {
				return err
			}
			if m.pgs, err = m.server.PID(); err != nil {
				return err
			}
		}
	}
	if rep.About, err = m.about(ctx); err != nil {
		return err
	}
	if m.lines != nil {
		if err := m.lines.Encode(rep.About); err != nil {
			return err
		}
	}
	m.absent = map[row]bool{}
	began := time.Now()
	for round := range m.rounds {
		for i, j := range turned(jobs, round) {
			r := m.one(ctx, j)
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			r.Round = round + 1
			rep.Results = append(rep.Results, r)
			if m.lines != nil {
				if err := m.lines.Encode(r); err != nil {
					return err
				}
			}
			fmt.Fprintf(m.progress, "%6s  round %d/%d  %3d/%d  %s\n", time.Since(began).Round(time.Second), round+1, m.rounds, i+1, len(jobs), short(&r))
		}
	}
	return nil
}

// prepare lets engines build or fetch what they need. Those that cannot are left out, and the report says why.
func (m *measurer) prepare(ctx context.Context) error {
	m.missing = map[string]string{}
	for _, k := range m.makers {
		if !m.engine(k.Name) || k.Prepare == nil {
			continue
		}
		fmt.Fprintln(m.progress, "preparing", k.Name)
		if err := k.Prepare(ctx); err != nil {
			fmt.Fprintf(m.progress, "%s is left out: %v\n", k.Name, err)
			m.missing[k.Name] = err.Error()
		}
	}
	m.makers = slices.DeleteFunc(slices.Clone(m.makers), func(k *engine.Maker) bool { return m.missing[k.Name] != "" })
	return ctx.Err()
}

// one makes a measurement; what goes wrong is its note.
func (m *measurer) one(ctx context.Context, j job) measure.Result {
	asked := row{j.point.Work, string(j.store), j.engine}
	err := work.ErrNotOffered
	if !m.absent[asked] {
		var r *measure.Result
		if r, err = m.child(ctx, j); err == nil {
			return *r
		}
	}
	if errors.Is(err, work.ErrNotOffered) {
		m.absent[asked] = true
	}
	failed := measure.Result{Engine: j.engine, Store: string(j.store), Work: j.point.Work, N: j.point.N, Concurrency: j.point.Concurrency, Note: err.Error()}
	for _, k := range m.makers {
		if k.Name == j.engine {
			failed.Version = k.Version
		}
	}
	return failed
}

func (m *measurer) child(ctx context.Context, j job) (r *measure.Result, err error) {
	o := order{Engine: j.engine, Point: j.point, Limit: m.limit, Store: engine.Store{Kind: j.store}}
	around, err := os.MkdirTemp(m.dir, "stepwell-bench-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(around)) }()
	o.Store.Dir = filepath.Join(around, "store")
	if err := os.Mkdir(o.Store.Dir, 0o700); err != nil {
		return nil, err
	}
	meter := &meter{dir: o.Store.Dir, sleepers: j.point.Work == "sleepers"}
	if j.store == engine.Postgres {
		if o.Store.URL, err = m.server.Create(ctx, "bench"); err != nil {
			return nil, err
		}
		defer func() { err = errors.Join(err, m.server.Drop(context.WithoutCancel(ctx), o.Store.URL)) }()
		// What others wrote is not this one's to pay for.
		if err := m.server.Exec(ctx, "CHECKPOINT"); err != nil {
			return nil, err
		}
		if meter.conn, err = pgx.Connect(ctx, o.Store.URL); err != nil {
			return nil, err
		}
		defer meter.conn.Close(context.WithoutCancel(ctx))
		meter.servers = []int{m.pgs}
		if j.engine == floor.Name && j.point.Work == floor.Pgbench {
			if o.Pgbench, err = m.server.Program("pgbench"); err != nil {
				return nil, err
			}
		}
	}
	_ = exec.CommandContext(ctx, "sync").Run() // nor is it on files; where there is no such program, it is
	p, err := spawn(&o)
	if err != nil {
		return nil, err
	}
	return m.attend(ctx, p, meter)
}

// attend talks with a child until it has ended.
func (m *measurer) attend(ctx context.Context, p *process, meter *meter) (*measure.Result, error) {
	over := time.AfterFunc(m.limit+grace, func() { _ = killAll(p.cmd) })
	defer over.Stop()
	stop := context.AfterFunc(ctx, func() { _ = interrupt(p.cmd) })
	defer stop()
	meter.child = p.cmd.Process.Pid
	r, err := listen(p.messages, p.answers, func(mark string) error { return meter.mark(ctx, mark) })
	if err != nil {
		if !errors.Is(err, work.ErrNotOffered) {
			fmt.Fprintf(m.progress, "%s\n", p.output())
		}
	} else {
		meter.fill(r)
	}
	if e := p.wait(grace); e != nil && err == nil {
		fmt.Fprintf(m.progress, "the child: %v\n%s\n", e, p.output()) // what it measured stands
	}
	return r, err
}

// meter reads counters at a child's marks.
type meter struct {
	child    int
	servers  []int     // PostgreSQL's, whose use counts
	conn     *pgx.Conn // to the child's database; nil: there is none
	dir      string
	sleepers bool

	began, ended moment
}

// moment is what counters say.
type moment struct {
	used measure.Usage
	disk int64
	rss  float64
}

func (m *meter) mark(ctx context.Context, mark string) (err error) {
	to := &m.began
	if mark == markEnd {
		to = &m.ended
	}
	to.used = measure.Processes(m.child).Plus(measure.Server(m.servers...))
	to.rss = measure.Resident(m.child)
	if m.conn == nil {
		to.used.Commits, to.disk = measure.SQLiteCommits(m.dir), measure.DiskBytes(m.dir)
		return nil
	}
	if to.used.Commits, err = measure.PostgresCommits(ctx, m.conn); err != nil {
		return err
	}
	to.disk, err = measure.PostgresBytes(ctx, m.conn)
	return err
}

// fill completes a result with what the counters say; a workload that set no marks has none.
func (m *meter) fill(r *measure.Result) {
	if m.ended == (moment{}) {
		return
	}
	r.Used(m.ended.used.Minus(m.began.used))
	r.RSS, r.IdleRSS = m.ended.rss, m.began.rss
	if m.sleepers && r.Measured > 0 {
		r.DiskPerRun = float64(m.ended.disk-m.began.disk) / float64(r.Measured)
	}
}
