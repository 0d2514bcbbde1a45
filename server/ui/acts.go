package ui

// This file holds what a visitor can do to one run: buttons for what is done at once, and pages with a form for what wants a word, a value or a second thought.

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/journal"
)

// act is a button on a run's page.
type act struct {
	Name, Label string
	Path        string
	Post        bool // it is done at once
	Danger      bool
	First       bool // what one most likely wants
}

type acts []act

// acts are the buttons that make sense now, for who may press them.
func (u *UI) acts(v *visit, s *stepwell.Story) (list acts) {
	if !v.may(Operator) {
		return nil
	}
	at := runPath(s.Run.ID) + "/act/"
	add := func(a act) {
		a.Path = at + a.Name + a.Path
		list = append(list, a)
	}
	if s.Run.Status.Terminal() {
		fork := act{Name: "fork", Label: "Fork…"}
		retry := s.Run.Status == world.Failed && (s.Retry == nil || s.Retry.Refused == "")
		replaced := s.Retry != nil && s.Retry.Newest != ""
		if retry {
			add(act{Name: "retry", Label: "Retry", Post: true, First: true})
		} else if s.Retry != nil && s.Retry.Fork > 0 && !replaced {
			fork.Path = "?at=" + strconv.FormatInt(s.Retry.Fork, 10)
		}
		child := childAct(s)
		if child != nil && !replaced {
			list = append(list, *child)
		}
		add(act{Name: "restart", Label: "Restart…", First: s.Run.Status == world.Failed && !retry && !replaced && child == nil})
		add(fork)
		return list
	}
	w := &s.Why
	if there := elsewhere(w); there != nil {
		list = append(list, *there)
	}
	signal := act{Name: "signal", Label: "Send event…", First: w.Kind == stepwell.WhyEvent}
	if w.Kind == stepwell.WhyEvent {
		signal.Path = "?event=" + url.QueryEscape(w.Event)
	}
	paused := s.Journal.Paused != nil || s.Run.Queue != nil && s.Run.Queue.Paused
	if paused {
		add(act{Name: "resume", Label: "Resume", Post: true, First: true})
	}
	add(signal)
	if open(s.Journal, world.KindHook) {
		add(act{Name: "hook", Label: "Send to a hook…", First: w.Kind == stepwell.WhyHook})
	}
	if slices.ContainsFunc(s.Journal.Entries, attends) {
		add(act{Name: "heartbeat", Label: "Still working…"})
	}
	if w.Kind == stepwell.WhyBlocked {
		add(act{Name: "retries", Label: "Try now", Post: true})
	} else if retries(s.Journal, w.At) {
		add(act{Name: "retries", Label: "Retry now", Post: true, First: w.Kind == stepwell.WhyRetry})
	}
	if w.Kind == stepwell.WhyDelayed || w.Kind == stepwell.WhyGathers {
		add(act{Name: "starts", Label: "Start now", Post: true})
	}
	if open(s.Journal, world.KindSleep) {
		add(act{Name: "sleeps", Label: "Wake now", Post: true, First: w.Kind == stepwell.WhySleep})
	}
	if !paused {
		add(act{Name: "pause", Label: "Pause…"})
	}
	fork := act{Name: "fork", Label: "Fork…"}
	if b := w.Block; w.Kind == stepwell.WhyBlocked && b.Seq > 2 && (b.Code == world.CodeDiverged || b.Code == world.CodeCorrupt) {
		fork.Path = "?at=" + strconv.FormatInt(b.Seq-1, 10)
	}
	add(fork)
	add(act{Name: "restart", Label: "Restart…"})
	if w.Kind != stepwell.WhyCancelling || v.may(Admin) {
		add(act{Name: "cancel", Label: "Cancel…", Danger: true})
	}
	return list
}

