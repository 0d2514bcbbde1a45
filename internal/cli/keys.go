package cli

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
	"github.com/stepwell/stepwell/internal/crypt"
	"github.com/stepwell/stepwell/internal/human"
	"github.com/stepwell/stepwell/keyring"
	"github.com/stepwell/stepwell/world"
)

// keysCommand is the group of commands about encryption keys.
func keysCommand(c *cli) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "keys",
		Short: "Create encryption keys, and see which ones runs still need",
		Long: "Create keys that encrypt the payloads of runs, and see which ones runs still need. STEPWELL_ENCRYPTION_KEYS holds the keys, or\n" +
			"STEPWELL_ENCRYPTION_KEY_FILE names a file with them; see docs/encryption.md.\n\n" + exitHelp,
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
		Short: "Create a random key",
		Long: `Create a random key and write it to standard output, as ID:BASE64. It is stored nowhere else: put it where you keep your
secrets. The ID is not secret; it is kept with each run that the key encrypts. A date makes a good ID.

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
	Held  int    `json:"held"`            // runs of another key, or none, with large values or results under this one
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
		Short: "Count the runs by encryption key",
		Long: `Count the runs of this database by the key that encrypts them, newest first. The command also counts messages in queues
and publications, and says which keys of this environment nothing needs any more.

A run may need another key than its own, for a large value of a fork or for the result of another run: HELD counts the
values under a key that no run has. You need no keys for this. Keys in your environment are compared with the fingerprints
that the database has for their IDs.

The exit code is 1 if runs or messages need a key that is missing, or if a key differs from the one with its ID.

` + exitHelp,
		Example: `  stepwell keys check
  stepwell keys check --json | jq -r 'select(.live + .ended + .held + .messages + .publications == 0) | .key'`,
		Args: arguments(0, 0, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if most < 1 {
				return usagef("see stepwell keys check --help", "--most %d: want 1 or more", most)
			}
			return c.with(cmd.Context(), func(db *database) error { return checkKeys(cmd.Context(), c, db, most) })
		},
	}
	cmd.Flags().IntVar(&most, "most", most, "examine at most this many runs, messages and publications")
	c.jsonFlag(cmd, "write one JSON object per key")
	return cmd
}

// countHeld counts the runs that need a key for what others came to: values that are kept apart, which forks and those
// who wait hold, and results in their logs. Logs are read only where else some key here could be dropped.
func countHeld(ctx context.Context, c *cli, db *database, used map[string]*usedKey, most int) error {
	of := func(id string) *usedKey {
		if used[id] == nil {
			used[id] = &usedKey{Key: id}
		}
		return used[id]
	}
	keys, err := db.world.Values().ValueKeys(ctx)
	if err != nil && !errors.Is(err, world.ErrForbidden) {
		return err
	}
	for _, k := range keys {
		if u := of(k.Key); k.Key != "" && u.Live+u.Ended == 0 { // else it is needed already
			u.Held = int(k.Runs)
		}
	}
	unneeded := func(k *usedKey) bool { return k.Here && !k.First && k.Live+k.Ended+k.Held == 0 }
	if !slices.ContainsFunc(slices.Collect(maps.Values(used)), unneeded) {
		return nil
	}
	p := c.progress("read", "run")
	for r, err := range db.app.List(ctx, stepwell.ListFilter{}) {
		if err != nil {
			return err
		}
		if p.n == most {
			return nil
		}
		p.step()
		keys, err := resultKeys(ctx, world.Stored(db.world), r.ID)
		if err != nil {
			return err
		}
		for id := range keys {
			if k := of(id); id != r.Encryption && k.Live+k.Ended == 0 {
				k.Held++
			}
		}
	}
	return nil
}

// resultKeys are the keys that the results in a run's log are encrypted with.
func resultKeys(ctx context.Context, w world.World, run string) (map[string]bool, error) {
	keys := map[string]bool{}
	q := world.EventQuery{Types: []world.EventType{world.StepCompleted, world.StepFailed}}
	for {
		page, err := w.Events(ctx, run, q)
		if errors.Is(err, world.ErrNotFound) || errors.Is(err, world.ErrCorrupt) { // swept meanwhile, or doctor tells of it
			return keys, nil
		}
		if err != nil {
			return nil, err
		}
		for i := range page.Events {
			if key := page.Events[i].Encrypted; key != "" {
				keys[key] = true
			}
		}
		if q.Cursor = page.Cursor; !page.More {
			return keys, nil
		}
	}
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
	if err := countHeld(ctx, c, db, used, most); err != nil {
		return nil, err
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
	t := &table{Gap: "  ", Wrap: true}
	t.Add(cell{Text: "KEY", Tone: dim}, cell{Text: "LIVE", Tone: dim, Right: true}, cell{Text: "ENDED", Tone: dim, Right: true}, cell{Text: "HELD", Tone: dim, Right: true}, cell{Text: "", Tone: dim})
	wrong, err := crypt.Of(db.ring).Wrong(ctx, db.world)
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
			says = cell{Text: "differs from the key with this ID: its runs cannot be read", Tone: bad}
		case id == "":
			k.Here, says.Text = true, "not encrypted"
		case !k.Here:
			missing++
			says = cell{Text: "is missing: its runs cannot be read", Tone: bad}
			if k.any() {
				says.Text = "is missing: its runs, and " + k.postedKey.String() + ", cannot be read"
			}
		case k.First:
			says.Text = "is the key of new runs"
		case k.Live+k.Ended > 0:
			says.Text = "is needed"
		case k.Held > 0:
			says.Text = "is needed for large values and results of runs that no longer exist"
		case k.any():
			says.Text = "no run needs it, but " + k.postedKey.String()
		case all:
			says.Text = "no run needs it: you can drop it"
		default:
			says.Text = "not everything was counted"
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
		t.Add(cell{Text: human.Visible(id)}, cell{Text: strconv.Itoa(k.Live), Right: true}, cell{Text: strconv.Itoa(k.Ended), Right: true}, cell{Text: strconv.Itoa(k.Held), Right: true}, says)
	}
	switch {
	case c.json:
	case len(used) == 0:
		fmt.Fprintf(c.stderr, "no runs or messages in %s, and no keys in this environment\n", c.place())
	default:
		t.Write(c.stdout, c.style())
		if !all {
			fmt.Fprintf(c.stderr, "not everything was counted, only the newest %d runs, and as many messages and publications; see --most\n", most)
		}
	}
	if len(wrong) > 0 {
		return wrongKeys(wrong)
	}
	if missing > 0 {
		return &fault{exitFailure, fmt.Errorf("runs or messages need %s that this environment does not have", human.Count(missing, "key")), "set STEPWELL_ENCRYPTION_KEYS or STEPWELL_ENCRYPTION_KEY_FILE"}
	}
	return nil
}

// wrongKeys says which keys are others than those of the database.
func wrongKeys(wrong map[string]error) error {
	var all []error
	for _, id := range slices.Sorted(maps.Keys(wrong)) {
		all = append(all, wrong[id])
	}
	return &fault{exitFailure, errors.Join(all...), "give the original key for this ID; a new key needs a new ID:  stepwell keys new ID"}
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
