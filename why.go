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

// Why a run does not move, or what it does.
const (
	WhyOver       WhyKind = "over"        // it has ended
	WhyCancelling WhyKind = "cancelling"  // a cancel was requested, and it cleans up
	WhyPaused     WhyKind = "paused"      // somebody paused it
	WhyBlocked    WhyKind = "blocked"     // it cannot go on: see Block; it is tried again
	WhyDelayed    WhyKind = "delayed"     // it starts later
	WhyGathers    WhyKind = "gathers"     // it takes inputs of further starts until Until, and begins then
	WhyHeld       WhyKind = "held"        // its workflow is held, by By for Reason: it does not begin before that is over
	WhyQueued     WhyKind = "queued"      // it is ready, and a worker that knows it is there
	WhyLimit      WhyKind = "limit"       // it stands in Line for a place of a limit
	WhyNoWorker   WhyKind = "no_worker"   // nobody knows its workflow and version, or, with Step, a registered step
	WhyWorking    WhyKind = "working"     // a worker has it, in Step if that is set
	WhyWorkerLost WhyKind = "worker_lost" // its worker has not been heard of; another takes it over
	WhyRetry      WhyKind = "retry"       // a step failed and is tried again at Until
	WhySleep      WhyKind = "sleep"       // until Until
	WhyEvent      WhyKind = "event"       // it waits for Event
	WhyCondition  WhyKind = "condition"   // it waits for a condition of its own code
	WhyTask       WhyKind = "task"        // a registered step is queued, or runs on some worker
	WhyChild      WhyKind = "child"       // it waits for its child, the run Peer
	WhyRun        WhyKind = "run"         // it waits for the run Peer, which is no child
	WhySuspect    WhyKind = "suspect"     // Step ended its process before, or ran beside what did; it waits for its turn to run alone
	WhyHook       WhyKind = "hook"        // it waits for a payload of the hook with Token
	WhyStalled    WhyKind = "stalled"     // its workflow code has not yielded since Since; only the worker's own process knows
	WhyWaiting    WhyKind = "waiting"     // it waits; what for was not looked up
)

