package cli

// This file makes the commands of operations. A command is the row of its operation in package api,
// its texts and flags, and how people read the answer.

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/stepwell/stepwell/acting"
	"github.com/stepwell/stepwell/api"
	"github.com/stepwell/stepwell/internal/human"
	"github.com/stepwell/stepwell/internal/ops"
	"github.com/stepwell/stepwell/world"
)

// withAPI opens the database or the server for f, which calls operations for the user.
func (c *cli) withAPI(ctx context.Context, f func(ctx context.Context, do api.Caller) error) error {
	return c.with(ctx, func(db *database) error {
		return f(acting.For(ctx, c.who), whole{ops.New(db.app, ops.Options{Now: c.now})})
	})
}

// longestWait is how long one receive waits.
const longestWait = 30 * time.Second

// whole repeats calls until an operation in pieces has done all, and until a receive has waited for
// as long as it was asked to.
type whole struct{ api.Caller }

// Call calls an operation.
func (w whole) Call(ctx context.Context, row *api.Row, in, out any) error {
	switch out := out.(type) {
	case *api.QueueChanged:
		for all := 0; ; all = out.Messages {
			err := w.Caller.Call(ctx, row, in, out)
			out.Messages += all
			if err != nil || !out.More {
				return err
			}
		}
	case *api.ReceivedMessages:
		in := *in.(*api.ReceiveMessages)
		end := time.Now().Add(time.Duration(in.Wait))
		for {
			in.Wait = min(in.Wait, api.Span(longestWait))
			err := w.Caller.Call(ctx, row, &in, out)
			in.Wait = api.Span(time.Until(end))
			if err != nil || len(out.Messages) > 0 || in.Wait <= 0 {
				return err
			}
		}
	}
	return w.Caller.Call(ctx, row, in, out)
}

// subject is what the commands of a group are about.
type subject struct {
	kind     string                // such as queue: the name of a field of a path
	before   string                // its name in sentences: "queue ", or nothing
	own      func(err error) error // explains errors that only this group has; nil: it has none
	missing  func(name string) string
	conflict func(name string) string
	complete cobra.CompletionFunc
}

// explain says what went wrong, and what next. name is the name that the command was given.
func (s *subject) explain(c *cli, err error, name string) error {
	if err != nil && s.own != nil {
		err = s.own(err)
	}
	var f *fault
	switch {
	case err == nil || errors.As(err, &f):
		return err
	case errors.Is(err, world.ErrNotFound) && s.missing != nil:
		text := fmt.Errorf("there is no %s %s in %s", s.kind, human.Visible(name), c.place())
		return &fault{exitNotFound, coded{text, err}, s.missing(name)}
	case errors.Is(err, world.ErrConflict) && s.conflict != nil:
		return &fault{exitFailure, err, s.conflict(name)}
	case errors.Is(err, world.ErrInvalid), errors.Is(err, world.ErrTooLarge):
		return &fault{exitUsage, err, "nothing was changed"}
	}
	return err
}

// operation makes cmd the command of an operation: its first argument is the field of the path, if
// there is one, and f calls it with in. PreRunE of cmd reads further arguments.
func operation[In, Out any](
	c *cli, of *subject, op api.Op[In, Out], in *In, cmd *cobra.Command,
	f func(ctx context.Context, do api.Caller, name string) error,
) *cobra.Command {
	_, names, _ := strings.Cut(cmd.Use, " ")
	if n := len(strings.Fields(names)); cmd.Args == nil {
		cmd.Args = arguments(n, n, cmp.Or(names, "no arguments"))
	}
	cmd.Short = cmp.Or(cmd.Short, op.Summary)
	cmd.Long += "\n\n" + exitHelp
	fields := reflect.ValueOf(in).Elem()
	path := slices.IndexFunc(op.Fields, func(f api.Field) bool { return f.Place == api.InPath })
	if path >= 0 && op.Fields[path].Name == of.kind {
		cmd.ValidArgsFunction = of.complete
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		name := ""
		if path >= 0 {
			name = args[0]
			fields.Field(op.Fields[path].Index).SetString(name)
		}
		return c.withAPI(cmd.Context(), func(ctx context.Context, do api.Caller) error {
			return of.explain(c, f(ctx, do, name), name)
		})
	}
	return cmd
}