// elsewhere is the page that has what a run stands for; nil: that is its own.
func elsewhere(w *stepwell.Why) *act {
	switch w.Kind {
	case stepwell.WhyHeld:
		return &act{Name: "held", Label: "Release the workflow…", Path: Base + "workflows/" + url.PathEscape(w.Workflow), First: true}
	case stepwell.WhyLimit:
		if w.Peer != "" {
			return &act{Name: "before", Label: "The run before it", Path: runPath(w.Peer), First: true}
		}
		return &act{Name: "limits", Label: "Limits", Path: Base + "limits"}
	case stepwell.WhyNoWorker, stepwell.WhyWorkerLost:
		return &act{Name: "workers", Label: "Workers", Path: Base + "workers"}
	}
	return nil
}

// childAct is what can be done about the child that failed a run, before that is retried; nil: nothing.
func childAct(s *stepwell.Story) *act {
	r := s.Retry
	switch {
	case s.Run.Status != world.Failed || r == nil || r.Refused == "" || r.Child == "":
		return nil
	case r.Peer == "":
		return &act{Name: "retry", Label: "Retry the child", Path: runPath(r.Child) + "/act/retry", Post: true, First: true}
	case r.PeerIs == string(world.Cancelled):
		return &act{Name: "restart", Label: "Restart the child…", Path: runPath(r.Peer) + "/act/restart?inPlace=yes", First: true}
	}
	return nil
}

// retries reports whether a step waits for its next attempt.
func retries(j *journal.Journal, now time.Time) bool {
	return slices.ContainsFunc(j.Entries, func(en *journal.Entry) bool { return en.Status == journal.EntryPending && en.RetryAt.After(now) })
}

// open reports whether something of a kind is waited for.
func open(j *journal.Journal, kind world.Kind) bool {
	for _, en := range j.Entries {
		if en.Kind == kind && (en.Status == journal.EntryWaiting || en.Status == journal.EntryActive) {
			return true
		}
	}
	return false
}

// form is a page with a form.
type form struct {
	Run, Workflow string
	Back          string
	Title, About  string
	Path          string
	Fields        []field
	Submit        string
	Danger        bool
	Wrong         string // what was wrong with the last try

	Other, OtherPath string // another form of the same
}

// field is an entry of a form.
type field struct {
	Name, Label, Hint string
	Kind              string // text, area, check, hidden, or choice
	Value             string
	Choices           []string
	Needed            bool
	Input, Step       string // of a text: what else a browser checks
	Check             string // what a ticked box sends; "": yes
	Sample            string // what an empty area shows
	Wrong             string // what did not fit
}

// actForms make the forms of acts; an act without one is done at once, from its button.
var actForms = map[string]func(u *UI, v *visit, info *stepwell.RunInfo) (*form, error){
	"cancel": (*UI).cancelForm, "pause": (*UI).pauseForm, "signal": signalForm, "hook": hookForm, "heartbeat": heartbeatForm, "restart": (*UI).restartForm, "fork": (*UI).forkForm,
}

func (u *UI) find(v *visit) (*stepwell.RunInfo, error) {
	id := v.PathValue("run")
	if err := world.CheckRunID(id); err != nil {
		return nil, fmt.Errorf("run %.130q: %w", id, world.ErrNotFound)
	}
	info, err := u.app.Get(v.Context(), id)
	return &info, err
}

func (u *UI) actForm(v *visit) error {
	make := actForms[v.PathValue("act")]
	if make == nil {
		return errNoPage
	}
	info, err := u.find(v)
	if err != nil {
		return err
	}
	f, err := make(u, v, info)
	if err != nil {
		return err
	}
	v.drawForm(http.StatusOK, f, info)
	return nil
}

func (v *visit) drawForm(status int, f *form, info *stepwell.RunInfo) {
	f.Run, f.Workflow, f.Back = info.ID, info.Workflow, runPath(info.ID)
	f.Path = runPath(info.ID) + "/act/" + v.PathValue("act")
	v.draw(status, "act", f.Title, f)
}

