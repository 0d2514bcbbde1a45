package postgres

// What events say about rows beside the log: class and standing, hooks, attributes, tasks.

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/layout"
)

// follow moves r to what it is behind the events. With hooks, those that were created or are over are put on the sheet.
func (d *draft) follow(r *run, events []world.Event, hooks bool) error {
	h := hookChanges{}
	var attrs map[string]json.RawMessage
	whole := false // attrs replace all
	for i := range events {
		e := &events[i]
		h.follow(e)
		if paused, says := e.Pauses(); says {
			r.paused = paused
		}
		switch e.Type {
		case world.RunStarted:
			r.running = true
			r.reclass(e.Version)
		case world.RunContinued:
			r.reclass(e.Next.Version)
			attrs, whole = maps.Clone(e.Next.Attributes), true
			d.continued(r)
		case world.AttrSet:
			if attrs == nil {
				attrs = make(map[string]json.RawMessage)
			}
			attrs[e.Name] = e.Payload
		}
	}
	d.hooks(r, &h, hooks)
	d.listens(r, events)
	d.segment(r, r.last-int64(len(events)-1), events)
	return d.followAttributes(r, events[0].Type == world.RunCreated, attrs, whole)
}

// reclass moves the run to another version of its workflow.
func (r *run) reclass(version int) {
	if version != 0 {
		r.class.Version = version
	}
}

// continued begins a new segment: open steps are over, and so are their tasks.
func (d *draft) continued(r *run) {
	if r.tasks {
		d.sheet.noTasks = append(d.sheet.noTasks, r.key)
	}
	if r.awaits {
		d.sheet.noAwaits = append(d.sheet.noAwaits, r.key)
	}
}

// hookChanges is what a list of events does to the hooks of a run.
type hookChanges struct {
	created  []*world.Event // and not over
	over     []*world.Event // created and over
	disposed []string       // of those that were there before
	segment  bool           // those that were there before are over, but for kept
	kept     []string
}

func (h *hookChanges) follow(e *world.Event) {
	switch e.Type {
	case world.HookCreated:
		h.created = append(h.created, e)
	case world.HookDisposed:
		if !h.end(func(b *world.Event) bool { return b.ID == e.ID }) {
			h.disposed = append(h.disposed, e.ID)
		}
	case world.RunContinued:
		listed := func(id string) bool { return slices.Contains(e.Next.Hooks, id) }
		h.end(func(b *world.Event) bool { return !listed(b.ID) })
		if !h.segment {
			h.segment, h.kept = true, slices.Clone(e.Next.Hooks)
		} else {
			h.kept = slices.DeleteFunc(h.kept, func(id string) bool { return !listed(id) })
		}
	}
}

// end ends those of the hooks created here that match, and reports whether there are any.
func (h *hookChanges) end(match func(*world.Event) bool) (any bool) {
	h.created = slices.DeleteFunc(h.created, func(b *world.Event) bool {
		over := match(b)
		if over {
			h.over, any = append(h.over, b), true
		}
		return over
	})
	return any
}

// hooks puts changes of hooks on the sheet, unless they are made already.
func (d *draft) hooks(r *run, h *hookChanges, put bool) {
	s := &d.sheet
	if put && r.hooks {
		h.free(r.key, s)
	}
	if put {
		s.overHooks = append(s.overHooks, hookRows(r.key, h.over)...)
		s.hooks = append(s.hooks, hookRows(r.key, h.created)...)
	}
	r.hooks = r.hooks || len(h.created) > 0
}

// free puts on a sheet what ends hooks.
func (h *hookChanges) free(run int64, s *sheet) {
	for _, id := range h.disposed {
		s.disposed = append(s.disposed, stepRow{run, clean(id)})
	}
	if h.segment {
		s.kept = append(s.kept, stepRow{run, listText(h.kept)})
	}
}

func hookRows(run int64, created []*world.Event) []hookRow {
	rows := make([]hookRow, len(created))
	for i, e := range created {
		rows[i] = hookRow{token: e.Token, id: clean(e.ID), run: run, meta: e.Payload, created: e.Time}
	}
	return rows
}

// tasks puts a commit's new tasks on the sheet, and those that it ends or drops.
func (d *draft) tasks(c *world.Commit, r *run, over bool) error {
	s := &d.sheet
	for _, k := range c.Held {
		s.held = append(s.held, taskEndRow{run: r.key, worker: d.wk.key, step: clean(k.Step), attempt: int32(k.Attempt)})
	}
	for _, k := range c.Dropped {
		s.dropped = append(s.dropped, stepRow{r.key, clean(k.Step)})
	}
	if over {
		return nil
	}
	for i := range c.Tasks {
		t := &c.Tasks[i]
		if r.tasks {
			s.dropped = append(s.dropped, stepRow{r.key, clean(t.Step)})
		}
		row := taskRow{
			run: r.key, step: clean(t.Step), name: t.Name, workflow: clean(t.Workflow), input: t.Input, options: t.Options, priority: int16(t.Priority),
			visible: orNoTime(t.Visible),
		}
		if row.workflow == "" {
			row.workflow = r.workflow
		}
		kept := world.Task{
			Run: r.id, Step: row.step, Name: row.name, Workflow: row.workflow, Input: row.input, Options: row.options, Priority: t.Priority,
		}
		row.sum = layout.TaskSum(&kept).Value()
		if t.Worker == "" {
			d.notice(world.NoticeWork, r.id)
		} else if err := d.begun(c, &row); err != nil {
			return err
		}
		if places := lining(t.Places); len(places) > 0 {
			row.places, row.rates, _ = placesText(places)
			s.limits.tasks = append(s.limits.tasks, row)
			continue
		}
		s.tasks = append(s.tasks, row)
	}
	r.tasks = r.tasks || len(c.Tasks) > 0
	return nil
}

// begun makes the commit's worker the holder of a new task, as its first attempt.
func (d *draft) begun(c *world.Commit, t *taskRow) error {
	now, worker := d.w.now(), d.wk.key
	start := world.Event{Type: world.StepStarted, ID: t.step, Attempt: 1, Time: now, Build: c.Build}
	text, err := json.Marshal([]world.Event{start})
	if err != nil {
		return fmt.Errorf("run %s: task %s: %w", c.Run, t.step, err)
	}
	history := clean(string(text))
	t.worker, t.first, t.history = &worker, &now, &history
	return nil
}

func blockText(b *world.Block) (*string, error) {
	if b == nil {
		return nil, nil
	}
	return jsonText(b)
}

func errorText(e *world.Error) (*string, error) {
	if e == nil {
		return nil, nil
	}
	return jsonText(e)
}

func jsonText(v any) (*string, error) {
	text, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	s := clean(string(text))
	return &s, nil
}

// listText is a JSON array of strings.
func listText(ids []string) string {
	cleaned := make([]string, len(ids))
	for i, id := range ids {
		cleaned[i] = clean(id)
	}
	text, _ := json.Marshal(cleaned) // strings always encode
	return string(text)
}

// clean is a text as the database takes it: UTF-8, without NUL.
func clean(s string) string {
	if !utf8.ValidString(s) {
		s = strings.ToValidUTF8(s, "\uFFFD")
	}
	if strings.IndexByte(s, 0) >= 0 {
		s = strings.ReplaceAll(s, "\x00", "\uFFFD")
	}
	return s
}

// orNull keeps the empty string as null.
func orNull(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

// orNoTime keeps the zero time as null.
func orNoTime(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}
