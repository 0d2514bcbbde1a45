package stepwell

// This file has the answer to why a run does not move: what it says, and where it is read from. why_find.go decides, why_text.go
// words it.

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/stepwell/stepwell/internal/crypt"
	"github.com/stepwell/stepwell/internal/history"
	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/journal"
)

// WhyKind is the answer in one word. The values are stable.
type WhyKind string

// Reasons why a run does not move, or what it does.
const (
	WhyOver       WhyKind = "over"       // it has ended
	WhyCancelling WhyKind = "cancelling" // it cleans up after a cancel
	WhyPaused     WhyKind = "paused"     // it is paused: see By and Reason
	WhyBlocked    WhyKind = "blocked"    // it cannot continue: see Block; it is tried again
	WhyDelayed    WhyKind = "delayed"    // its start has a delay
	// WhyGathers: it takes inputs of further starts until Until, and then begins.
	WhyGathers WhyKind = "gathers"
	// WhyHeld: its workflow is held (see By and Reason), and it begins after the release.
	WhyHeld   WhyKind = "held"
	WhyQueued WhyKind = "queued" // it is ready, and a live worker has its code
	WhyLimit  WhyKind = "limit"  // it waits for a place of a limit: see Line
	// WhyNoWorker: no live worker has its workflow version or, with Step, a registered step.
	WhyNoWorker WhyKind = "no_worker"
	WhyWorking  WhyKind = "working" // a worker has it, in Step if that is set
	// WhyWorkerLost: its worker sends no heartbeats, and another takes over at Until.
	WhyWorkerLost WhyKind = "worker_lost"
	WhyRetry      WhyKind = "retry"     // a step failed, and is tried again at Until
	WhySleep      WhyKind = "sleep"     // it sleeps until Until
	WhyEvent      WhyKind = "event"     // it waits for Event
	WhyCondition  WhyKind = "condition" // it waits for a condition of its own code
	WhyTask       WhyKind = "task"      // a registered step is queued, or runs on a worker
	WhyChild      WhyKind = "child"     // it waits for its child, the run Peer
	WhyRun        WhyKind = "run"       // it waits for the run Peer, which is not a child
	// Step may have crashed its process; it waits for its turn to run alone
	WhySuspect WhyKind = "suspect"
	WhyHook    WhyKind = "hook" // it waits for a payload of the hook with Token
	// WhyStalled: its code has not yielded since Since. Only its worker's process knows that.
	WhyStalled WhyKind = "stalled"
	WhyWaiting WhyKind = "waiting" // it waits; the reason was not looked up
)

// Why says why a run does not move. Programs read the fields; people read [Why.String]. Kind
// decides which fields are set.
type Why struct {
	Kind WhyKind `json:"kind"` // the answer
	// At is when this was true. String counts from it, in its time zone.
	At       time.Time    `json:"at"`
	Run      string       `json:"run"`      // run ID
	Workflow string       `json:"workflow"` // its name
	Version  int          `json:"version"`  // 0: the worker that first claims the run decides
	Status   world.Status `json:"status"`   // pending, running, or how it ended

	// Step is the name of the step or wait, with its occurrence after the first.
	Step string `json:"step,omitempty"`
	ID   string `json:"id,omitempty"`   // ID of the step or wait in the run's log
	Undo bool   `json:"undo,omitempty"` // the step is an undo function: see [Undo]
	// UndoNow means that the undo runs by [UndoAll], not at the run's end.
	UndoNow bool            `json:"undoNow,omitempty"`
	Event   string          `json:"event,omitempty"` // name of the event
	Match   json.RawMessage `json:"match,omitempty"` // what its payload must contain
	// Listens means that a publication ends the wait too: see [Listen].
	Listens bool `json:"listens,omitempty"`
	// Lost is how many payloads of Event were taken by earlier waits, but read by no code.
	Lost  int    `json:"lost,omitempty"`
	Token string `json:"token,omitempty"` // of a hook
	// ID of the other run, or of its newest replacement
	Peer string `json:"peer,omitempty"`
	// PeerIs is the peer's status, or blocked, or paused. "": not looked up.
	PeerIs string    `json:"peerIs,omitempty"`
	Since  time.Time `json:"since,omitzero"` // when this began
	// Until is the deadline, the due time, the next try, or the end of the lost worker's lease.
	Until time.Time `json:"until,omitzero"`
	// StartBy is when a pending run is cancelled if it has not begun.
	StartBy time.Time `json:"startBy,omitzero"`
	Attempt int       `json:"attempt,omitempty"` // the running attempt of the step, or the last one
	// Deaths is how many attempts of the step began and never reported an end.
	Deaths int `json:"deaths,omitempty"`
	// Error is the error of the step's last attempt, or of the run.
	Error  *journal.AttemptError `json:"error,omitempty"`
	Worker string                `json:"worker,omitempty"` // name of the worker that has it
	// Block says why the run is blocked. Of a run that is over it is the damage of its record.
	Block  *world.Block `json:"block,omitempty"`
	By     string       `json:"by,omitempty"`     // who paused, cancelled, holds or blocks it
	Reason string       `json:"reason,omitempty"` // their reason
	// Workers is the number of live workers, whatever code they have.
	Workers int      `json:"workers"`
	Mail    int      `json:"mail,omitempty"`    // deliveries that are not in its log yet
	More    int      `json:"more,omitempty"`    // number of further open steps, waits and hooks
	Also    []string `json:"also,omitempty"`    // the first of those
	Waiting string   `json:"waiting,omitempty"` // note of its worker, or in lists the limit
	// Line is its place in the line of a limit, with kind limit, and with kind task if its step is
	// in line. Nil: a list does not look it up.
	Line *world.InLine `json:"line,omitempty"`
	// Gathers is, with kind gathers, how many starts the run has merged.
	Gathers int `json:"gathers,omitempty"`

	// Holds are the limit places of a run of kind no_worker. It keeps them until its end; if it has
	// not begun, other runs get them within a minute.
	Holds []world.Place `json:"holds,omitempty"`

	// Versions are, with kind no_worker, the versions of the workflow that live workers have.
	Versions []int `json:"versions,omitempty"`

	// Cancel warns of what a cancel would leave undone; "": nothing, or not looked up.
	Cancel string `json:"cancel,omitempty"`
	// Restart warns of what a restart would repeat; "" as for Cancel.
	Restart string `json:"restart,omitempty"`
	// Fork warns of what a fork from before the fault would repeat, for a run that is blocked by a
	// divergence or damage; "" as for Cancel.
	Fork string `json:"fork,omitempty"`

	// Aside are the last payloads, at most 3, that were set aside because they do not fit, for the
	// waits that are open: see [PayloadErrors].
	Aside []journal.Aside `json:"aside,omitempty"`
}