func (u *UI) cancelForm(v *visit, info *stepwell.RunInfo) (*form, error) {
	why, err := u.app.Why(v.Context(), info.ID)
	if err != nil {
		return nil, err
	}
	about := "Its code is told and cleans up, and the run ends as cancelled. Completed work stays, except what the code undoes."
	if why.Cancel != "" {
		about = "The run is blocked, and ends as cancelled without its code: " + why.Cancel + "."
	}
	f := &form{
		Title: "Cancel this run?", About: about,
		Fields: []field{{Name: "reason", Label: "Reason", Kind: "text", Hint: "Kept in the run's log."}}, Submit: "Cancel the run", Danger: true,
	}
	if v.may(Admin) {
		f.Fields = append(f.Fields, field{Name: "force", Label: "Force: end it at once, without cleanup", Kind: "check"})
	}
	return f, nil
}

func (u *UI) pauseForm(*visit, *stepwell.RunInfo) (*form, error) {
	return &form{
		Title: "No worker continues it until you resume it. Steps that are running may finish; deliveries are kept.", About: "Nobody goes on with it until it is resumed. Steps that run may end; what comes meanwhile is kept.",
		Fields: []field{{Name: "reason", Label: "Reason", Kind: "text", Hint: "Kept in the run's log."}}, Submit: "Pause the run",
	}, nil
}

// inputOf is a run's input for a form, and whether it is too long for one.
func inputOf(info *stepwell.RunInfo) (text string, long bool) {
	if info.Sealed || info.InputApart != "" || len(info.Input) > 256<<10 {
		return "", true
	}
	return string(pretty(info.Input, mostBytes)), false
}

// inputField is an input that can be changed; it is taken over as it was where the field is left empty.
func inputField(info *stepwell.RunInfo) field {
	text, long := inputOf(info)
	f := field{Name: "input", Label: "Input", Kind: "area", Value: text, Hint: "JSON. Change it, or leave it as it was."}
	if long {
		f.Hint = "JSON. It cannot be shown here; leave this empty to keep it."
	}
	return f
}

func newRun() field {
	return field{Name: "id", Kind: "hidden", Value: world.NewID(world.PrefixRun, time.Now())}
}

func (u *UI) restartForm(v *visit, info *stepwell.RunInfo) (*form, error) {
	why, err := u.app.Why(v.Context(), info.ID)
	if err != nil {
		return nil, err
	}
	about := "A new run starts from the beginning; this one does not change."
	if why.Restart != "" {
		about += " Mind that " + why.Restart + "."
	}
	f := &form{
		Title: "Restart this run", About: about,
		Fields: []field{
			inputField(info),
			{Name: "version", Label: "Version", Kind: "text", Hint: "Empty: the highest version that a live worker has."},
			newRun(),
		},
		Submit: "Restart",
	}
	if info.Status.Terminal() && info.Status != world.Completed {
		f.Fields = append(f.Fields, field{
			Name: "inPlace", Kind: "check", Label: "In place: a start with its key, or a wait for its result, gets the new run",
			Value: v.URL.Query().Get("inPlace"),
		})
	}
	return f, nil
}

func (u *UI) forkForm(v *visit, info *stepwell.RunInfo) (*form, error) {
	at := v.URL.Query().Get("at")
	input := inputField(info)
	if n, err := strconv.ParseInt(at, 10, 64); err != nil || n < 1 {
		at = ""
	} else if text, ok, err := u.segmentInput(v, info.ID, n); err != nil {
		return nil, err
	} else if ok {
		input.Value, input.Label = text, "Input of the segment"
	}
	about := "A new run starts with everything this one had at an event: its results up to there are copied, and no step that had ended runs " +
		"again. This run does not change."
	if n, err := strconv.ParseInt(at, 10, 64); err == nil {
		s, err := u.app.Story(v.Context(), info.ID, false)
		if err != nil {
			return nil, err
		}
		again := s.Journal.Again(n)
		if s.Why.Block != nil && s.Why.Block.Seq == n+1 {
			again = s.Why.Fork
		}
		if again != "" {
			about += " Mind that " + again + "."
		}
	}
	return &form{
		Title: "Fork this run", About: about,
		Fields: []field{
			{Name: "at", Label: "Behind event", Kind: "text", Value: at, Hint: "The number of the last event to copy. Empty: all events."},
			input,
			{Name: "results", Label: "Results to replace", Kind: "area", Hint: `JSON, by the step's name: {"charge": {"ok": true}}. Empty: as they were.`},
			{Name: "version", Label: "Version", Kind: "text", Hint: "Empty: as this run's."},
			newRun(),
		},
		Submit: "Fork",
	}, nil
}