// actedOn is what --json says of an operation that acts: the name of the subject, and what the
// operation answers.
type actedOn struct {
	acted
	Queue        string   `json:"queue,omitempty"`
	Topic        string   `json:"topic,omitempty"`
	Subscription string   `json:"subscription,omitempty"`
	Schedule     string   `json:"schedule,omitempty"`
	Limit        string   `json:"limit,omitempty"`
	Workflow     string   `json:"workflow,omitempty"`
	Message      string   `json:"message,omitempty"`
	Publication  string   `json:"publication,omitempty"`
	Receipt      string   `json:"receipt,omitempty"`
	Duplicate    bool     `json:"duplicate,omitempty"`
	Messages     int      `json:"messages,omitempty"` // how many were changed
	Secret       string   `json:"secret,omitempty"`   // a new one
	Number       *int     `json:"number,omitempty"`   // of a limit, as it is now
	Run          string   `json:"run,omitempty"`      // the run that was started
	Started      []string `json:"started,omitempty"`  // runs of past times
	Existed      []string `json:"existed,omitempty"`  // runs of past times that had one
}

// act makes the command of an operation that changes something. result is the word for it in
// --json. tell adds members for --json, and returns the sentence for people. Without tell the
// sentence is the result and the name.
func act[In, Out any](
	c *cli, of *subject, op api.Op[In, Out], in *In, cmd *cobra.Command,
	result string, tell func(out *Out, is *actedOn) string,
) *cobra.Command {
	c.actFlag(cmd)
	f := func(ctx context.Context, do api.Caller, name string) error {
		out, err := api.Do(ctx, do, op, *in)
		if err != nil {
			return err
		}
		is := actedOn{acted: acted{Action: cmd.Name(), Result: result}}
		field := op.In.Field(op.Fields[0].Index).Name
		reflect.ValueOf(&is).Elem().FieldByName(field).SetString(name)
		text := result + " " + of.before + name
		if tell != nil {
			text = tell(&out, &is)
		}
		return c.tell(is, text)
	}
	return operation(c, of, op, in, cmd, f)
}

// show makes the command of an operation that answers one thing. With --json it is written as it
// is, else draw writes it.
func show[In, Out any](
	c *cli, of *subject, op api.Op[In, Out], in *In, cmd *cobra.Command,
	draw func(c *cli, out *Out),
) *cobra.Command {
	c.jsonFlag(cmd, "write one JSON object")
	return operation(c, of, op, in, cmd, func(ctx context.Context, do api.Caller, _ string) error {
		out, err := api.Do(ctx, do, op, *in)
		switch {
		case err != nil:
			return err
		case c.json:
			return c.encoder().Encode(out)
		}
		draw(c, &out)
		return nil
	})
}

// list makes the command of an operation that answers a list. With --json each item is a line, else
// a row under head. end returns a line for people after n items; more means that there are others.
func list[In, Out, Item any](
	c *cli, of *subject, op api.Op[In, Out], in *In, cmd *cobra.Command,
	head []cell, row func(i *Item) []cell, end func(n int, more bool) string,
) *cobra.Command {
	c.jsonFlag(cmd, "write one JSON object per "+itemOf[Item](op.Row))
	return operation(c, of, op, in, cmd, func(ctx context.Context, do api.Caller, _ string) error {
		t := &table{Gap: "  "}
		t.Add(head...)
		n, more, err := each(ctx, do, op, *in, func(i *Item) error {
			if c.json {
				return c.encoder().Encode(i)
			}
			t.Add(row(i)...)
			return nil
		})
		if err != nil || c.json {
			return err
		}
		if n > 0 {
			t.Write(c.stdout, c.style())
		}
		if text := end(n, more); text != "" {
			fmt.Fprintln(c.stderr, text)
		}
		return nil
	})
}

// itemOf is the name of an item of the list that an operation answers.
func itemOf[Item any](row *api.Row) string {
	for i := range row.Out.NumField() {
		if f := row.Out.Field(i); f.Type == reflect.TypeFor[[]Item]() {
			return strings.TrimSuffix(f.Tag.Get("json"), "s")
		}
	}
	panic("operation " + row.ID + " answers no such list")
}

// mostOfPage is how many items are asked for at once.
const mostOfPage = 100