// Why says why a run does not move, or what it does. It reads the run's whole log.
func (a *App) Why(ctx context.Context, run string) (Why, error) {
	s, err := a.Story(ctx, run, false)
	return s.Why, err
}

// Story is everything to show of one run.
type Story struct {
	Run     RunInfo          `json:"run"`     // its row
	Journal *journal.Journal `json:"journal"` // its steps, waits and hooks, from its log
	Why     Why              `json:"why"`     // why it does not move
	// Damage says why Journal ends early: the rest of the log is unreadable. "": it does not.
	Damage string `json:"damage,omitempty"`

	// Peers are the states of the first 20 runs that open steps wait for, by run ID: a status, or
	// blocked, or paused. For a run that was retried, the value names the retry and its state.
	Peers map[string]string `json:"peers,omitempty"`

	// Made are the newest 20 forks, restarts and retries of this run. [ListFilter].Origin finds the
	// others, and [ListFilter].Parent its children.
	Made     []MadeRun `json:"made,omitempty"`
	MadeMore bool      `json:"madeMore,omitempty"` // there are more than 20

	// Retry says what a retry would do, for a run that failed or was cancelled: see
	// [App.RetryAdvice]. Nil: the log is unreadable.
	Retry *RetryAdvice `json:"retry,omitempty"`
}

// Story reads a run's row and its whole log. Without payloads the journal has no inputs, outputs
// and payloads. A log that is corrupt, or from a newer release, is shown as far as it can be read.
func (a *App) Story(ctx context.Context, run string, payloads bool) (Story, error) {
	info, err := a.Get(ctx, run)
	if err != nil {
		return Story{}, err
	}
	s := Story{Journal: journal.New(run, payloads)}
	var startBy, last time.Time
	h := &history.History{Run: run} // without payloads, where a retry may be asked for
	for e, err := range a.Events(ctx, run, EventFilter{}) {
		if errors.Is(err, world.ErrCorrupt) || errors.Is(err, world.ErrFormat) {
			s.Damage = err.Error()
			break
		}
		if err != nil {
			return Story{}, err
		}
		s.Journal.Add(e)
		last = e.Time
		if e.Birth != nil {
			startBy = e.Birth.StartBy(e.Time)
		}
		if info.Status == world.Failed || info.Status == world.Cancelled {
			e.Payload = nil
			h.Events = append(h.Events, e)
		}
	}
	tasks, err := a.tasks(ctx, &s)
	if err == nil {
		err = addProgress(ctx, a, s.Journal)
	}
	if err != nil {
		return Story{}, err
	}
	if s.Journal.Status.Terminal() && !info.Status.Terminal() { // it ended between the two reads
		if info, err = a.Get(ctx, run); err != nil {
			return Story{}, err
		}
	}
	stats, err := a.world.Stats(ctx)
	if err != nil {
		return Story{}, fmt.Errorf("read workers: %w", err)
	}
	s.Run = info
	if s.Damage == "" {
		s.Damage = info.Damage
	}
	s.Why = whyOf(&info, s.Journal, tasks, stats.Workers, stats.Now)
	if s.Why.Status == world.Pending {
		s.Why.StartBy = startBy
	}
	if since, ok := a.engine.Stalled(run); ok && s.Why.Kind == WhyWorking {
		s.Why.Kind, s.Why.Since = WhyStalled, since
	}
	if err := limited(ctx, a, &s.Why); err != nil {
		return Story{}, err
	}
	if err := messaged(ctx, a, &s); err != nil {
		return Story{}, err
	}
	if err := held(ctx, a, &s.Why, s.Why.Status == world.Pending || info.Origin != nil && !last.After(info.CreatedAt)); err != nil {
		return Story{}, err
	}
	if s.Made, s.MadeMore, err = a.made(ctx, run); err != nil {
		return Story{}, err
	}
	if len(h.Events) > 0 && s.Damage == "" && crypt.Encrypted(run, h.Events) == nil {
		advice, err := a.adviseOf(ctx, h)
		if err != nil {
			return Story{}, err
		}
		s.Retry = &advice
	}
	return s, a.peers(ctx, &s)
}

