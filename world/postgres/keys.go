package postgres

// Keys of runs: integers that grow with time, from a sequence.

import (
	"context"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
)

// A block of keys grows from 1 to mostKeys while it is used up quickly, and is given back to nobody when it is older than keysLast: keys are to
// grow with time, across processes too.
const (
	mostKeys = 1024
	keysLast = time.Second
)

var nextRunKeys = load("next_run_keys")

// runKeys are keys that nobody else gets.
//
//   - No key is given out twice, and later ones are higher; what is older than keysLast is given to nobody.
type runKeys struct {
	db       *database
	fetching chan struct{} // capacity 1: one at a time asks for more

	mu      sync.Mutex
	left    []int64 // under mu, as what follows
	fetched time.Time
	block   int // size of the last one
}

func (k *runKeys) init(db *database) { k.db, k.fetching = db, make(chan struct{}, 1) }

// fresh returns keys for runs that are about to be created, growing.
func (k *runKeys) fresh(ctx context.Context, n int) ([]int64, error) {
	if keys := k.draw(n); keys != nil {
		return keys, nil
	}
	select {
	case k.fetching <- struct{}{}:
		defer func() { <-k.fetching }()
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	if keys := k.draw(n); keys != nil { // fetched meanwhile
		return keys, nil
	}
	want := max(n, k.next())
	keys := make([]int64, 0, want)
	err := k.db.read(ctx, nextRunKeys, func(row pgx.Rows) error {
		var key int64
		err := row.Scan(&key)
		keys = append(keys, key)
		return err
	}, want)
	if err != nil {
		return nil, err
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.left, k.fetched = keys[n:], time.Now()
	return keys[:n:n], nil
}

// draw takes from the block; nil: it has too few, or they are old.
func (k *runKeys) draw(n int) []int64 {
	k.mu.Lock()
	defer k.mu.Unlock()
	if len(k.left) < n || time.Since(k.fetched) > keysLast {
		return nil
	}
	keys := k.left[:n:n]
	k.left = k.left[n:]
	return keys
}

// next is the size of the next block.
func (k *runKeys) next() int {
	k.mu.Lock()
	defer k.mu.Unlock()
	if time.Since(k.fetched) > keysLast {
		k.block = 1
	} else {
		k.block = min(4*k.block, mostKeys)
	}
	return k.block
}
