package cli

// This file starts a run.

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/internal/human"
	"github.com/stepwell/stepwell/world"
)

// begun is what --json says of a run that was started: created; existed, as its key had been used; or merged into one
// that gathers.
type begun struct {
	acted
	Workflow string `json:"workflow"`
	// Retention is how long it is kept after its end; none where it was there.
	Retention stepwell.Span `json:"retention,omitempty"`
}

// startFlags are how a run is started.
type startFlags struct {
	id, key                 string
	version, priority, days int
	delay, timeout, ttl     time.Duration
	retention               time.Duration
	attributes              map[string]any
	tags                    map[string]string
	attrs, context, sends   []string
	blobs                   []string               // files that the input refers to
	also                    []stepwell.StartOption // events that it sends
	wait, helpInput         bool
	patience                *time.Duration
}

func runsStartCommand(c *cli) *cobra.Command {
	var flags startFlags
	cmd := &cobra.Command{
		Use:   "start WORKFLOW [JSON|-]",
		Short: "Start a run",
		Long: `Start a run of a workflow with a JSON input. With - the input is read from standard input; without JSON it is null. If no
worker has the workflow, the run waits for one, and the command says so on standard error. With an idempotency key or a
run ID you can start it again safely: you get the same run. An input that does not fit the version that a live worker has
is refused, and you see where.

--wait waits for the output, as stepwell runs result does.
--send sends events with the start. A new run has them before its code begins; a run that has the key gets them too. If
you repeat the start, they are sent again.
--blob uploads a file as a blob of the run and puts its reference into the input, for workflows that take a blob.Ref.
--help-input starts nothing. It prints an input to fill in, and a description of each member on standard error.

If the workflow gathers the inputs of its starts (a debounce or a batch), the input is merged into the run that gathers
them, and standard output says so. For a batch, give one item or a list of items.

` + exitHelp,
		Example: `  stepwell runs start onboard-user '{"email":"a@b.c"}' --key user-42
  stepwell runs start order - --delay 2h --attr city=Ulm < order.json
  stepwell runs start cart '{"who":"ann"}' --key ann --send 'added={"item":"book"}'
  stepwell runs start order --help-input > order.json
  stepwell runs start import '{"tenant":"acme"}' --blob rows=orders.csv
  stepwell runs start report --wait`,
		Args: arguments(1, 2, "WORKFLOW and optional JSON"),
		ValidArgsFunction: func(cmd *cobra.Command, args []string, begins string) ([]string, cobra.ShellCompDirective) {
			if len(args) > 0 {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			return c.completeWorkflow(cmd, nil, begins)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if flags.helpInput {
				if len(args) > 1 {
					return usagef("leave the input out", "--help-input starts nothing")
				}
				return c.with(cmd.Context(), func(db *database) error { return helpInput(cmd.Context(), c, db.app, args[0], flags.version) })
			}
			input, err := jsonOf(c, args[1:], mostInput)
			if err == nil {
				err = flags.read()
			}
			if err != nil {
				return err
			}
			return c.with(cmd.Context(), func(db *database) error {
				input, err := flags.upload(cmd.Context(), db, args[0], input)
				if err != nil {
					return err
				}
				return startNow(cmd.Context(), c, db, args[0], input, &flags)
			})
		},
	}
	fl := cmd.Flags()
	wordFlag(cmd, &flags.id, "id", "`ID` of the run (default: a new one)")
	wordFlag(cmd, &flags.key, "key", "idempotency `key`: with the same key you get the same run")
	fl.IntVar(&flags.version, "version", 0, "`version` of the workflow (default: the highest that a live worker has)")
	fl.IntVar(&flags.priority, "priority", 0, "from 1 to 4, which is served first (default 2)")
	spanFlag(cmd, func(d time.Duration) { flags.delay = d }, "delay", "how `long` to delay its start: 90s, 5m, 2h, 7d")
	lastingFlag(cmd, &flags.timeout, "timeout", "how `long` it may take, or forever (default: as the workflow says)")
	lastingFlag(cmd, &flags.ttl, "start-ttl", "how `long` until it must have begun, or it is cancelled; or forever (default: as the workflow says)")
	fl.IntVar(&flags.days, "retention-days", 0, "for how many `days` it is kept after its end (default: as the workflow says)")
	fl.StringArrayVar(&flags.attrs, "attr", nil, "an attribute to start with, `NAME=VALUE`; the value is JSON or a text; may be repeated")
	fl.StringArrayVar(&flags.sends, "send", nil, "an event to send with the start, `EVENT=JSON`, or EVENT alone for null; may be repeated")
	fl.StringArrayVar(&flags.blobs, "blob", nil, "upload a `FILE`, up to 1 GiB, as the input, or MEMBER=FILE as a member of it; may be repeated")
	fl.StringArrayVar(&flags.context, "context", nil, "a context entry to keep with it, such as traceparent, `NAME=TEXT`; may be repeated")
	fl.BoolVar(&flags.helpInput, "help-input", false, "print an input to fill in and a description of it; with --json print its JSON Schema")
	fl.BoolVar(&flags.wait, "wait", false, "wait until it is over, and print its output")
	patienceFlag(cmd, &flags.patience)
	c.actFlag(cmd)
	return cmd
}

// read reads the flags that are texts.
func (f *startFlags) read() error {
	const most = 36525
	if f.days < 0 || f.days > most {
		return usagef(fmt.Sprintf("give 1 to %d", most), "--retention-days %d", f.days)
	}
	f.retention = time.Duration(f.days) * 24 * time.Hour
	for _, text := range f.attrs {
		name, value, ok := strings.Cut(text, "=")
		if !ok {
			return usagef("write NAME=VALUE, as in city=Ulm", "--attr %q has no value", text)
		}
		if _, twice := f.attributes[name]; twice {
			return usagef("", "--attr %s is there twice", name)
		}
		if f.attributes == nil {
			f.attributes = map[string]any{}
		}
		if f.attributes[name] = value; json.Valid([]byte(value)) {
			f.attributes[name] = json.RawMessage(value)
		}
	}
	for _, text := range f.sends {
		event, payload, ok := strings.Cut(text, "=")
		if payload = strings.TrimSpace(payload); !ok {
			payload = "null"
		}
		next := `write EVENT=JSON, quoted for the shell: --send 'added={"item":"book"}'`
		if err := world.CheckName("event", event); err != nil {
			return usagef(next, "--send %q: %w", text, err)
		}
		if err := checkJSON("the payload of --send "+event, []byte(payload), next); err != nil {
			return err
		}
		f.also = append(f.also, stepwell.AlsoSignal(event, json.RawMessage(payload)))
	}
	for _, text := range f.context {
		name, value, ok := strings.Cut(text, "=")
		if !ok {
			return usagef("write NAME=TEXT", "--context %q has no text", text)
		}
		if f.tags == nil {
			f.tags = map[string]string{}
		}
		f.tags[name] = value
	}
	return nil
}

// options are the flags as the run's start takes them.
func (f *startFlags) options() []stepwell.StartOption {
	opts := []stepwell.StartOption{
		stepwell.RunID(f.id), stepwell.Key(f.key), stepwell.Version(f.version), stepwell.Priority(f.priority), stepwell.Delay(f.delay),
		stepwell.Retention(f.retention), stepwell.Tags(f.tags), stepwell.Attributes(f.attributes),
	}
	if f.timeout != 0 { // 0: as the workflow says
		opts = append(opts, stepwell.Timeout(f.timeout))
	}
	if f.ttl != 0 {
		opts = append(opts, stepwell.StartTTL(f.ttl))
	}
	return append(opts, f.also...)
}

// wordFlag is a flag that is a text. An empty one, as of a variable that is not set, is refused: it is not as if it were not given.
func wordFlag(cmd *cobra.Command, into *string, flag, usage string) {
	cmd.Flags().Func(flag, usage, func(text string) error {
		if text == "" {
			return usagef("leave it out, or give it a value", "--%s is empty", flag)
		}
		*into = text
		return nil
	})
}

// spanFlag is a flag that is a duration.
func spanFlag(cmd *cobra.Command, set func(time.Duration), flag, usage string) {
	cmd.Flags().Func(flag, usage, func(text string) error {
		d, err := human.ParseSpan(text)
		if err != nil {
			return usagef("", "--%s %q: %w", flag, text, err)
		}
		set(d)
		return nil
	})
}

// lastingFlag is a span, or forever: then what the workflow says does not hold.
func lastingFlag(cmd *cobra.Command, into *time.Duration, flag, usage string) {
	cmd.Flags().Func(flag, usage, func(text string) error {
		var k stepwell.Span
		if err := k.UnmarshalText([]byte(text)); err != nil {
			return usagef("", "--%s %q: %w", flag, text, err)
		}
		*into = time.Duration(k)
		return nil
	})
}

func startNow(ctx context.Context, c *cli, db *database, workflow string, input json.RawMessage, flags *startFlags) error {
	run, err := db.app.Start(ctx, workflow, input, flags.options()...)
	if errors.Is(err, stepwell.ErrUnfit) {
		return &fault{exitUsage, err, "see the input that it takes:  " + c.command("runs start "+workflow+" --help-input")}
	}
	if err != nil {
		return c.explain(err, flags.id)
	}
	kept := stepwell.Span(run.Retention())
	if info, err := db.app.Get(ctx, run.ID()); err == nil && kept != 0 { // a server may have lowered it
		kept = info.Retention
	}
	is := begun{acted{Run: run.ID(), Action: "start", Result: "created"}, workflow, kept}
	text := fmt.Sprintf("started run %s\n  see it:  %s", is.Run, c.command("runs show "+is.Run))
	if kept := time.Duration(kept); kept > 0 && kept < flags.retention {
		text += fmt.Sprintf("\n  it is kept for %s after its end, not %s, because of the limit here", human.Span(kept), human.Span(flags.retention))
	}
	if run.Existed() {
		is.Result = "existed"
		text = fmt.Sprintf("run %s was already started with the same key\n  see it:  %s", is.Run, c.command("runs show "+is.Run))
		if flags.key == "" {
			text = fmt.Sprintf("run %s is live, and nothing was started, because %s is a singleton\n  see it:  %s", is.Run, workflow, c.command("runs show "+is.Run))
		}
	}
	if run.Merged() {
		is.Result = "merged"
		text = fmt.Sprintf("run %s gathers inputs and now has this one; no other run was started\n  see it:  %s", is.Run, c.command("runs show "+is.Run))
	}
	if err := c.warnNobody(ctx, db, run.ID()); err != nil {
		return err
	}
	if flags.wait && !c.json { // standard output is the run's
		fmt.Fprintln(c.stderr, human.VisibleLines(text))
		return awaitResult(ctx, c, db.app, run, flags.patience, false)
	}
	if err := c.tell(is, text); err != nil || !flags.wait {
		return err
	}
	return awaitResult(ctx, c, db.app, run, flags.patience, false)
}

// warnNobody says that no live worker has the workflow of a run, where that is so: the run waits, and its name may be
// written wrong.
func (c *cli) warnNobody(ctx context.Context, db *database, run string) error {
	info, err := db.app.Get(ctx, run)
	if err != nil {
		return c.explain(err, run)
	}
	stats, err := db.world.Stats(ctx)
	if err != nil || info.Status != world.Pending {
		return err
	}
	if info.Queue != nil && info.Queue.Held {
		fmt.Fprintf(c.stderr, "workflow %s is held: run %s begins when you release it\n  to let it begin:  %s\n", human.Visible(info.Workflow), info.ID, c.command("workflows release "+shellWord(info.Workflow)))
		return nil
	}
	var known []string
	for _, w := range stats.Workers {
		for _, class := range w.Classes {
			if !w.Until.After(stats.Now) {
				continue
			}
			if class.Workflow == info.Workflow && (class.Version == info.Version || info.Version == 0) {
				return nil
			}
			name := human.Visible(class.Workflow)
			if class.Workflow == info.Workflow {
				name = fmt.Sprintf("%s v%d", name, class.Version)
			}
			if !slices.Contains(known, name) {
				known = append(known, name)
			}
		}
	}
	is, there := "workflow "+human.Visible(info.Workflow), "no worker is running"
	if info.Version > 1 {
		is += fmt.Sprintf(", version %d", info.Version)
	}
	if slices.Sort(known); len(known) > 0 {
		there = "workers have " + strings.Join(known[:min(len(known), mostKnown)], ", ")
		if more := len(known) - mostKnown; more > 0 {
			there += fmt.Sprintf(" and %d more", more)
		}
	}
	fmt.Fprintf(c.stderr, "no worker has %s: run %s waits for a worker that does; %s\n", is, info.ID, there)
	return nil
}

// mostKnown is how many workflows are named that workers have.
const mostKnown = 10

func runsResultCommand(c *cli) *cobra.Command {
	var patience *time.Duration
	var exactly bool
	cmd := &cobra.Command{
		Use:   "result RUN",
		Short: "Wait until a run is over, and print its output",
		Long: `Wait until a run is over, and print its output as JSON. If the run failed or was cancelled, the command says why, and
the exit code is 9. If it was retried, or restarted in place, you get the result of the newest run that replaced it;
with --exactly you get its own. --patience limits the wait; the exit code is 5 if it runs out.

` + exitHelp,
		Example: `  stepwell runs result wrun_01JD3V7Q5ZJ8K2M4N6P8R0T2V4
  stepwell runs result wrun_01JD3V --patience 30s | jq .userId`,
		Args:              arguments(1, 1, "RUN"),
		ValidArgsFunction: c.completeRun,
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.with(cmd.Context(), func(db *database) error {
				run, err := c.find(cmd.Context(), db, args[0])
				if err != nil {
					return err
				}
				get := db.app.Newest
				if exactly {
					get = db.app.Get
				}
				info, err := get(cmd.Context(), run)
				if err != nil {
					return c.explain(err, run)
				}
				if is := halted(&info); is != "" {
					fmt.Fprintf(c.stderr, "run %s is %s and does not continue by itself; see why:  %s\n", info.ID, is, c.command("runs show "+info.ID))
				}
				return awaitResult(cmd.Context(), c, db.app, someRun.Get(db.app, run), patience, exactly)
			})
		},
	}
	patienceFlag(cmd, &patience)
	cmd.Flags().BoolVar(&exactly, "exactly", false, "the result of this very run, not of its retry")
	c.jsonFlag(cmd, "write the end of the run as one JSON object")
	return cmd
}

