package cli

// This file shows something on a terminal, and shows it anew as it changes.

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/stepwell/stepwell/internal/human"
)

// watchPause is the time between two looks.
const watchPause = 2 * time.Second

// mayWatch refuses to draw where nothing can be drawn anew.
func mayWatch(c *cli) error {
	if !c.terminal || c.json {
		return usagef("list again in a loop, or follow one run:  "+c.command("runs tail RUN --json"), "--watch draws on a terminal, and writes no JSON")
	}
	return nil
}

// watch shows what look writes, again and again until ctx ends. Nothing scrolls: lines that the terminal has no room for are left out. Only the first look may fail:
// later the trouble is shown, as it may pass.
func watch(ctx context.Context, c *cli, look func(c *cli) error) error {
	fmt.Fprint(c.stdout, "\x1b[2J")
	for first := true; ; first = false {
		var seen bytes.Buffer
		sh := *c.shell
		sh.stdout, sh.stderr = &seen, &seen
		if err := look(c.in(&sh)); err != nil && (first || ctx.Err() != nil) {
			return err
		} else if err != nil {
			fmt.Fprintln(&seen, human.VisibleLines(err.Error()))
		}
		redraw(c.shell, fmt.Sprintf("%s, again every %s: press Ctrl-C to stop\n\n", c.now().In(c.zone).Format(time.TimeOnly), watchPause)+seen.String())
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(watchPause):
		}
	}
}

// redraw writes text over what the terminal shows.
func redraw(sh *shell, text string) {
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	if _, rows := sizeOf(sh); rows > 1 && len(lines) >= rows {
		lines = append(lines[:rows-2], fmt.Sprintf("and %d lines more", len(lines)-rows+2))
	}
	fmt.Fprint(sh.stdout, "\x1b[H"+strings.Join(lines, "\x1b[K\n")+"\x1b[K\n\x1b[J")
}