// segmentInput is the input of the segment that an event is of, where that is not the run's first.
func (u *UI) segmentInput(v *visit, run string, at int64) (text string, ok bool, err error) {
	q := world.EventQuery{Types: []world.EventType{world.RunContinued}, Limit: 100}
	for range 100 {
		page, err := u.world.Events(v.Context(), run, q)
		if err != nil {
			return "", false, err
		}
		for i := range page.Events {
			e := &page.Events[i]
			if e.Seq > at {
				return text, ok, nil
			}
			if text, ok = string(pretty(e.Payload, mostBytes)), true; e.Encrypted != "" {
				text = ""
			}
		}
		if q.Cursor = page.Cursor; !page.More {
			break
		}
	}
	return text, ok, nil
}

func (u *UI) act(v *visit) error {
	info, err := u.find(v)
	if err != nil {
		return err
	}
	do := actsOnRuns[v.PathValue("act")]
	if do == nil {
		return errNoPage
	}
	run, did, err := do(u, v, info)
	if make := actForms[v.PathValue("act")]; make != nil && mendable(err) {
		f, formErr := make(u, v, info)
		if formErr != nil {
			return formErr
		}
		v.refill(f, err)
		v.deed.refused = err
		v.drawForm(u.host.Refused(v.Request, err).Status, f, info)
		return nil
	}
	if err != nil {
		return err
	}
	if run != info.ID {
		v.deed.more = append(v.deed.more, "new_run", run)
	}
	v.redirect(runPath(run) + "?did=" + did)
	return nil
}

// mendable reports whether a form that was refused may be sent once more, with other words: nothing of it was written.
func mendable(err error) bool {
	for _, is := range []error{world.ErrInvalid, world.ErrTooLarge, world.ErrDeliveryUsed, world.ErrInboxFull, world.ErrRateLimited, world.ErrRunExists} {
		if errors.Is(err, is) {
			return true
		}
	}
	return false
}

// refill puts what was written into a form that is shown once more, and says what was wrong. What is hidden is new: a corrected payload is another delivery.
func (v *visit) refill(f *form, err error) {
	for i := range f.Fields {
		if at := &f.Fields[i]; at.Kind != "hidden" {
			at.Value = v.Form.Get(at.Name)
		}
	}
	if f.Wrong = f.says(err); errors.Is(err, world.ErrDeliveryUsed) {
		f.Wrong = "This form has already sent a different payload, so this one was not sent. Send it again to send both."
	}
}

