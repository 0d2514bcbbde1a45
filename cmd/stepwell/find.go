package main

// This file finds the run that a person means: a whole ID, or the beginning of one.

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

// find returns the ID of the run that arg names: all of it, or a beginning that no other has, with its prefix or without.
func (t *target) find(ctx context.Context, db *database, arg string) (string, error) {
	_, err := db.world.Run(ctx, arg)
	if err == nil {
		return arg, nil
	}
	prefix := strings.TrimRight(arg, "….")
	if !errors.Is(err, stepwell.ErrNotFound) || len(prefix) < shortestPrefix {
		return "", t.explain(err, arg)
	}
	var found []stepwell.RunInfo
	more := false
	for _, begins := range []string{prefix, world.PrefixRun + "_" + prefix} {
		f := stepwell.ListFilter{Prefix: begins}
		if world.CheckRunID(begins) != nil {
			continue
		}
		page, err := db.app.Page(ctx, f, "", mostAlike)
		if err != nil {
			return "", err
		}
		found, more = append(found, page.Runs...), more || page.Cursor != ""
	}
	switch {
	case len(found) == 0 && !more:
		return "", t.explain(stepwell.ErrNotFound, arg)
	case len(found) == 1 && !more:
		return found[0].ID, nil
	}
	var list []string
	for _, r := range found[:min(len(found), 5)] {
		list = append(list, r.ID+"  "+r.Workflow+", "+string(r.Status))
	}
	count := strconv.Itoa(len(found))
	switch {
	case more:
		count = "more than " + count
		list = append(list, "and more:  "+t.command("runs list --prefix "+shellWord(prefix)))
	case len(found) > len(list):
		list = append(list, fmt.Sprintf("and %d more", len(found)-len(list)))
	}
	return "", &fault{exitUsage, fmt.Errorf("%s runs begin with %s: give more of the ID", count, arg), strings.Join(list, "\n  ")}
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
