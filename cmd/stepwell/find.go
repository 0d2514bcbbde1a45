package main

// This file finds the run that a person means: a whole ID, or the beginning of one.

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/stepwell/stepwell"
)

// How long a beginning must be, and how many runs are looked at for it.
const (
	shortestPrefix = 4
	mostLookedAt   = 2000
)

// mostCompleted is how many runs a shell offers.
const mostCompleted = 50

// completeRun offers the newest runs for the first argument.
func (c *cli) completeRun(cmd *cobra.Command, args []string, begins string) (ids []string, _ cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	_ = c.with(cmd.Context(), func(db *database) error { // a shell has no place for an error
		seen := 0
		for r, err := range db.app.List(cmd.Context(), stepwell.ListFilter{}) {
			if seen++; err != nil || seen > mostLookedAt || len(ids) == mostCompleted {
				return err
			}
			if strings.HasPrefix(r.ID, begins) {
				ids = append(ids, r.ID+"\t"+r.Workflow+", "+string(r.Status))
			}
		}
		return nil
	})
	return ids, cobra.ShellCompDirectiveNoFileComp
}

// find returns the ID of the run that arg names.
func (c *cli) find(ctx context.Context, db *database, arg string) (string, error) {
	_, err := db.world.Run(ctx, arg)
	if err == nil {
		return arg, nil
	}
	prefix := strings.TrimRight(arg, "….")
	if !errors.Is(err, stepwell.ErrNotFound) || len(prefix) < shortestPrefix {
		return "", c.explain(err, arg)
	}
	var found []string
	seen := 0
	for r, err := range db.app.List(ctx, stepwell.ListFilter{}) {
		if err != nil {
			return "", err
		}
		if seen++; seen > mostLookedAt {
			return "", &fault{exitNotFound, fmt.Errorf("there is no run %s in %s, and too many to look for one that begins so", arg, c.place), "give the whole ID:  " + c.command("runs list")}
		}
		if strings.HasPrefix(r.ID, prefix) || strings.HasPrefix(r.ID, "wrun_"+prefix) {
			found = append(found, r.ID)
		}
	}
	switch len(found) {
	case 0:
		return "", c.explain(stepwell.ErrNotFound, arg)
	case 1:
		return found[0], nil
	}
	list := strings.Join(found[:min(len(found), 5)], "\n  ")
	if len(found) > 5 {
		list += fmt.Sprintf("\n  and %d more", len(found)-5)
	}
	return "", &fault{exitUsage, fmt.Errorf("%d runs begin with %s: give more of the ID", len(found), arg), list}
}
