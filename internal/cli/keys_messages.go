package cli

// This file counts messages and publications by the key that they are encrypted with.

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/stepwell/stepwell/internal/human"
	"github.com/stepwell/stepwell/world"
)

// postedKey is how much of what is in queues, dead letters too, of what was published, and of what signs that has a
// key.
type postedKey struct {
	Messages     int `json:"messages"`
	Publications int `json:"publications"` // that are kept: those that wait to be spread, and the others for a day
	Secrets      int `json:"secrets"`      // of endpoints
}

func (k postedKey) any() bool { return k.Messages+k.Publications+k.Secrets > 0 }

func (k postedKey) String() string {
	var texts []string
	if k.Messages > 0 {
		texts = append(texts, human.Count(k.Messages, "message"))
	}
	if k.Publications > 0 {
		texts = append(texts, human.Count(k.Publications, "publication"))
	}
	if k.Secrets > 0 {
		texts = append(texts, human.Count(k.Secrets, "endpoint secret"))
	}
	return strings.Join(texts, " and ")
}

// countPosted counts by key; "": plain. It looks at so many messages at most, and publications; all: at all there are.
func countPosted(ctx context.Context, w world.World, most int) (used map[string]postedKey, all bool, err error) {
	used, all = map[string]postedKey{}, true
	w = world.Stored(w)
	if all, err = countMessages(ctx, w.Messages(), used, most); err != nil {
		return nil, false, fmt.Errorf("count messages: %w", err)
	}
	some, err := countPublications(ctx, w.Topics(), used, most)
	if err != nil {
		return nil, false, fmt.Errorf("count publications: %w", err)
	}
	subscriptions, err := w.Topics().Subscriptions(ctx)
	if err != nil {
		return nil, false, fmt.Errorf("count secrets of endpoints: %w", err)
	}
	countSecrets(subscriptions, used)
	return used, all && some, nil
}

func countMessages(ctx context.Context, k world.Messenger, used map[string]postedKey, most int) (all bool, err error) {
	queues, err := k.Queues(ctx)
	if err != nil {
		return false, err
	}
	for i := range queues {
		for q := (world.PeekQuery{Queue: queues[i].Name, Limit: 1_000}); ; {
			page, err := k.PeekMessages(ctx, q)
			if errors.Is(err, world.ErrNotFound) { // it was dropped meanwhile
				break
			}
			if err != nil {
				return false, err
			}
			for j := range page.Messages {
				if most--; most < 0 {
					return false, nil
				}
				n := used[page.Messages[j].Encrypted]
				n.Messages++
				used[page.Messages[j].Encrypted] = n
			}
			if q.Cursor = page.Cursor; q.Cursor == "" {
				break
			}
		}
	}
	return true, nil
}

func countSecrets(all []world.Subscription, used map[string]postedKey) {
	for i := range all {
		if all[i].Endpoint == nil {
			continue
		}
		for _, secret := range all[i].Endpoint.Secrets {
			if key, _ := secret.Encrypted(); key != "" {
				n := used[key]
				n.Secrets++
				used[key] = n
			}
		}
	}
}

func countPublications(ctx context.Context, k world.Publisher, used map[string]postedKey, most int) (all bool, err error) {
	for q := (world.PublicationQuery{Limit: 1_000}); ; {
		page, err := k.Publications(ctx, q)
		if err != nil {
			return false, err
		}
		for i := range page.Publications {
			if most--; most < 0 {
				return false, nil
			}
			n := used[page.Publications[i].Encrypted]
			n.Publications++
			used[page.Publications[i].Encrypted] = n
		}
		if q.Cursor = page.Cursor; q.Cursor == "" {
			return true, nil
		}
	}
}

// addPosted adds what is in queues, and what was published, to the keys of runs.
func addPosted(ctx context.Context, db *database, used map[string]*usedKey, most int) error {
	posted, all, err := countPosted(ctx, db.world, most)
	if err != nil {
		return err
	}
	runs := true
	for _, k := range used {
		runs = k.All
	}
	for id, n := range posted {
		if used[id] == nil {
			used[id] = &usedKey{Key: id, All: runs}
		}
		used[id].postedKey = n
	}
	for _, k := range used {
		k.All = k.All && all
	}
	return nil
}

// lacksKeys are the keys of messages and publications that this environment, which has keys, has not.
func lacksKeys(ctx context.Context, c *cli, db *database) (found, advice string, _ error) {
	used, _, err := countPosted(ctx, db.world, mostLooked)
	if err != nil {
		return "", "", err
	}
	var texts []string
	for _, id := range slices.Sorted(maps.Keys(used)) {
		if id != "" && !db.ring.Has(id) {
			texts = append(texts, strconv.Quote(id)+" ("+used[id].String()+")")
		}
	}
	if len(texts) == 0 {
		return "", "", nil
	}
	return "missing keys are needed: " + someOf(texts),
		"set STEPWELL_ENCRYPTION_KEYS or STEPWELL_ENCRYPTION_KEY_FILE, for workers too; to count everything:  " + c.command("keys check"), nil
}