// Why says why a run does not move. The fields are for programs, [Why.String] is for people; which fields are set depends on
// Kind.
type Why struct {
	Kind     WhyKind      `json:"kind"`
	At       time.Time    `json:"at"` // when this was so; String counts from it, in its time zone
	Run      string       `json:"run"`
	Workflow string       `json:"workflow"`
	Version  int          `json:"version"`
	Status   world.Status `json:"status"`

	Step    string                `json:"step,omitempty"`    // name of the step or wait, with its occurrence if it is not the first
	ID      string                `json:"id,omitempty"`      // and its correlation ID
	Undo    bool                  `json:"undo,omitempty"`    // the step undoes another: see [Undo]
	UndoNow bool                  `json:"undoNow,omitempty"` // and not as the run ends: see [UndoAll]
	Event   string                `json:"event,omitempty"`   // name of the event
	Match   json.RawMessage       `json:"match,omitempty"`   // what its payload must contain
	Listens bool                  `json:"listens,omitempty"` // it may be published, too: see [Listen]
	Lost    int                   `json:"lost,omitempty"`    // payloads of Event that earlier waits took, which nobody read
	Token   string                `json:"token,omitempty"`   // of a hook
	Peer    string                `json:"peer,omitempty"`    // the other run, or the newest in its place
	PeerIs  string                `json:"peerIs,omitempty"`  // its status, or blocked, or paused; "": not looked up
	Since   time.Time             `json:"since,omitzero"`    // when it began to be so
	Until   time.Time             `json:"until,omitzero"`    // the deadline, due time, next try, or end of the lost worker's lease
	StartBy time.Time             `json:"startBy,omitzero"`  // it is pending, and cancelled then unless it has begun
	Attempt int                   `json:"attempt,omitempty"` // of the step: the one that runs, or ended last
	Deaths  int                   `json:"deaths,omitempty"`  // attempts of the step that began and were never heard of again
	Error   *journal.AttemptError `json:"error,omitempty"`   // how the step's last attempt ended, or the run
	Worker  string                `json:"worker,omitempty"`  // who has it, as people call it
	Block   *world.Block          `json:"block,omitempty"`   // of kind over: what is kept of it is damaged
	By      string                `json:"by,omitempty"`      // who paused, cancelled, holds or blocks it
	Reason  string                `json:"reason,omitempty"`  // and why
	Workers int                   `json:"workers"`           // that are alive, whatever they know
	Mail    int                   `json:"mail,omitempty"`    // deliveries in its inbox
	More    int                   `json:"more,omitempty"`    // this many further steps, waits and hooks are open
	Also    []string              `json:"also,omitempty"`    // the first of them
	Waiting string                `json:"waiting,omitempty"` // what its worker noted, or in lists which limit
	Line    *world.InLine         `json:"line,omitempty"`    // of kind limit, and of kind task where its step is in line; nil: a list does not say
	Gathers int                   `json:"gathers,omitempty"` // of kind gathers: the starts whose inputs it has

	// Holds is, of kind no_worker, the places of limits that it keeps until its end, or, where it has not begun, others
	// get within a minute.
	Holds []world.Place `json:"holds,omitempty"`

	Versions []int `json:"versions,omitempty"` // of kind no_worker: those of the workflow that live workers have

	// Cancel says what a cancel would not do, Restart what a restart would do again, and Fork, of a run that is
	// blocked as it diverged or is damaged, what a fork from before that would; "": there is nothing to warn of, or it
	// was not looked up.
	Cancel  string `json:"cancel,omitempty"`
	Restart string `json:"restart,omitempty"`
	Fork    string `json:"fork,omitempty"`

	// Aside are the payloads that were set aside last, as they do not fit its code, at most 3, of what it still waits for: see [PayloadErrors].
	Aside []journal.Aside `json:"aside,omitempty"`
}

// Why tells why a run does not move, or what it does. It reads the run's whole log.
func (a *App) Why(ctx context.Context, run string) (Why, error) {
	s, err := a.Story(ctx, run, false)
	return s.Why, err
}

// Story is all that there is to tell of one run.
type Story struct {
	Run     RunInfo          `json:"run"`
	Journal *journal.Journal `json:"journal"`
	Why     Why              `json:"why"`
	Damage  string           `json:"damage,omitempty"` // why the journal ends early: the log behind it cannot be read

	// Peers says how runs stand that open steps wait for, the first 20: a status, or blocked, or paused; of one that
	// was retried, as which run, and how that stands.
	Peers map[string]string `json:"peers,omitempty"`

	// Made are the runs that were made of this one, its forks, restarts and retries: the newest 20. [ListFilter].Origin finds the others, and
	// [ListFilter].Parent its children.
	Made     []MadeRun `json:"made,omitempty"`
	MadeMore bool      `json:"madeMore,omitempty"` // there are more

	// Retry says of a run that failed or was cancelled what a retry would do, or what there is instead: see [App.RetryAdvice]. Nil: its log cannot be read.
	Retry *RetryAdvice `json:"retry,omitempty"`
}

// Story reads a run's row and its whole log. Without payloads the journal has no inputs, outputs and payloads. A log that is
// corrupt, or of a newer release, is told as far as it can be read.
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
	if a.able.TaskReader == nil || s.Journal.Status.Terminal() {
		return nil, nil
	}
	tasks, err := a.able.TaskReader.Tasks(ctx, s.Journal.Run)
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

// Why tells why the run does not move as far as its row says it: without its log, and so quick enough for lists. workers and now
// are those of [world.Stats].
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

// MarshalJSON adds the sentence for people, as text.
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

// UnmarshalJSON reads what MarshalJSON writes.
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
