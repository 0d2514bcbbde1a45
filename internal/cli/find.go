package cli

// This file finds the run that a person means: a whole ID, the beginning of one, or a key.

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/world"
)

// How long a beginning must be, and how many runs are counted that have one.
const (
	shortestPrefix = 4
	mostAlike      = 100
)

// mostCompleted is how many runs a shell offers.
const mostCompleted = 50

// completeRun offers the newest runs for the first argument.
func (t *target) completeRun(cmd *cobra.Command, args []string, begins string) (ids []string, _ cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	_ = t.with(cmd.Context(), func(db *database) error { // a shell has no place for an error
		page, err := db.app.Page(cmd.Context(), stepwell.ListFilter{Prefix: begins}, "", mostCompleted)
		for _, r := range page.Runs {
			ids = append(ids, r.ID+"\t"+r.Workflow+", "+string(r.Status))
		}
		return err
	})
	return ids, cobra.ShellCompDirectiveNoFileComp
}

// find returns the ID of the run that arg names: all of it, or a beginning that no other has, with its prefix or
// without. Where none begins so, it is the run with that idempotency key, or into which the start with it was merged.
func (t *target) find(ctx context.Context, db *database, arg string) (string, error) {
	id, merged, err := findOrMerged(ctx, t, db, arg)
	if merged {
		fmt.Fprintf(t.sh.stderr, "the start with the key %q was merged into run %s\n", arg, id)
	}
	return id, err
}

// findToAct is find for what changes a run: one into which a start was merged has other inputs too, and is to be named
// by its ID.
func findToAct(ctx context.Context, t *target, db *database, arg string) (string, error) {
	id, merged, err := findOrMerged(ctx, t, db, arg)
	if merged {
		return "", &fault{exitUsage, fmt.Errorf("the start with the key %q was merged into run %s, which may have other inputs too: to act on it, give its ID", arg, id),
			"see it:  " + t.command("runs show "+id)}
	}
	return id, err
}

// findOrMerged is find, and whether the run is only what the start with that key was merged into.
func findOrMerged(ctx context.Context, t *target, db *database, arg string) (id string, merged bool, err error) {
	_, err = db.world.Run(ctx, arg)
	if err == nil {
		return arg, false, nil
	}
	prefix := strings.TrimRight(arg, "….")
	if !errors.Is(err, stepwell.ErrNotFound) && !errors.Is(err, stepwell.ErrInvalid) {
		return "", false, t.explain(err, arg)
	}
	var found []stepwell.RunInfo
	more := false
	for _, begins := range []string{prefix, world.PrefixRun + "_" + prefix} {
		f := stepwell.ListFilter{Prefix: begins}
		if len(prefix) < shortestPrefix || world.CheckRunID(begins) != nil {
			continue
		}
		page, err := db.app.Page(ctx, f, "", mostAlike)
		if err != nil {
			return "", false, err
		}
		found, more = append(found, page.Runs...), more || page.Cursor != ""
	}
	say, list := "%s runs have IDs that begin with %s: give more of the ID", "runs list --prefix "+shellWord(prefix)
	if len(found) == 0 && !more && world.CheckKey("key", arg) == nil {
		page, err := db.app.Page(ctx, stepwell.ListFilter{Key: arg}, "", mostAlike)
		if err != nil {
			return "", false, err
		}
		for _, r := range page.Runs {
			if r.Newest == nil { // or another has taken its key over
				found = append(found, r)
			}
		}
		say, list = "%s runs have the key %s: give the ID", "runs list --key "+shellWord(arg)
	}
	switch {
	case len(found) == 0 && !more:
		return "", false, t.explain(err, arg)
	case len(found) == 1 && !more:
		return found[0].ID, found[0].Merged, nil
	}
	var shown []string
	for _, r := range found[:min(len(found), 5)] {
		shown = append(shown, r.ID+"  "+r.Workflow+", "+string(r.Status))
	}
	count := strconv.Itoa(len(found))
	switch {
	case more:
		count = "more than " + count
		shown = append(shown, "and more:  "+t.command(list))
	case len(found) > len(shown):
		shown = append(shown, fmt.Sprintf("and %d more", len(found)-len(shown)))
	}
	return "", false, &fault{exitUsage, fmt.Errorf(say, count, arg), strings.Join(shown, "\n  ")}
}

// relatives finds the runs that a filter names. One that is not there any more may have children that are.
func (t *target) relatives(ctx context.Context, db *database, f *stepwell.ListFilter) error {
	for _, run := range []*string{&f.Parent, &f.Origin} {
		if *run == "" {
			continue
		}
		id, err := t.find(ctx, db, *run)
		if missing, ok := errors.AsType[*fault](err); ok && missing.code == exitNotFound {
			continue
		}
		if err != nil {
			return err
		}
		*run = id
	}
	return nil
}