// halted is how a run stands that does not go on by itself: blocked, or paused; "": it does, or is over.
func halted(info *stepwell.RunInfo) string {
	switch q := info.Queue; {
	case info.Status.Terminal() || q == nil:
		return ""
	case q.Blocked != nil:
		return "blocked"
	case q.Paused:
		return "paused"
	}
	return ""
}

// patienceFlag says how long a command waits; nil: for ever.
func patienceFlag(cmd *cobra.Command, into **time.Duration) {
	spanFlag(cmd, func(d time.Duration) { *into = &d }, "patience", "how `long` to wait at most: 30s, 5m (default: until the run is over)")
}

// someRun is a workflow whose handles are those of any run.
var someRun = stepwell.Define("some-run", func(stepwell.Context, json.RawMessage) (json.RawMessage, error) { return nil, nil })

// resulted is what --json says of a run that is over.
type resulted struct {
	acted
	Output json.RawMessage `json:"output,omitempty"`
}

// afterFailure says how to go on from where a run failed; "" where that cannot be told.
func afterFailure(ctx context.Context, c *cli, app *stepwell.App, run string) string {
	advice, err := app.RetryAdvice(ctx, run)
	switch {
	case err != nil:
		return ""
	case advice.Refused != "":
		return "\n  no retry: " + advice.Refused + "; " + c.insteadOf(run, &advice)
	}
	return "\n  continue from where it failed:  " + c.command("runs retry "+run)
}