// actsOnRuns do it, and say which run to show then, and what was done.
var actsOnRuns = map[string]func(u *UI, v *visit, info *stepwell.RunInfo) (run, did string, err error){
	"cancel": func(u *UI, v *visit, info *stepwell.RunInfo) (string, string, error) {
		if v.Form.Get("force") == "" {
			return info.ID, "cancel", u.app.Cancel(v.Context(), info.ID, v.Form.Get("reason"))
		}
		if !v.may(Admin) {
			return "", "", fmt.Errorf("%w: a forced cancel needs %s", errLevel, Admin)
		}
		return info.ID, "forced", u.app.ForceCancel(v.Context(), info.ID, v.Form.Get("reason"))
	},
	"pause": func(u *UI, v *visit, info *stepwell.RunInfo) (string, string, error) {
		return info.ID, "pause", u.app.Pause(v.Context(), info.ID, v.Form.Get("reason"))
	},
	"resume": func(u *UI, v *visit, info *stepwell.RunInfo) (string, string, error) {
		return info.ID, "resume", u.app.Resume(v.Context(), info.ID)
	},
	"wake":    wakes(),
	"retries": wakes(stepwell.WakeRetries),
	"starts":  wakes(stepwell.WakeStarts),
	"sleeps":  wakes(stepwell.WakeSleeps),
	"signal":  sendSignal, "hook": sendHook, "heartbeat": sendHeartbeat,
	"retry": func(u *UI, v *visit, info *stepwell.RunInfo) (string, string, error) {
		created, err := u.app.Retry(v.Context(), info.ID)
		return newborn(created, "retry", err)
	},
	"restart": func(u *UI, v *visit, info *stepwell.RunInfo) (string, string, error) {
		input, err := v.json("input")
		version, more := v.whole("version")
		if err = errors.Join(err, more); err != nil {
			return "", "", err
		}
		o := stepwell.RestartOptions{ID: v.Form.Get("id"), Version: int(version), Input: input, InPlace: v.Form.Get("inPlace") != ""}
		created, err := u.app.Restart(v.Context(), info.ID, o)
		return v.createdOnce(newborn(created, "restart", err))
	},
	"fork": func(u *UI, v *visit, info *stepwell.RunInfo) (string, string, error) {
		input, err := v.json("input")
		results, err2 := v.json("results")
		version, err3 := v.whole("version")
		at, err4 := v.whole("at")
		if err = errors.Join(err, err2, err3, err4); err != nil {
			return "", "", err
		}
		o := stepwell.ForkOptions{At: at, ID: v.Form.Get("id"), Version: int(version), Input: input}
		if results != nil {
			if err := json.Unmarshal(results, &o.Results); err != nil {
				return "", "", ofField("results", fmt.Errorf("%w: want an object, with a result for each step's name", world.ErrInvalid))
			}
		}
		created, err := u.app.Fork(v.Context(), info.ID, o)
		return v.createdOnce(newborn(created, "fork", err))
	},
}

// wakes is the act that ends delays.
func wakes(what ...world.Waking) func(u *UI, v *visit, info *stepwell.RunInfo) (run, did string, err error) {
	return func(u *UI, v *visit, info *stepwell.RunInfo) (string, string, error) {
		woken, err := u.app.Wake(v.Context(), info.ID, what...)
		did := "nowake"
		switch {
		case woken.Starts > 0:
			did = "starts"
		case woken.Retries > 0 && woken.Sleeps > 0:
			did = "woken"
		case woken.Retries > 0:
			did = "retries"
		case woken.Sleeps > 0:
			did = "wake"
		case woken.Tried:
			did = "tried"
		}
		return info.ID, did, err
	}
}

func newborn(run *stepwell.Run[json.RawMessage], did string, err error) (string, string, error) {
	if err != nil {
		return "", "", err
	}
	if run.Existed() {
		did = "there"
	}
	return run.ID(), did, nil
}

// createdOnce takes a form that was sent twice for one: the run that it began is there.
func (v *visit) createdOnce(run, did string, err error) (string, string, error) {
	if id := v.Form.Get("id"); errors.Is(err, world.ErrRunExists) && strings.HasPrefix(id, world.PrefixRun+"_") {
		return id, "there", nil
	}
	return run, did, err
}

// json is a field that holds JSON; nil where it is empty.
func (v *visit) json(name string) (json.RawMessage, error) {
	text := strings.TrimSpace(v.Form.Get(name))
	if text == "" {
		return nil, nil
	}
	if most := v.u.host.MaxBody(); int64(len(text)) > most {
		return nil, ofField(name, fmt.Errorf("%w: it has %d bytes, more than %d", world.ErrTooLarge, len(text), most))
	}
	return json.RawMessage(text), ofField(name, world.CheckJSON("it", []byte(text)))
}

// whole is a field that holds a number; 0 where it is empty.
func (v *visit) whole(name string) (int64, error) {
	text := strings.TrimSpace(v.Form.Get(name))
	if text == "" {
		return 0, nil
	}
	n, err := strconv.ParseInt(text, 10, 32)
	if err != nil || n < 1 {
		return 0, ofField(name, fmt.Errorf("%w: %.40q: want a number from 1", world.ErrInvalid, text))
	}
	return n, nil
}