// each calls f with the items of a list, page by page. If the input has a cursor, its limit is how
// many items there are at most; 0: all. more means that there are others.
func each[In, Out, Item any](
	ctx context.Context, do api.Caller, op api.Op[In, Out], in In, f func(i *Item) error,
) (n int, more bool, err error) {
	query := map[string]reflect.Value{}
	for _, f := range op.Fields {
		if f.Place == api.InQuery {
			query[f.Name] = reflect.ValueOf(&in).Elem().Field(f.Index)
		}
	}
	cursor, limit := query["cursor"], query["limit"]
	most := 0
	if cursor.IsValid() {
		most = int(limit.Int())
	}
	for {
		if most > 0 {
			limit.SetInt(int64(min(most-n, mostOfPage)))
		}
		out, err := api.Do(ctx, do, op, in)
		if err != nil {
			return n, false, err
		}
		next := ""
		for i := range op.Out.NumField() {
			switch part := reflect.ValueOf(out).Field(i).Interface().(type) {
			case []Item:
				for i := range part {
					if err := f(&part[i]); err != nil {
						return n, false, err
					}
				}
				n += len(part)
			case string:
				next = part
			}
		}
		if next == "" || most > 0 && n >= most {
			return n, next != "", nil
		}
		cursor.SetString(next)
	}
}

// completes offers the items of a list for the first argument. says returns the name of an item, a
// tab and a word on it.
func completes[In, Out, Item any](
	c *cli, op api.Op[In, Out], says func(i *Item) string,
) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, begins string) ([]string, cobra.ShellCompDirective) {
		var names []string
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		// A shell has no place for an error.
		_ = c.withAPI(cmd.Context(), func(ctx context.Context, do api.Caller) error {
			var all In
			_, _, err := each(ctx, do, op, all, func(i *Item) error {
				if text := says(i); strings.HasPrefix(text, begins) && len(names) < mostCompleted {
					names = append(names, text)
				}
				return nil
			})
			return err
		})
		return names, cobra.ShellCompDirectiveNoFileComp
	}
}

// heads are the heads of columns. One that begins with > is on the right.
func heads(names ...string) (row []cell) {
	for _, name := range names {
		text, right := strings.CutPrefix(name, ">")
		row = append(row, cell{Text: text, Tone: dim, Right: right})
	}
	return row
}

// number is a number in a table.
func number[N int | int64](n N) cell { return cell{Text: fmt.Sprint(n), Right: true} }

// none is the end of a list: a line if it is empty.
func none(c *cli, what string) func(n int, more bool) string {
	return func(n int, _ bool) string {
		if n > 0 {
			return ""
		}
		return what + " in " + c.place()
	}
}

// numberFlag is a flag that is a number from least to most; most 0: without a bound.
func numberFlag(cmd *cobra.Command, into *int, flag string, least, most int, usage string) {
	cmd.Flags().Var(&numberValue{into, func(n int) error {
		want := fmt.Sprintf("%d to %d", least, most)
		if most == 0 {
			want = fmt.Sprintf("%d or more", least)
		}
		if n < least || most > 0 && n > most {
			return usagef("see "+cmd.CommandPath()+" --help", "--%s %d: want %s", flag, n, want)
		}
		return nil
	}}, flag, usage)
}

// numberValue is the value of a numberFlag.
type numberValue struct {
	into  *int
	check func(n int) error
}

func (v *numberValue) String() string { return strconv.Itoa(*v.into) }

func (v *numberValue) Type() string { return "int" }

func (v *numberValue) Set(text string) error {
	n, err := strconv.ParseInt(text, 0, strconv.IntSize)
	if err != nil {
		return err
	}
	*v.into = int(n)
	return v.check(*v.into)
}

// durationFlag is a flag that is a duration.
func durationFlag(cmd *cobra.Command, into *api.Span, flag, usage string) {
	spanFlag(cmd, func(d time.Duration) { *into = api.Span(d) }, flag, usage)
}

// rawFlag is a flag that is JSON, such as example.
func rawFlag(cmd *cobra.Command, into *json.RawMessage, flag, usage, example string) {
	cmd.Flags().Func(flag, usage, func(text string) error {
		if text == "" {
			return nil
		}
		*into = json.RawMessage(text)
		return checkJSON("--"+flag, *into, "quote it for the shell: '"+example+"'")
	})
}

// pairFlag is a flag that may be repeated, each time a name with a value.
func pairFlag(cmd *cobra.Command, into *map[string]string, flag, value, usage string) {
	cmd.Flags().Func(flag, usage, func(text string) error {
		name, is, ok := strings.Cut(text, "=")
		if !ok || name == "" {
			return usagef("write it as name="+value, "--%s %q has no name", flag, text)
		}
		if *into == nil {
			*into = map[string]string{}
		}
		(*into)[name] = is
		return nil
	})
}
