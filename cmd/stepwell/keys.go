package main

// This file makes encryption keys, and says which ones runs still need.

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/internal/human"
	"github.com/stepwell/stepwell/keyring"
)

// keysCommand is the group of commands about encryption keys.
func keysCommand(c *cli) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "keys",
		Short: "Make encryption keys; see which ones runs still need",
		Long: "Make keys with which the payloads of runs are encrypted, and see which ones runs still need. STEPWELL_ENCRYPTION_KEYS holds keys, or\n" +
			"STEPWELL_ENCRYPTION_KEY_FILE names a file of them; docs/encryption.md has the rest.\n\n" + exitHelp,
		Example:                    "  stepwell keys new 2026-11 > stepwell.keys\n  stepwell keys check --db sqlite:app.db",
		Args:                       known,
		RunE:                       func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
		SuggestionsMinimumDistance: 2,
	}
	cmd.AddCommand(keysNewCommand(c), keysCheckCommand(c))
	return cmd
}

// madeKey is what --json says of a new key.
type madeKey struct {
	ID  string `json:"id"`
	Key string `json:"key"` // as settings have it; the secret
}

func keysNewCommand(c *cli) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "new ID",
		Short: "Make a random key",
		Long: `Make a random key and write it to standard output, as ID:BASE64. It is kept nowhere else: put it where your secrets are. The ID is no secret; it is
kept with each run that is encrypted with the key. Take the date, say.

` + exitHelp,
		Example: `  stepwell keys new 2026-11 > stepwell.keys
  (stepwell keys new 2027-05; cat stepwell.keys) > rotated.keys`,
		Args: arguments(1, 1, "ID"),
		RunE: func(_ *cobra.Command, args []string) error {
			k, err := keyring.NewKey(args[0])
			if err != nil {
				return usagef("usage:  stepwell keys new ID", "%w", err)
			}
			return c.tell(madeKey{k.ID, k.Text()}, k.Text())
		},
	}
	c.jsonFlag(cmd, "write one JSON object")
	return cmd
}

// usedKey is what --json says of a key.
type usedKey struct {
	Key   string `json:"key"`             // ID; "": runs that are not encrypted
	Live  int    `json:"live"`            // runs that are not over
	Ended int    `json:"ended"`           // runs that are, and are kept
	Here  bool   `json:"here"`            // the environment of this command has the key
	First bool   `json:"first"`           // and it is that of new runs
	Wrong string `json:"wrong,omitempty"` // and it is another than the one that its ID stands for in this database: why
	All   bool   `json:"all"`             // all runs were counted, and messages and publications

	postedKey
}

// mostCounted is how many runs are looked at, unless more are asked for.
const mostCounted = 1_000_000

func keysCheckCommand(c *cli) *cobra.Command {
	most := mostCounted
	cmd := &cobra.Command{
		Use:   "check",
		Short: "Count the runs by the key that they are encrypted with",
		Long: `Count the runs of this database by the key that they are encrypted with, newest first, and say which keys of this environment neither they need
any more nor messages in queues and publications, which are counted too. It needs no key. Those that are here are held against what their IDs stand for in this database. Exit code 1: runs or messages need a key that is not here, or
one that is here is another than the one with its ID.

` + exitHelp,
		Example: `  stepwell keys check
  stepwell keys check --json | jq -r 'select(.live + .ended + .messages + .publications == 0) | .key'`,
		Args: arguments(0, 0, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if most < 1 {
				return usagef("see stepwell keys check --help", "--most %d: want 1 or more", most)
			}
			return c.with(cmd.Context(), func(db *database) error { return checkKeys(cmd.Context(), c, db, most) })
		},
	}
	cmd.Flags().IntVar(&most, "most", most, "look at so many runs at most, and messages, and publications")
	c.jsonFlag(cmd, "write one JSON object a key")
	return cmd
}