// awaitResult waits until a run is over, and prints its output.
func awaitResult(ctx context.Context, c *cli, app *stepwell.App, run *stepwell.Run[json.RawMessage], patience *time.Duration, exactly bool) error {
	if exactly {
		run = run.Exactly()
	}
	waiting, stop := ctx, context.CancelFunc(func() {})
	if patience != nil {
		waiting, stop = context.WithTimeout(ctx, *patience)
	}
	defer stop()
	output, err := run.Result(waiting)
	var ended *stepwell.RunError
	switch {
	case errors.As(err, &ended):
		next := "see what happened:  " + c.command("runs show "+ended.Run)
		if !ended.Cancelled {
			next += afterFailure(ctx, c, app, ended.Run)
		}
		return &fault{exitNotCompleted, err, next}
	case err != nil && ctx.Err() == nil && waiting.Err() != nil:
		return &fault{exitLater, fmt.Errorf("run %s is not over after %s: %w", run.ID(), patience, context.DeadlineExceeded), "see what it is doing:  " + c.command("runs show "+run.ID())}
	case err != nil:
		return c.explain(err, run.ID())
	}
	if c.json {
		of := run.ID()
		if newest, err := app.Newest(ctx, of); err == nil && !exactly {
			of = newest.ID
		}
		return c.encoder().Encode(resulted{acted{Run: of, Action: "result", Result: string(world.Completed)}, output})
	}
	_, err = fmt.Fprintln(visibleJSON{c.stdout}, string(output))
	return err
}