const mostPeers = 20

// peers looks up the runs that a run waits for.
func (a *App) peers(ctx context.Context, s *Story) error {
	if s.Run.Status.Terminal() {
		return nil
	}
	s.Peers = map[string]string{}
	look := func(run string) error {
		if _, known := s.Peers[run]; run == "" || known {
			return nil
		}
		peer, err := a.Newest(ctx, run)
		switch {
		case errors.Is(err, ErrNotFound):
			s.Peers[run] = "unknown"
		case err != nil:
			return err
		case peer.ID != run:
			s.Peers[run] = "retried as " + peer.ID + ", " + standing(&peer)
			s.Peers[peer.ID] = standing(&peer)
			if s.Why.Peer == run {
				s.Why.Peer = peer.ID // a worker that goes on with the run has it wait for that one
			}
		default:
			s.Peers[run] = standing(&peer)
		}
		return nil
	}
	if err := look(s.Why.Peer); err != nil {
		return err
	}
	s.Why.PeerIs = s.Peers[s.Why.Peer]
	for _, en := range s.Journal.Entries {
		if isOpen(en) && len(s.Peers) < mostPeers {
			if err := look(en.Peer); err != nil {
				return err
			}
		}
	}
	return nil
}

func standing(r *RunInfo) string {
	switch {
	case r.Queue != nil && r.Queue.Paused:
		return "paused"
	case r.Queue != nil && r.Queue.Blocked != nil:
		return "blocked"
	default:
		return string(r.Status)
	}
}

// tasks adds to a journal what the world knows of queued steps whose attempts are not in the log yet. It returns who has which.
func (a *App) tasks(ctx context.Context, s *Story) (holders map[string]string, err error) {
	if s.Journal.Status.Terminal() {
		return nil, nil
	}
	tasks, err := a.world.Tasks(ctx, s.Journal.Run)
	if err != nil {
		return nil, fmt.Errorf("tasks of run %s: %w", s.Journal.Run, err)
	}
	holders = map[string]string{}
	for i := range tasks {
		s.Journal.AddTask(&tasks[i])
		holders[tasks[i].Step] = tasks[i].Worker
	}
	return holders, nil
}

// Why says why the run does not move, from its row alone. It does not read the log, so it is quick
// enough for lists. workers and now come from [world.Stats].
func (i RunInfo) Why(workers []world.WorkerRow, now time.Time) Why {
	return whyOf(&i, nil, nil, workers, now)
}

// whyPlace and whyLine are places as the JSON of an answer has them: periods of rates are text, as all durations that
// people see.
type (
	whyPlace struct {
		world.Place
		Per Span `json:"per,omitempty"`
	}
	whyLine struct {
		world.InLine
		Per Span `json:"per,omitempty"`
	}
)

// MarshalJSON adds the result of String, as text.
func (w Why) MarshalJSON() ([]byte, error) {
	type fields Why
	out := struct {
		fields
		Line  *whyLine   `json:"line,omitempty"`
		Holds []whyPlace `json:"holds,omitempty"`
		Text  string     `json:"text"`
	}{fields: fields(w), Text: w.String()}
	if w.Line != nil {
		out.Line = &whyLine{*w.Line, Span(w.Line.Per)}
	}
	for _, p := range w.Holds {
		out.Holds = append(out.Holds, whyPlace{p, Span(p.Per)})
	}
	return json.Marshal(out)
}

// UnmarshalJSON reads the JSON of MarshalJSON.
func (w *Why) UnmarshalJSON(b []byte) error {
	type fields Why
	in := struct {
		*fields
		Line  *whyLine   `json:"line"`
		Holds []whyPlace `json:"holds"`
	}{fields: (*fields)(w)}
	if err := json.Unmarshal(b, &in); err != nil {
		return err
	}
	if w.Line = nil; in.Line != nil {
		in.Line.InLine.Per = time.Duration(in.Line.Per)
		w.Line = &in.Line.InLine
	}
	w.Holds = nil
	for _, p := range in.Holds {
		p.Place.Per = time.Duration(p.Per)
		w.Holds = append(w.Holds, p.Place)
	}
	return nil
}