// countKeys counts runs by their keys; those of the environment are there in any case.
func countKeys(ctx context.Context, c *cli, db *database, most int) (map[string]*usedKey, error) {
	used := map[string]*usedKey{}
	if db.ring != nil {
		for i, id := range db.ring.IDs() {
			used[id] = &usedKey{Key: id, Here: true, First: i == 0}
		}
	}
	all := true
	p := c.progress("counted", "run")
	for r, err := range db.app.List(ctx, stepwell.ListFilter{}) {
		if err != nil {
			return nil, err
		}
		if p.n == most {
			all = false
			break
		}
		p.step()
		k := used[r.Encryption]
		if k == nil {
			k = &usedKey{Key: r.Encryption}
			used[r.Encryption] = k
		}
		if r.Status.Terminal() {
			k.Ended++
		} else {
			k.Live++
		}
	}
	for _, k := range used {
		k.All = all
	}
	return used, nil
}

func checkKeys(ctx context.Context, c *cli, db *database, most int) error {
	used, err := countKeys(ctx, c, db, most)
	if err != nil {
		return err
	}
	if err := addPosted(ctx, db, used, most); err != nil {
		return err
	}
	t := &table{gap: "  ", wrap: true}
	t.add(cell{text: "KEY", tone: dim}, cell{text: "LIVE", tone: dim, right: true}, cell{text: "ENDED", tone: dim, right: true}, cell{text: "", tone: dim})
	wrong, err := db.ring.Wrong(ctx, db.world)
	if err != nil {
		return err
	}
	missing, all := 0, true
	for _, id := range slices.Sorted(maps.Keys(used)) {
		k := used[id]
		all = k.All
		says := cell{}
		if err := wrong[id]; err != nil {
			k.Wrong = err.Error()
		}
		switch {
		case k.Wrong != "":
			says = cell{text: "is another key than the one with this ID: its runs cannot be read", tone: bad}
		case id == "":
			k.Here, says.text = true, "not encrypted"
		case !k.Here:
			missing++
			says = cell{text: "is not here: its runs cannot be read", tone: bad}
			if k.any() {
				says.text = "is not here: its runs, and " + k.postedKey.String() + ", cannot be read"
			}
		case k.First:
			says.text = "the key of new runs"
		case k.Live+k.Ended == 0 && k.any():
			says.text = "no run needs it, but " + k.postedKey.String()
		case k.Live+k.Ended > 0:
			says.text = "is needed"
		case all:
			says.text = "no run needs it: it can be dropped"
		default:
			says.text = "not all was counted"
		}
		if c.json {
			if err := c.encoder().Encode(k); err != nil {
				return err
			}
			continue
		}
		if id == "" {
			id = "none"
		}
		t.add(cell{text: human.Visible(id)}, cell{text: strconv.Itoa(k.Live), right: true}, cell{text: strconv.Itoa(k.Ended), right: true}, says)
	}
	switch {
	case c.json:
	case len(used) == 0:
		fmt.Fprintf(c.stderr, "no runs or messages in %s, and no keys in this environment\n", c.place())
	default:
		t.write(c.stdout, c.style())
		if !all {
			fmt.Fprintf(c.stderr, "not all was counted, but the newest %d runs, and as many messages and publications; see --most\n", most)
		}
	}
	if len(wrong) > 0 {
		return wrongKeys(wrong)
	}
	if missing > 0 {
		return &fault{exitFailure, fmt.Errorf("runs or messages need %s that this environment does not have", human.Count(missing, "key")), "give it with STEPWELL_ENCRYPTION_KEYS or STEPWELL_ENCRYPTION_KEY_FILE"}
	}
	return nil
}

// wrongKeys says which keys are others than those of the database.
func wrongKeys(wrong map[string]error) error {
	var all []error
	for _, id := range slices.Sorted(maps.Keys(wrong)) {
		all = append(all, wrong[id])
	}
	return &fault{exitFailure, errors.Join(all...), "give the key that was there before under this ID; a new key has a new ID:  stepwell keys new ID"}
}

// setEncryption takes encryption keys. They count before those of a file.
func (c *serverConfig) setEncryption(text string) (err error) {
	if text != "" {
		c.encryption, err = keyring.Parse(text)
	}
	return err
}

func (c *serverConfig) readEncryption(path string) error {
	if path == "" {
		return nil
	}
	ring, err := keyring.Read(path)
	if c.encryption == nil {
		c.encryption = ring
	}
	return err
}
